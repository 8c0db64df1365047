#!/usr/bin/env python3
"""code_differs.py COMMIT PATH...: prints the paths whose code differs from the commit's: they differ in more than
comments and white space. A comment with NOLINT, which clang-tidy obeys, is code here, and so is a file that the commit
does not have.
"""

import re
import subprocess
import sys

# Texts come first, since they may contain what looks like a comment.
TOKEN = re.compile(
    r'R"(?P<end>[^()\\\s]{0,16})\(.*?\)(?P=end)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'(?:\\.|[^'\\\n])*'"
    r"|(?P<comment>//[^\n]*|/\*.*?\*/)",
    re.DOTALL,
)


def code_of(text):
    """Returns a source without comments, with its white space as single blanks."""

    def keep(match):
        is_comment = match["comment"] is not None and "NOLINT" not in match["comment"]
        return " " if is_comment else match[0]

    return " ".join(TOKEN.sub(keep, text).split())


def main():
    base, *paths = sys.argv[1:]
    for path in paths:
        before = subprocess.run(["git", "show", f"{base}:{path}"], capture_output=True, check=False)
        with open(path, encoding="utf-8") as file:
            now = code_of(file.read())
        if before.returncode != 0 or code_of(before.stdout.decode()) != now:
            print(path)


if __name__ == "__main__":
    main()

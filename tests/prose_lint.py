#!/usr/bin/env python3
"""Lists comments and Markdown lines with phrases that readers stumble over.

    tests/prose_lint.py BASE      lines that differ from the commit BASE
    tests/prose_lint.py --all     all tracked files

Exit status 1 if a line was listed. It finds the usual suspects only; reading aloud finds the rest. A line that
contains `prose: ok` is skipped.
"""

import pathlib
import re
import subprocess
import sys
import unittest

RULES = [(re.compile(pattern), advice) for pattern, advice in (
    (r"^Of (a|an|the|it|its|all|what|which|those|these|them|each|one|two|some|every)\b", "name the subject instead of 'Of ...'"),
    (r"\b(for|to|of|by|from|with|than|as) who\b", "name the party instead of 'who'"),
    (r"(^|[.;:] )(Who|Whom|Whose) [a-z]+(?![^.]*[?])", "name the party"),
    (r"\b[Ss]o (many|much|long|often)\b(?! (that|as)\b)", "name the quantity and its unit"),
    (r"\b(goes|gone|went|go) on with\b", "say continued, kept or restored"),
    (r"\bhears? of\b", "say learns or receives"),
    (r"\bstands? (back|in|twice)\b", "say what it is or does"),
    (r"\bnobody (asks|waits|knows|reads|wants)\b", "say which client, thread or process does not"),
    (r"\b[Ww]hat is (left|known|asked|due|there)\b", "name the thing"),
)]
COLUMNS_MAX = 100
COMMENT = {".h": r"//+ ?(.*)$", ".cc": r"//+ ?(.*)$", ".py": r"# ?(.*)$", ".sh": r"# ?(.*)$", ".toml": r"# ?(.*)$",
           ".md": r"^(.*)$"}


def findings(name, line):
    """Returns what is wrong with a line of the file `name`."""
    pattern = COMMENT.get(pathlib.PurePath(name).suffix)
    match = pattern and "prose: ok" not in line and re.search(pattern, line)
    if not match:
        return []
    found = [advice for rule, advice in RULES if rule.search(match[1].strip())]
    if name.endswith((".h", ".cc")) and len(line) > COLUMNS_MAX:
        found.append(f"{len(line)} columns: wrap at {COLUMNS_MAX}")
    return found


def changed_lines(base):
    """Returns (file, line number, line) of each line that was added since `base`."""
    diff = subprocess.run(["git", "diff", "-U0", base], capture_output=True, text=True, check=True).stdout
    name, number = "", 0
    for line in diff.splitlines():
        if line.startswith("+++ b/"):
            name = line[6:]
        elif line.startswith("@@"):
            number = int(re.search(r"\+(\d+)", line)[1])
        elif line.startswith("+"):
            yield name, number, line[1:]
            number += 1


def all_lines():
    names = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.split("\n")
    for name in names:
        if pathlib.PurePath(name).suffix in COMMENT:
            for number, line in enumerate(pathlib.Path(name).read_text(encoding="utf-8").splitlines(), 1):
                yield name, number, line


class ProseLintTest(unittest.TestCase):
    def test_suspects_are_found_in_comments_only(self):
        self.assertEqual(1, len(findings("a.h", "int x;  // Of the table.")))
        self.assertEqual(1, len(findings("a.md", "Publishes so often.")))
        self.assertEqual(1, len(findings("a.cc", "  // " + "x" * 100)))
        for fine in ("int Of_the = 1;", "// Rows of the table.", "// So long that it wraps.", "// Of the rows. prose: ok"):
            self.assertEqual([], findings("a.h", fine), fine)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    lines = all_lines() if sys.argv[1] == "--all" else changed_lines(sys.argv[1])
    count = 0
    for name, number, line in lines:
        for advice in findings(name, line):
            print(f"{name}:{number}: {advice}: {line.strip()[:80]}")
            count += 1
    return 1 if count else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--test"]:
        unittest.main(argv=sys.argv[:1])
    sys.exit(main())

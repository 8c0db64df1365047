"""The fenced blocks of Markdown pages: the commands that they show, and whether an output is the one that is shown.

A block is one of

    sh        commands, one a line; a comment may follow
    console   commands after `$ ` (`> ` continues one), each followed by its output; `^C` is that key
    toml      a configuration, or a users file
    log       lines of a log

`...` stands for output that varies: alone on a line for any number of lines, within a line for any text.
"""

import dataclasses
import pathlib
import re

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# Lines of a log vary in these parts, which pages show with values.
VARYING = ((re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z?"), "TIME"), (re.compile(r'(\bhost"?[=:]"?)[\d.]+:\d+'), r"\1HOST"),
           (re.compile(r'(\bseq"?[=:])\d+'), r"\1SEQ"))


@dataclasses.dataclass(frozen=True)
class Block:
    page: str  # File name.
    line: int  # Line of its first fence.
    language: str
    text: str

    def __str__(self):
        return f"{self.page}:{self.line}"


@dataclasses.dataclass(frozen=True)
class Command:
    text: str
    shown: str | None  # Its output; None: not shown.


def blocks_of(page):
    """Returns the blocks of a page, given its path, from top to bottom."""
    text = pathlib.Path(page).read_text(encoding="utf-8")
    return [Block(pathlib.Path(page).name, text[:found.start()].count("\n") + 1, found[1], found[2])
            for found in FENCE.finditer(text)]


def commands_of(block):
    """Returns the commands of a block of the language sh or console. ValueError if a line belongs to no command."""
    if block.language == "sh":
        lines = re.sub(r"\\\n", "", block.text).splitlines()
        return [Command(line, None) for line in lines if line.strip() and not line.startswith("#")]
    commands = []
    for line in block.text.splitlines():
        if line.startswith("$ ") or line == "^C":
            commands.append(Command(line.removeprefix("$ "), ""))
        elif not commands:
            raise ValueError(f"{block}: output before the first command: {line}")
        elif line.startswith("> "):
            commands[-1] = Command(f"{commands[-1].text}\n{line[2:]}", "")
        else:
            commands[-1] = Command(commands[-1].text, f"{commands[-1].shown}{line}\n")
    return commands


def _line_pattern(line):
    """Columns may be wider than shown, so blanks and rules match blanks and rules of any length."""
    parts = re.split(r"(\.\.\.|\s+|-{3,})", line.strip())
    pattern = ""
    for part in parts:
        if part == "...":
            pattern += ".*"
        elif part.isspace():
            pattern += r"\s+"
        else:
            pattern += "-+" if part.startswith("---") else re.escape(part)
    return rf"\s*{pattern}\s*"


def is_shown(shown, said):
    """True if the output `said` is the output `shown`."""
    pattern = "".join(r"(?:.*\n)*" if line.strip() == "..." else f"{_line_pattern(line)}\n" for line in shown.splitlines())
    text = "".join(f"{line.rstrip()}\n" for line in said.splitlines())
    return re.fullmatch(pattern.replace(r"\s", "[ \t]"), text) is not None


def begins_as_shown(shown, said):
    """The same for a command that has not ended."""
    return is_shown(f"{shown}...\n", said)


def logged(line, log):
    """True if a log has a line such as this one; times and addresses may differ."""
    def plain(text):
        for varying, name in VARYING:
            text = varying.sub(name, text)
        return text
    pattern = re.compile(_line_pattern(plain(line)))
    return any(pattern.fullmatch(plain(found)) for found in log.splitlines())

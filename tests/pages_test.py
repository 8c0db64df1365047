#!/usr/bin/env python3
"""The Markdown pages hold together: links and their anchors exist, paragraphs have at most five lines of 100 columns,
and each page of docs/ that a source, an example or a script names is there. Tables, code and lines that are only
a link may be longer."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
COLUMNS_MAX = 100
PARAGRAPH_LINES_MAX = 5
FOREIGN = {"build", "third_party", ".git"}
NAMING = {".h", ".cc", ".py", ".sh", ".toml", ".txt", ".cmake"}


def files(suffixes):
    for path in sorted(ROOT.rglob("*")):
        if path.suffix in suffixes and not FOREIGN & set(path.relative_to(ROOT).parts):
            yield path


def prose(text):
    """(line number, line) outside of code blocks; a line of a code block is empty."""
    in_code = False
    for number, line in enumerate(text.splitlines(), 1):
        fence = line.lstrip().startswith("```")
        yield number, "" if fence or in_code else line
        in_code ^= fence


def anchors(text):
    """The anchors that GitHub makes of a page's headings."""
    found = set()
    for _, line in prose(text):
        if match := re.match(r"#+ (.*)", line):
            heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", match[1]).lower()
            found.add(re.sub(r"[^\w\- ]", "", heading).strip().replace(" ", "-"))
    return found


def dead_links(page, text):
    without_code = re.sub(r"`[^`\n]*`", "", "\n".join(line for _, line in prose(text)))
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code):
        if re.match(r"https?:", target):
            continue
        name, _, anchor = target.partition("#")
        file = page.parent / name if name else page
        if not file.exists():
            yield f"{target}: no such file"
        elif anchor and anchor not in anchors(file.read_text(encoding="utf-8")):
            yield f"{target}: no such heading"


def long_prose(text):
    begin, lines = 0, 0
    for number, line in [*prose(text), (0, "")]:
        is_text = bool(line.strip()) and not line.lstrip().startswith(("|", "#", "<", "[", "!"))
        if is_text and len(line) > COLUMNS_MAX:
            yield f"line {number}: {len(line)} columns"
        starts_item = re.match(r"\s*([-*]|\d+\.) ", line)
        if not is_text or starts_item:
            if lines > PARAGRAPH_LINES_MAX:
                yield f"line {begin}: a paragraph of {lines} lines"
            lines = 0
        if is_text:
            begin = begin if lines else number
            lines += 1


class PagesTest(unittest.TestCase):
    def test_links_lead_to_files_and_headings(self):
        for page in files({".md"}):
            with self.subTest(page.relative_to(ROOT)):
                self.assertEqual([], list(dead_links(page, page.read_text(encoding="utf-8"))))

    def test_paragraphs_are_short(self):
        for page in files({".md"}):
            with self.subTest(page.relative_to(ROOT)):
                self.assertEqual([], list(long_prose(page.read_text(encoding="utf-8"))))

    def test_sources_name_pages_that_exist(self):
        for source in files(NAMING):
            for name in re.findall(r"\bdocs/[\w/.-]+\.(?:md|toml)\b", source.read_text(encoding="utf-8")):
                with self.subTest(source.relative_to(ROOT)):
                    self.assertTrue((ROOT / name).exists(), f"{name}: no such file")

    def test_the_checks_find_what_they_look_for(self):
        page = ROOT / "docs/README.md"
        self.assertEqual(2, len(list(dead_links(page, "# A b\n[a](nothing.md) [b](README.md#none) [c](README.md)"))))
        self.assertEqual({"a-b", "the-state-logstate"}, anchors("# A b\n```\n# code\n```\n## The state, `LOG.state`\n"))
        self.assertEqual(1, len(list(long_prose("a\n" * 6))))
        self.assertEqual([], list(long_prose("a\n" * 5 + "\n" + "- a\n" * 9 + "```\n" + "a\n" * 9 + "```\n")))
        self.assertEqual(1, len(list(long_prose("a " * 60))))


if __name__ == "__main__":
    unittest.main()

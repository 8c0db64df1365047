#!/usr/bin/env python3
"""Each promise of docs/guarantees.md names tests that exist, and that `make test` runs."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "guarantees.md"


def rows(text):
    """(line number, cells) of the rows of tables that are no heads."""
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and not set(cells[0]) <= {"-"} and cells[-1] != "held by":
            yield number, cells


def gtests():
    """Names of the C++ tests that are built: Suite.Name."""
    for path in ROOT.glob("*/**/*_test.cc"):
        if "build" in path.relative_to(ROOT).parts:
            continue
        for suite, name in re.findall(r"^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", path.read_text(encoding="utf-8"), re.M):
            if not name.startswith("DISABLED_"):
                yield f"{suite}.{name}"


def processes_tests():
    """Names of the tests of whole processes that ctest runs: file.test_name."""
    cmake = (ROOT / "tests" / "CMakeLists.txt").read_text(encoding="utf-8")
    for name in re.search(r"foreach\(name ([^)]*)\)", cmake)[1].split():
        text = (ROOT / "tests" / "e2e" / f"{name}_test.py").read_text(encoding="utf-8")
        for test in re.findall(r"^    def (test_\w+)", text, re.M):
            yield f"{name}_test.{test}"


def missing(text, known):
    """What is wrong with the page: rows that name no test, and tests that nobody has."""
    for number, cells in rows(text):
        named = re.findall(r"`([^`]*)`", cells[-1])
        if not named:
            yield f"line {number}: no test holds this"
        yield from (f"line {number}: no test {name}" for name in named if name not in known)


class GuaranteesTest(unittest.TestCase):
    def test_every_promise_has_its_tests(self):
        known = {*gtests(), *processes_tests()}
        self.assertEqual([], list(missing(PAGE.read_text(encoding="utf-8"), known)))

    def test_a_row_without_a_test_is_found(self):
        page = "| promise | held by |\n| --- | --- |\n| a | `A.B` |\n| b | nobody |\n| c | `A.C`, `A.B` |\n"
        self.assertEqual(["line 4: no test holds this", "line 5: no test A.C"], list(missing(page, {"A.B"})))

    def test_the_page_has_promises(self):
        self.assertGreater(len(list(rows(PAGE.read_text(encoding="utf-8")))), 50)


if __name__ == "__main__":
    unittest.main()

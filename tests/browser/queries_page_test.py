#!/usr/bin/env python3
"""The page of `tickstack hdb queries` in a real browser: nothing is fetched, the console is empty, every round has a
bar that lies inside its axis, and nothing scrolls sideways on a phone. `make test-browser` runs it.

    queries_page_test.py --program build/release/cli/tickstack
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from tests.support.chromium import TOO_WIDE, Browser  # noqa: E402

PROGRAM = None

# Says of each bar whether it and its mark can be seen and lie inside, and how far right its mark is, from 0 to 1.
BARS = """[...document.querySelectorAll('.range')].map(box => {
  const [outer, bar, mark] = [box, box.querySelector('i'), box.querySelector('b')].map(e => e.getBoundingClientRect());
  const inside = r => r.width >= 1 && r.height >= 4 && r.left >= outer.left - 1 && r.right <= outer.right + 3;
  return {inside: inside(bar) && inside(mark), ordered: bar.left <= mark.left + 1,
          longest: (mark.left - outer.left) / outer.width};
})"""
LONGEST = "[...document.querySelectorAll('.range')].map(box => box.closest('tr').cells[4].textContent)"
MS = {"ns": 1e-6, "us": 1e-3, "ms": 1, "s": 1e3}


class QueriesPageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="tickstack-queries-")
        cls.addClassCleanup(cls.folder.cleanup)
        root = pathlib.Path(cls.folder.name)
        for name in ("days", "disk0", "disk1"):
            (root / name).mkdir()
        (root / "days/par.txt").write_text(f"{root}/disk0\n{root}/disk1\n", encoding="utf-8")
        for arguments in (["generate", "days", "--days", "20", "--quotes", "2000", "--symbols", "100"],
                          ["queries", "days", "--drop", "files", "--clients", "1,5", "--seconds", "0.05",
                           "--results", "results"]):
            subprocess.run([PROGRAM, "hdb", *arguments], cwd=root, check=True, timeout=120,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        cls.url = (root / "results/queries.html").resolve().as_uri()
        browser = Browser()
        cls.browser = browser.__enter__()
        cls.addClassCleanup(browser.__exit__, None, None, None)

    def open(self, **settings):
        page = self.browser.open(self.url, **settings)
        self.addCleanup(page.close)
        self.addCleanup(lambda: self.assertEqual([], page.complaints()))
        return page

    def test_every_round_has_a_bar_at_its_place(self):
        page = self.open(scripts=False)
        bars = page.evaluate(BARS)
        self.assertEqual(10 * 2 * 2, len(bars))
        self.assertEqual([], [bar for bar in bars if not (bar["inside"] and bar["ordered"])])
        times = [float(text.split()[0]) * MS[text.split()[1]] for text in page.evaluate(LONGEST)]
        in_order = sorted(zip(times, (bar["longest"] for bar in bars)))
        places = [place for _, place in in_order]
        self.assertTrue(all(after >= before - 0.01 for before, after in zip(places, places[1:])), in_order)

    def test_a_phone_shows_it_without_scrolling_sideways(self):
        for width in (360, 1100):
            page = self.open(width=width)
            self.assertEqual([], page.evaluate(TOO_WIDE))
            self.assertEqual(width, page.evaluate("document.documentElement.scrollWidth"))

    def test_what_is_heard_says_what_is_seen(self):
        page = self.open()
        self.assertEqual(0, page.evaluate("document.querySelectorAll('.range:not([aria-hidden])').length"))
        self.assertEqual(0, page.evaluate("document.querySelectorAll('th:not([scope])').length"))
        self.assertEqual(0, page.evaluate("document.querySelectorAll('table:not(:has(caption))').length"))
        levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(h => Number(h.tagName[1]))")
        self.assertEqual(1, levels[0])
        self.assertTrue(all(after <= before + 1 for before, after in zip(levels, levels[1:])), levels)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    arguments, rest = parser.parse_known_args()
    PROGRAM = pathlib.Path(arguments.program).resolve()
    unittest.main(argv=sys.argv[:1] + rest)

#!/usr/bin/env python3
"""An RDB's pages in a real browser: a table, requested by address, by link and by form, equals what curl and a kdb+
client get; an error; no console messages, on a phone and in dark mode. `make test-browser` runs it.

    http_test.py --program build/release/cli/tickstack [--pictures DIR]
"""

import argparse
import csv
import io
import pathlib
import subprocess
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from tests.support import stack  # noqa: E402
from tests.support.chromium import Browser  # noqa: E402

CONFIG = """
[tickerplant]
batch_ms = 5
[[rdb]]
[feed]
rate = 2000
seconds = 2
start = true
"""
QUERY = "select trades:count i,last price,vwap:size wavg price,high:max price by sym from trade where sym in 5#sym"
CELLS = "[...document.querySelectorAll('tr')].map(row => [...row.cells].map(cell => cell.textContent))"
PICTURES = None


class PagesTest(stack.StackTest):
    def setUp(self):
        super().setUp()
        self.running = self.start_stack(CONFIG)
        self.port = self.running.port("rdb")
        self.address = f"http://localhost:{self.port}/"
        feed = lambda: self.running.ask("feed", ".feed.stats[]")  # noqa: E731
        stack.wait_until(lambda: feed()["state"] == "done", 30, "the feed's end")
        stack.wait_until(lambda: self.running.count("trade") == feed()["rows"]["trade"], 30, "the last trades")

    def open(self, query, **settings):
        return self.browser.open(self.address + "?" + urllib.parse.quote(query), **settings)

    def test_a_browser_shows_what_others_get(self):
        curl = subprocess.run(["curl", "-sS", f"{self.address}.csv", "--data-binary", QUERY], check=True,
                              capture_output=True, text=True, timeout=30).stdout
        expected = list(csv.reader(io.StringIO(curl)))
        with self.running.connect("rdb") as client:
            table = client.call(b"0!" + QUERY.encode())
        rows = [list(map(str, row)) for row in zip(*table.values())]
        self.assertEqual([row[:2] for row in expected[1:]], [row[:2] for row in rows])
        self.assertEqual([[float(cell) for cell in row[2:]] for row in expected[1:]],
                         [[float(cell) for cell in row[2:]] for row in rows])
        with Browser() as self.browser:
            page = self.open(QUERY)
            self.assertEqual(expected, page.evaluate(CELLS))
            self.assertEqual([], self.complaints(page))
            self.picture(page, "table")
            self.picture(self.open(QUERY, dark=True), "table-dark")
            phone = self.open(QUERY, width=360, height=700)
            self.assertLessEqual(phone.evaluate("document.documentElement.scrollWidth"), 360)
            self.picture(phone, "table-phone")
            self.picture(self.open("1+`a"), "error")

    def test_the_form_and_the_links_ask(self):
        with Browser() as self.browser:
            page = self.browser.open(self.address + "?")
            self.assertEqual([["quote", "columns", "rows"], ["trade", "columns", "rows"]], page.evaluate(CELLS))
            self.picture(page, "index")
            page.evaluate("document.querySelector('textarea').value = '2*3+\\n4'; document.forms[0].submit()")
            stack.wait_until(lambda: page.evaluate("(document.querySelector('pre') || {}).textContent") == "14\n", 30,
                             "the answer")
            self.assertEqual("2*3+\n4", page.evaluate("document.querySelector('textarea').value"))
            page.evaluate("document.querySelector('.links a').click()")
            stack.wait_until(lambda: "2%2A3%2B" in page.evaluate("location.search"), 30, "the link")
            self.assertEqual([], self.complaints(page))

    def complaints(self, page):
        """Returns console messages, except about the pages themselves."""
        return [text for text in page.complaints() if not text.startswith("asked for " + self.address)]

    def picture(self, page, name):
        if PICTURES is not None:
            page.screenshot(PICTURES / f"page-{name}.png")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--pictures", type=pathlib.Path)
    options, sys.argv[1:] = parser.parse_known_args()
    PICTURES = options.pictures
    stack.main()

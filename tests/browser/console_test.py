#!/usr/bin/env python3
"""The query console in a real browser: it completes, asks, marks errors, cancels, draws, downloads and remembers;
values are shown as q writes them, whatever they contain; large answers; a phone; dark mode; no console messages.
`make test-browser` runs it.

    console_test.py --program build/release/cli/tickstack [--pictures DIR]
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
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
rate = 4000
seconds = 3
start = true
"""
VALUES = (r'([]j:9007199254740993 0N 0W -0W;f:0.1 0n 0w -1e300;p:2013.10.07D09:30:00.123456789 0N 2000.01.01D0 0Wp;'
          r'd:2013.10.07 0N 1999.12.31 0Wd;s:`$("a";"";"<img src=x onerror=alert(1)>";"b c");c:"x \"<";'
          r'l:(1 2;"te\"xt";`a`b;());g:4#0Ng;t:09:30:00.001 0N 00:00:00.000 0Wt;b:1001b)')
SHOWN = {
    "j": ["9007199254740993", "", "0W", "-0W"], "f": ["0.1", "", "0w", "-1e+300"],
    "p": ["2013.10.07D09:30:00.123456789", "", "2000.01.01D00:00:00.000000000", "0W"],
    "d": ["2013.10.07", "", "1999.12.31", "0W"], "s": ["a", "", "<img src=x onerror=alert(1)>", "b c"],
    "c": ["x", " ", '"', "<"], "l": ["1 2", '"te\\"xt"', "`a`b", "()"], "g": [""] * 4,
    "t": ["09:30:00.001", "", "00:00:00.000", "0W"], "b": ["1", "0", "0", "1"]}
LONG = "do[2000000000;1+1]"
CELLS = "[...document.querySelectorAll('.rows tbody tr:not(.gap)')].map(r => [...r.querySelectorAll('td')].map(c => c.textContent))"
HEADS = "[...document.querySelectorAll('.rows thead th')].slice(1).map(c => c.firstChild.textContent)"
PICTURES = None
TAB, ENTER, ESCAPE, DOWN, UP, END = 9, 13, 27, 40, 38, 35


class ConsoleTest(stack.StackTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.browser = Browser()
        cls.browser.__enter__()
        cls.addClassCleanup(cls.browser.__exit__, None, None, None)

    def setUp(self):
        super().setUp()
        self.running = self.start_stack(CONFIG)
        self.address = f"http://localhost:{self.running.port('rdb')}/"
        feed = lambda: self.running.ask("feed", ".feed.stats[]")  # noqa: E731
        stack.wait_until(lambda: feed()["state"] == "done", 30, "the feed's end")
        stack.wait_until(lambda: self.running.count("trade") == feed()["rows"]["trade"], 30, "the last trades")

    def open(self, address=None, **settings):
        page = self.browser.open((address or self.address) + "console", **settings)
        self.wait(page, "document.querySelector('#text').dataset.names", "the names")
        page.evaluate("document.querySelector('#text').focus()")
        return page

    def wait(self, page, condition, what):
        stack.wait_until(lambda: page.evaluate(f"Boolean({condition})"), 30, what)

    def ask(self, page, query):
        """Asks and waits for the answer, or for the error."""
        page.evaluate(f"document.querySelector('#facts').textContent = ''; "
                      f"Object.assign(document.querySelector('#text'), {{value: {json.dumps(query)}}})"
                      ".dispatchEvent(new Event('input'))")
        page.evaluate("document.querySelector('#run').click()")
        self.wait(page, "document.querySelector('#cancel').disabled && (document.querySelector('#facts').textContent "
                        "!== '' || !document.querySelector('#error').hidden)", f"the answer of {query}")
        page.settle()

    def text(self, page, selector):
        return page.evaluate(f"(document.querySelector('{selector}') || {{}}).textContent")

    def curl(self, form, query):
        return subprocess.run(["curl", "-sS", self.address + form, "--data-binary", query], check=True,
                              capture_output=True, timeout=60).stdout

    def complaints(self, page):
        return [text for text in page.complaints() if not text.startswith("asked for " + self.address)]

    def picture(self, page, name, **settings):
        if PICTURES is not None:
            page.screenshot(PICTURES / f"console-{name}.png", **settings)

    def test_it_completes_and_asks(self):
        page = self.open()
        page.write("sel")
        self.assertEqual("false", page.evaluate("String(document.querySelector('#words').hidden)"))
        page.press("Tab", TAB)
        page.write(" sum si")
        self.assertEqual("size", page.evaluate("document.querySelector('#words li span').textContent"))
        self.picture(page, "completion")
        page.press("ArrowDown", DOWN)
        page.press("Enter", ENTER)
        page.write(" by sym from t")
        page.press("Tab", TAB)
        page.press("Escape", ESCAPE)
        self.assertEqual("select sum size by sym from trade", page.evaluate("document.querySelector('#text').value"))
        page.press("Enter", ENTER, control=True)
        self.wait(page, "document.querySelector('.rows')", "the answer")
        table = json.loads(self.curl(".json", "0!select sum size by sym from trade"))
        shown = page.evaluate(CELLS)
        self.assertEqual([[row["sym"], str(row["size"])] for row in table][:len(shown)], shown)
        self.assertEqual(["sym", "size"], page.evaluate(HEADS))
        self.assertTrue(self.text(page, "#facts").startswith(f"{len(table)} row"), self.text(page, "#facts"))
        self.assertEqual([], self.complaints(page))

    def test_no_name_is_completed_in_a_string_or_a_comment(self):
        page = self.open()
        for text in ('"sel', "1 / sel", "12sel"):
            page.evaluate("document.querySelector('#text').value = ''")
            page.write(text)
            self.assertTrue(page.evaluate("document.querySelector('#words').hidden"), text)

    def test_values_are_shown_as_q_writes_them(self):
        page = self.open()
        self.ask(page, VALUES)
        self.assertEqual(list(SHOWN), page.evaluate(HEADS))
        self.assertEqual([list(row) for row in zip(*SHOWN.values())], page.evaluate(CELLS))
        self.assertEqual(0, page.evaluate("document.images.length"))
        page.evaluate("document.querySelector('.rows').focus()")
        page.press("ArrowDown", DOWN)
        self.assertEqual("j, row 0: 9007199254740993", self.text(page, "#cell"))
        for query, text in (("2+3", "5\n"), ('"<b>"', '"<b>"\n'), ("{x+y}", "{x+y}\n"), ("9007199254740993", "9007199254740993\n")):
            self.ask(page, query)
            self.assertEqual(text, self.text(page, ".text"))
        self.ask(page, "`a`b!1 2")
        self.assertEqual([["a", "1"], ["b", "2"]], page.evaluate(CELLS))
        self.ask(page, "0#trade")
        self.assertEqual("0 rows", self.text(page, "#facts").split(",")[0])
        self.assertIn("price", page.evaluate(HEADS))
        self.assertEqual([], self.complaints(page))

    def test_an_error_is_marked_at_its_position(self):
        page = self.open()
        for query, error, place, marked in (("1+`a", "'type", "line 1, column 2", "+"),
                                            ('x:"é€😀";\n  prise+1', "'prise", "line 2, column 3", "prise"),
                                            ("select from trade where prce>1", "'prce", "line 1, column 25", "prce"),
                                            ("(1;2", "'(", "line 1, column 1", "(")):
            self.ask(page, query)
            self.assertEqual(error + place, self.text(page, "#error"), query)
            self.assertEqual(marked, self.text(page, "mark"), query)
            page.evaluate("document.querySelector('#error button').click()")
            self.assertEqual(len(query.split(marked)[0].encode("utf-16-le")) // 2,
                             page.evaluate("document.querySelector('#text').selectionStart"), query)
        self.picture(page, "error")
        self.ask(page, "1+1")
        self.assertTrue(page.evaluate("document.querySelector('#error').hidden && !document.querySelector('mark')"))

    def test_cancel_ends_the_query_in_the_process(self):
        page = self.open()
        cancelled = lambda: self.running.ask("rdb", ".rdb.stats[]")["queries_cancelled"]  # noqa: E731
        before = cancelled()
        page.write(LONG)
        page.press("Escape", ESCAPE)
        page.press("Enter", ENTER, control=True)
        self.wait(page, "document.querySelector('#elapsed').textContent.startsWith('running')", "the query")
        self.picture(page, "running")
        page.press("Escape", ESCAPE)
        self.wait(page, "document.querySelector('#elapsed').textContent.startsWith('cancelled')", "the end")
        stack.wait_until(lambda: cancelled() == before + 1, 30, "the query's end in the process")
        self.ask(page, "1+1")
        self.assertEqual("2\n", self.text(page, ".text"))

    def test_downloads_have_all_rows(self):
        query = "update n:i+9007199254740992 from 100000#([]a:til 7;b:7#`x`y)"
        with tempfile.TemporaryDirectory(prefix="tickstack-downloads-") as folder:
            page = self.open()
            page.download_to(folder)
            self.ask(page, query)
            for form in ("csv", "json", "parquet"):
                page.evaluate(f"document.querySelector('[data-form={form}]').focus()")
                page.press("Enter", ENTER)  # Without a key or a click, a page may download once.
                got = pathlib.Path(folder) / f"answer.{form}"
                expected = self.curl(f".{form}", query)
                stack.wait_until(lambda: got.exists() and got.stat().st_size == len(expected), 30, f"{got.name}")
                self.assertEqual(expected, got.read_bytes(), form)
            self.assertEqual(b"PAR1", expected[:4])
            self.assertEqual(expected, subprocess.run(
                [stack.PROGRAM, "query", "--parquet", self.address[7:-1], query], check=True, capture_output=True,
                timeout=60).stdout)
            self.ask(page, "([]a:(1 2;3 4))")
            page.evaluate("document.querySelector('[data-form=parquet]').click()")
            self.wait(page, "!document.querySelector('#error').hidden", "the error")
            self.assertIn("column a", self.text(page, "#error"))

    def test_a_large_answer_does_not_freeze_the_page(self):
        page = self.open()
        page.evaluate("new PerformanceObserver(list => (window.longTasks ||= []).push(...list.getEntries()"
                      ".map(task => Math.round(task.duration)))).observe({type: 'longtask'})")
        for rows in (20_000, 200_000, 3_000_000):
            query = f"([]i:til {rows};price:{rows}?100f;s:{rows}?`3)"
            page.evaluate("window.longTasks = []")
            self.ask(page, query)
            shown = int(page.evaluate("document.querySelector('#note').hidden ? -1 : "
                                      "Number(document.querySelector('#note').textContent.match(/first ([\\d,]+)/)[1].replaceAll(',', ''))"))
            shown = rows if shown < 0 else shown
            self.assertLess(page.evaluate("document.querySelectorAll('.rows tr').length"), 120)
            page.evaluate("document.querySelector('.rows').focus()")
            page.press("End", END)
            self.assertEqual(str(shown - 1), page.evaluate(CELLS)[-1][0])
            page.settle()
            print(f"{rows} rows, {shown} shown: {self.text(page, '#facts')}; tasks of 50 ms and more: "
                  f"{page.evaluate('window.longTasks')} ms")
        page.evaluate("document.querySelector('#tab-chart').click()")
        self.wait(page, "document.querySelector('.uplot canvas')", "the chart")
        print(f"with its chart: {page.evaluate('window.longTasks')} ms")
        self.assertEqual([], self.complaints(page))

    def test_a_chart_chooses_its_axes(self):
        page = self.open()
        self.ask(page, "select from trade where sym in 3#distinct sym")
        page.evaluate("document.querySelector('#tab-chart').click()")
        self.wait(page, "document.querySelector('.uplot canvas')", "the chart")
        picks = "[...document.querySelectorAll('.picks select')].map(s => s.selectedOptions[0].textContent)"
        self.assertEqual(["time", "sym"], page.evaluate(picks))
        checked = "[...document.querySelectorAll('.picks input:checked')].map(b => b.parentElement.textContent)"
        self.assertEqual(["price"], page.evaluate(checked))
        symbols = page.evaluate("[...document.querySelectorAll('.key li')].map(l => l.textContent)")
        self.assertEqual({row["sym"] for row in json.loads(self.curl(".json", "select from trade where sym in 3#distinct sym"))},
                         set(symbols))
        self.picture(page, "chart")
        # The key has each digit of a value, not those of a double.
        self.ask(page, "([]x:1 2 3;y:9007199254740993 9007199254740995 9007199254740997)")
        page.evaluate("document.querySelector('.u-over').dispatchEvent(new MouseEvent('mousemove', {clientX: "
                      "document.querySelector('.u-over').getBoundingClientRect().left + 2, bubbles: true}))")
        self.wait(page, "document.querySelector('.key').textContent.includes(':')", "the values")
        self.assertIn("y: 9007199254740993", page.evaluate("[...document.querySelectorAll('.key li')].map(l => l.textContent)"))
        self.ask(page, "([]s:`a`b)")
        self.assertEqual("The answer has no column of numbers to draw.", self.text(page, "#chart > p"))
        self.assertEqual([], self.complaints(page))

    def test_the_history_is_kept_in_the_browser(self):
        page = self.open()
        page.evaluate("localStorage.clear()")
        for query in ("1+1", "2+2", "1+`a", "1+1"):
            self.ask(page, query)
        page = self.open()
        self.assertEqual(["1+1", "2+2"], page.evaluate("[...document.querySelectorAll('#earlier button')].map(b => b.textContent)"))
        self.assertEqual(["tickstack.console.history"], page.evaluate("Object.keys(localStorage)"))
        value = "document.querySelector('#text').value"
        page.press("ArrowUp", UP, control=True)
        page.press("ArrowUp", UP, control=True)
        self.assertEqual("2+2", page.evaluate(value))
        page.press("ArrowDown", DOWN, control=True)
        self.assertEqual("1+1", page.evaluate(value))
        page.evaluate("document.querySelector('#forget').click()")
        self.assertEqual("[]", page.evaluate("localStorage['tickstack.console.history']"))
        page = self.browser.open(self.address + "console#" + urllib.parse.quote("count trade"))
        self.assertEqual("count trade", page.evaluate(value), "a link brings an expression, and does not run it")
        self.assertTrue(page.evaluate("document.querySelector('#answer').hidden"))

    def test_it_fits_a_phone_and_dark_mode(self):
        query = "select trades:count i,last price,vwap:size wavg price,high:max price by sym from trade"
        for name, settings in (("desktop", {}), ("dark", {"dark": True}), ("phone", {"width": 390, "height": 844}),
                               ("phone-dark", {"width": 390, "height": 844, "dark": True})):
            page = self.open(**settings)
            width = settings.get("width", 1200)
            self.ask(page, query)
            self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), width)
            self.picture(page, name)
            self.ask(page, "select from trade where sym in 3#distinct sym")
            page.evaluate("document.querySelector('#tab-chart').click()")
            self.wait(page, "document.querySelector('.uplot canvas')", "the chart")
            self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), width)
            self.picture(page, name + "-chart")
            paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime")
            print(f"{name}: first contentful paint after {paint} ms")
            self.assertEqual([], self.complaints(page))

    def test_each_process_has_one(self):
        for process in ("tickerplant", "feed"):
            self.address = f"http://localhost:{self.running.port(process)}/"
            page = self.open()
            self.ask(page, "2*3")
            self.assertEqual("6\n", self.text(page, ".text"))
            self.assertEqual([], self.complaints(page))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--pictures", type=pathlib.Path)
    options, sys.argv[1:] = parser.parse_known_args()
    PICTURES = options.pictures
    stack.main()

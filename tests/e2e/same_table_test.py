#!/usr/bin/env python3
"""One table with a column of every type, including nulls: qPython, curl in each of its forms, `tickstack query` and a
browser get the same. Run by run_qpython_test.sh, which installs qPython; the browser's part is skipped without Chromium."""

import csv
import html.parser
import io
import json
import pathlib
import subprocess
import sys
import unittest
import urllib.parse

import numpy
from qpython.qconnection import QConnection

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import chromium, stack  # noqa: E402

CONFIG = "[tickerplant]\n[[rdb]]\n"
GUID = "ddb87915-b672-2c32-a6cf-296061671e9d"
CELLS = "[...document.querySelectorAll('tr')].map(row => [...row.cells].map(cell => cell.textContent))"
# A column's three items: in q, in JSON, and as a person sees them if that differs from JSON's texts.
COLUMNS = {
    "flag": ("101b", [True, False, True], ["1", "0", "1"]),
    "guid": (f'"G"$("{GUID}";"";"{GUID}")', [GUID, None, GUID], None),
    "byte": ("0x00ff7f", [0, 255, 127], ["00", "ff", "7f"]),
    "short": ("-5 0N 32766h", [-5, None, 32766], None),
    "int": ("-5 0N 2147483646i", [-5, None, 2147483646], None),
    "long": ("-5 0N 9007199254740993", [-5, None, 9007199254740993], None),
    "real": ("-1.5 0N 0.25e", [-1.5, None, 0.25], None),
    "float": ("0.1 0n -1e-300", [0.1, None, -1e-300], None),
    "char": ('"a \\""', ["a", " ", '"'], None),
    "sym": ('`AIG`,`$"<b>&"', ["AIG", None, "<b>&"], None),
    "timestamp": ("2013.10.07D09:30:00.000000001 0N 1999.12.31D23:59:59.999999999",
                  ["2013-10-07T09:30:00.000000001", None, "1999-12-31T23:59:59.999999999"],
                  ["2013.10.07D09:30:00.000000001", "", "1999.12.31D23:59:59.999999999"]),
    "month": ("2013.10 0N 1999.12m", ["2013-10", None, "1999-12"], ["2013.10", "", "1999.12"]),
    "date": ("2013.10.07 0N 1999.12.31", ["2013-10-07", None, "1999-12-31"], ["2013.10.07", "", "1999.12.31"]),
    "datetime": ("2013.10.07T09:30:00.125 0N 1999.12.31T12:00:00.000",
                 ["2013-10-07T09:30:00.125", None, "1999-12-31T12:00:00.000"],
                 ["2013.10.07T09:30:00.125", "", "1999.12.31T12:00:00.000"]),
    "span": ("0D09:30:00.000000001 0N -1D00:00:00.000000000",
             ["0D09:30:00.000000001", None, "-1D00:00:00.000000000"], None),
    "minute": ("09:30 0N 23:59", ["09:30", None, "23:59"], None),
    "second": ("09:30:01 0N 23:59:59", ["09:30:01", None, "23:59:59"], None),
    "time": ("09:30:00.125 0N 23:59:59.999", ["09:30:00.125", None, "23:59:59.999"], None),
    "text": ('("x,\\"y\\"";"";"<i>")', ['x,"y"', "", "<i>"], ['"x,\\"y\\""', '""', '"<i>"']),
    "longs": ("(1 0N;0#0;enlist 3)", [[1, None], [], [3]], ["1 0N", "`long$()", ",3"]),
}
QUERY = "([]" + ";".join(f"{name}:{q}" for name, (q, _, _) in COLUMNS.items()) + ")"
ITEMS = [dict(zip(COLUMNS, row)) for row in zip(*(items for _, items, _ in COLUMNS.values()))]


def seen(items, texts):
    return texts or ["" if item is None else str(item) for item in items]


SHOWN = [list(COLUMNS), *map(list, zip(*(seen(items, texts) for _, items, texts in COLUMNS.values())))]


def csv_cell(item):
    if item is None:
        return ""
    return item if isinstance(item, str) else json.dumps(item, separators=(",", ":"))


def clock(length, unit):
    """Returns a time of day or timespan, given in its type's units, as ISO or q writes it."""
    per_s = {"m": 0, "s": 1, "ms": 1000, "ns": 1_000_000_000}[unit]
    sign, count = ("-" if length < 0 else ""), abs(length)
    if unit == "m":
        return f"{count // 60:02}:{count % 60:02}"
    seconds, fraction = divmod(count, per_s)
    days, seconds = divmod(seconds, 86_400) if unit == "ns" else (None, seconds)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    if unit != "s":
        text += f".{fraction:0{len(str(per_s)) - 1}}"
    return f"{sign}{days}D{text}" if unit == "ns" else text


def plain(code, item):
    """Returns an item of a column of that q type, as qPython gives it, in JSON's form."""
    if isinstance(item, (numpy.datetime64, numpy.timedelta64)):
        if numpy.isnat(item):
            return None
        if isinstance(item, numpy.datetime64):
            return str(item)
        return clock(int(item.astype("i8")), numpy.datetime_data(item.dtype)[0])
    if code == 0:
        return item.decode() if isinstance(item, bytes) else [plain(-7, one) for one in item]
    if code == -1:
        return bool(item)
    if code == -2:
        return str(item) if item.int else None
    if code == -4:
        return int(item) % 256
    if code in (-5, -6, -7):
        return None if item == numpy.iinfo({-5: "i2", -6: "i4", -7: "i8"}[code]).min else int(item)
    if code in (-8, -9):
        return None if numpy.isnan(item) else float(item)
    return item.decode() or None


class Cells(html.parser.HTMLParser):
    """Collects the cells of a page's table, row by row."""

    def __init__(self, page):
        super().__init__()
        self.rows, self.inside = [], False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        self.inside = tag in ("td", "th")
        if self.inside:
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.rows[-1][-1] += data


class SameTableTest(stack.StackTest):
    maxDiff = None

    def setUp(self):
        super().setUp()
        self.port = self.start_stack(CONFIG).port("rdb")

    def curl(self, suffix):
        return subprocess.run(["curl", "-sS", "--fail", f"http://localhost:{self.port}/{suffix}", "--data-binary", QUERY],
                              check=True, capture_output=True, text=True, timeout=30).stdout

    def test_everybody_gets_the_same_table(self):
        with self.subTest("qPython"):
            connection = QConnection(host="127.0.0.1", port=self.port, timeout=20, numpy_temporals=True)
            connection.open()
            self.addCleanup(connection.close)
            table = connection.sendSync(QUERY)
            self.assertEqual(list(COLUMNS), list(table.dtype.names))
            columns = [[plain(table.meta[name], item) for item in table[name]] for name in COLUMNS]
            self.assertEqual(ITEMS, [dict(zip(COLUMNS, row)) for row in zip(*columns)])
        with self.subTest("curl .json"):
            self.assertEqual(ITEMS, json.loads(self.curl(".json")))
        with self.subTest("tickstack query --json"):
            printed = self.run_program("query", f"127.0.0.1:{self.port}", QUERY, "--json")
            self.assertEqual((0, ITEMS), (printed.returncode, json.loads(printed.stdout or "[]")), printed.stderr)
        with self.subTest("curl .csv"):
            self.assertEqual([list(COLUMNS), *([csv_cell(item) for item in row.values()] for row in ITEMS)],
                             list(csv.reader(io.StringIO(self.curl(".csv"), newline=""))))
        with self.subTest("curl .txt"):
            widths = [max(map(len, column)) for column in zip(*SHOWN)]
            lines = [" ".join(map(str.ljust, row, widths)).rstrip() for row in SHOWN]
            found = self.curl(".txt").splitlines()
            self.assertEqual(lines, found[:1] + found[2:])
        with self.subTest("curl, a page"):
            self.assertEqual(SHOWN, Cells(self.curl("")).rows)
        with self.subTest("Chromium"):
            self.assertEqual(SHOWN, self.cells_in_a_browser())

    def cells_in_a_browser(self):
        if chromium.program() is None:
            raise unittest.SkipTest("no Chromium (TICKSTACK_CHROMIUM names one)")
        with chromium.Browser() as browser:
            page = browser.open(f"http://localhost:{self.port}/?{urllib.parse.quote(QUERY)}")
            return page.evaluate(CELLS)


if __name__ == "__main__":
    stack.main()

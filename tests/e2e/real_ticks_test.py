#!/usr/bin/env python3
"""Real ticks through a whole stack, compared with an independent reading of the archives."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import lean_archives, stack  # noqa: E402

DATE = "2013.10.07"
SYMBOLS = ("aig", "bac", "ibm")
QUOTES, TRADES = 1_665_857, 137_816


def wait_for_day(running):
    stack.wait_until(
        lambda: running.count("quote") >= QUOTES and running.count("trade") >= TRADES,
        120, "the whole day in the rdb")


class RealTicksTest(stack.StackTest):
    def test_a_day_in_the_rdb_equals_the_archives(self):
        path = self.fixture("lean-ticks")
        running = self.start_stack(lean_archives.STACK.format(path=path), "--date", DATE)
        wait_for_day(running)
        self.assertEqual(QUOTES, running.count("quote"))
        self.assertEqual(TRADES, running.count("trade"))
        with running.connect("rdb") as rdb:
            for symbol in SYMBOLS:
                with self.subTest(symbol=symbol):
                    self.compare_trades(rdb, path, symbol)
                    self.compare_quotes(rdb, path, symbol)
        self.compare_with_the_log(running)
        self.assertEqual(0, running.stop(), running.log_text())

    def compare_trades(self, rdb, path, symbol):
        expected = lean_archives.trade_summary(path, symbol, DATE)
        where = f"from trade where sym=`{symbol.upper()}"
        self.assertEqual(expected.rows, rdb.call(f"exec count price {where}"))
        self.assertEqual(expected.size, rdb.call(f"exec sum size {where}"))
        self.assertEqual(expected.first_ns, rdb.call(f"exec first time {where}"))
        self.assertEqual(expected.last_ns, rdb.call(f"exec last time {where}"))
        self.assertEqual(expected.last_price, rdb.call(f"exec last price {where}"))

    def compare_quotes(self, rdb, path, symbol):
        expected = lean_archives.quote_summary(path, symbol, DATE)
        where = f"from quote where sym=`{symbol.upper()}"
        self.assertEqual(expected.rows, rdb.call(f"exec count bid {where}"))
        self.assertEqual(expected.first_ns, rdb.call(f"exec first time {where}"))
        self.assertEqual(expected.last_ns, rdb.call(f"exec last time {where}"))
        rows = rdb.call(f"select time,ex,bid,bsize,ask,asize {where}")
        found = zip(rows["time"], rows["ex"].decode("ascii"), map(none_if_nan, rows["bid"]),
                    rows["bsize"], map(none_if_nan, rows["ask"]), rows["asize"])
        for number, (want, have) in enumerate(zip(lean_archives.quotes(path, symbol, DATE), found, strict=True)):
            self.assertEqual(want, have, f"{symbol} quote {number}")

    def compare_with_the_log(self, running):
        log = running.data / "tplog" / f"sym{DATE}"
        checked = self.run_program("log", "check", "--json", str(log))
        self.assertEqual(0, checked.returncode, checked.stdout + checked.stderr)
        self.assertEqual({"quote": QUOTES, "trade": TRADES}, json.loads(checked.stdout)["rows"])


def none_if_nan(number):
    return None if number != number else number


if __name__ == "__main__":
    stack.main()

#!/usr/bin/env python3
"""Bars: real ticks through a whole stack, compared with a slow pass over the archives, with processes killed on the
way; and the end of a day, before which the engine publishes its final rows."""

import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import bars_by_hand, kdb_ipc, lean_archives, stack  # noqa: E402
from tests.support.kdb_ipc import Typed  # noqa: E402

SYMBOLS = ("aig", "bac", "ibm")
MINUTE, DAY = bars_by_hand.NS_PER_MINUTE, lean_archives.NS_PER_DAY
TABLES = {
    "trade_minute": (MINUTE, "minute", bars_by_hand.TRADE, bars_by_hand.trade_bars),
    "trade_daily": (DAY, "date", bars_by_hand.TRADE, bars_by_hand.trade_bars),
    "quote_minute": (MINUTE, "minute", bars_by_hand.QUOTE, bars_by_hand.quote_bars),
    "quote_daily": (DAY, "date", bars_by_hand.QUOTE, bars_by_hand.quote_bars),
}
ROUNDED = ("vwap", "spread")  # Means of exact sums; the archives' pass rounds its spreads elsewhere.

CONFIG = """
[tickerplant]
batch_ms = 10
[[rdb]]
[aggengine]
[feed]
source = "lean"
path = "{path}"
symbols = ["aig", "bac", "ibm"]
[monitor]
query_ms = 100
progress_s = 0
"""
BY_HAND = """
[tickerplant]
batch_ms = 5
[[rdb]]
[aggengine]
publish_ms = {publish_ms}
[[aggengine.bars]]
name = "trade_5s"
table = "trade"
width = "5s"
[[aggengine.bars]]
name = "depth"
table = "quote"
width = "1h"
bids = "sum bsize"
mean = "avg bsize-asize"
"""


def trade(sym, time_ns, price, size):
    count = len(sym)
    return [Typed("p", time_ns), sym, price, Typed("i", size), Typed("b", [False] * count), b"x" * count, b"N" * count]


class RealTicksTest(stack.StackTest):
    def test_the_bars_of_three_days_are_those_of_the_archives(self):
        path = self.fixture("lean-ticks")
        for date, kills in (("2013.10.07", 2), ("2013.10.08", 0), ("2013.10.09", 0)):
            with self.subTest(date=date):
                running = self.start_stack(CONFIG.format(path=path), "--date", date, name=date)
                expected = {
                    table: {(symbol.upper(), number): row for symbol in SYMBOLS
                            for number, row in bars(path, symbol, date, width).items()}
                    for table, (width, _, _, bars) in TABLES.items()
                }
                for _ in range(kills):
                    before = running.ask("aggengine", ".agg.stats[]")["rows_in"]
                    stack.wait_until(lambda: running.ask("aggengine", ".agg.stats[]")["rows_in"] > before + 50_000
                                     or self.is_complete(running, expected), 120, "rows in the engine")
                    running.kill("aggengine")
                stack.wait_until(lambda: self.is_complete(running, expected), 240, "the whole day in the bars")
                self.wait_for_spreads(running, expected)
                for table in TABLES:
                    self.compare(running, table, expected[table])
                self.assertEqual(0, running.stop(), running.log_text())

    def is_complete(self, running, expected):
        try:
            return all(running.ask("rdb", f"exec sum {counted} from {table}")
                       == sum(row[-1] for row in expected[table].values())
                       for table, counted in (("trade_minute", "trades"), ("trade_daily", "trades"),
                                              ("quote_minute", "quotes"), ("quote_daily", "quotes")))
        except (OSError, kdb_ipc.Closed, kdb_ipc.QError):
            return False

    def wait_for_spreads(self, running, expected):
        """Waits for the last spreads: a minute's last quote also ends the spread of the previous minute, in a separate row."""
        stack.wait_until(lambda: not self.stats_of(running)["rows_waiting"]
                         and not self.stats_of(running)["messages_unanswered"], 60, "everything published")
        rows = len(expected["quote_minute"])
        stack.wait_until(lambda: running.ask("rdb", "count quote_minute") == rows, 60, f"{rows} bars")
        running.ask("tickerplant", ".u.i")  # Publishes the pending rows.

    def stats_of(self, running):
        return running.ask("aggengine", ".agg.stats[]")

    def compare(self, running, table, expected):
        width, key, columns, _ = TABLES[table]
        found = running.ask("rdb", f"select from {table}")
        self.assertEqual(len(expected), len(found["sym"]), table)
        numbers = found[key] if key == "date" else [begin // width for begin in found[key]]
        for at, bar in enumerate(zip(found["sym"], numbers)):
            for name, want in zip(columns, expected[bar]):
                have = found[name][at]
                have = None if have != have else have
                if name in ROUNDED and want is not None and have is not None:
                    self.assertTrue(math.isclose(want, have, rel_tol=1e-12, abs_tol=1e-15),
                                    f"{table} {bar} {name}: {have}, expected {want}")
                else:
                    self.assertEqual(want, have, f"{table} {bar} {name}")


class EndOfDayTest(stack.StackTest):
    def test_the_last_rows_are_published_before_the_day_ends(self):
        # The timer would not publish anything during the test.
        running = self.start_stack(BY_HAND.format(publish_ms=3_600_000))
        stack.wait_until(lambda: running.ask("aggengine", ".agg.stats[]")["live"] == 1, 60, "a live engine")
        now_ns = lean_archives.day_start_ns("2020.03.09")
        with running.connect("tickerplant") as observer, running.connect("tickerplant") as feed:
            observer.call([b".u.sub", "trade_5s", ""])
            observer.call([b".u.sub", "trade_daily", ""])
            for i in range(100):
                feed.send([b".u.upd", "trade",
                           trade(["IBM", "AIG"], [now_ns + i * 100_000_000] * 2, [100.0 + i, 50.0], [10, i])])
            feed.call(".u.i")
            feed.call(".u.end[]")
            seen = {"trade_5s": {}, "trade_daily": {}}
            while True:
                message = observer.next_async()
                if message[0] == ".u.end":
                    break
                _, table, rows = message
                key = "date" if table == "trade_daily" else "start"
                for at, bar in enumerate(zip(rows["sym"], rows[key])):
                    seen[table][bar] = (rows["open"][at], rows["close"][at], rows["volume"][at], rows["trades"][at])
        self.assertEqual({("IBM", now_ns): (100.0, 149.0, 500, 50), ("AIG", now_ns): (50.0, 50.0, 1225, 50),
                          ("IBM", now_ns + 5_000_000_000): (150.0, 199.0, 500, 50),
                          ("AIG", now_ns + 5_000_000_000): (50.0, 50.0, 3725, 50)}, seen["trade_5s"])
        day = now_ns // DAY
        self.assertEqual({("IBM", day): (100.0, 199.0, 1000, 100), ("AIG", day): (50.0, 50.0, 4950, 100)},
                         seen["trade_daily"])
        # The next day begins without any rows.
        stack.wait_until(lambda: running.ask("aggengine", ".agg.stats[]")["days_ended"] == 1, 60, "the next day")
        self.assertEqual(0, running.ask("aggengine", ".agg.stats[]")["bars"])
        self.assertEqual(0, running.ask("rdb", "count trade_5s"))
        with running.connect("tickerplant") as feed:
            feed.send([b".u.upd", "trade", trade(["IBM"], [now_ns], [1.0], [1])])
            feed.call(".u.i")
        stack.wait_until(lambda: running.ask("aggengine", ".agg.stats[]")["bars"] == 3, 60, "a late tick in today's log")
        self.assertEqual(0, running.stop(), running.log_text())


class ConfiguredBarsTest(stack.StackTest):
    def test_bars_of_other_widths_are_three_lines(self):
        running = self.start_stack(BY_HAND.format(publish_ms=0), "--date", "2020.03.09")
        begin_ns = lean_archives.day_start_ns("2020.03.09")
        with running.connect("tickerplant") as feed:
            feed.send([b".u.upd", "trade", trade(["A", "A", "A"], [begin_ns + 1, begin_ns + 6_000_000_000, begin_ns],
                                                 [2.0, 3.0, 1.0], [1, 1, 3])])
            feed.send([b".u.upd", "quote", [Typed("p", [begin_ns, begin_ns + 1]), ["A", "A"], [1.0, 1.0], [2.0, 2.0],
                                            [5, 7], [1, 2], b"RR", b"NN"]])
        stack.wait_until(lambda: running.count("trade_5s") == 2 and running.count("depth") == 1, 60, "bars")
        found = running.ask("rdb", "select sym,start,open,close,vwap,trades from trade_5s")
        self.assertEqual([begin_ns, begin_ns + 5_000_000_000], found["start"])
        self.assertEqual(([1.0, 3.0], [2.0, 3.0], [1.25, 3.0], [2, 1]),
                         (found["open"], found["close"], found["vwap"], found["trades"]))
        found = running.ask("rdb", "select bids,mean from depth")
        self.assertEqual(([12], [4.5]), (found["bids"], found["mean"]))
        self.assertEqual(["sym", "start"], running.ask("rdb", "keys depth"))
        self.assertEqual(0, running.stop(), running.log_text())

    def test_a_mistake_is_named_with_its_place(self):
        for line, what in (("bids = \"median bid\"", "aggengine.bars.bids: expected `count`"),
                           ("bids = \"sum price\"", "no column price, table quote has"),
                           ("width = \"2d\"", "aggengine.bars.width: expected 1ms to 1d"),
                           ("table = \"news\"", "aggengine.bars.table: expected one of the tables trade, quote, found \"news\"")):
            lines = {"table": 'table = "quote"', "width": 'width = "1m"', "bids": 'bids = "sum bid"'}
            lines[line.split()[0]] = line
            path = self.folder / "stack.toml"
            path.write_text('[tickerplant]\n[aggengine]\n[aggengine.bars]\nname = "b"\n' + "\n".join(lines.values()),
                            encoding="utf-8")
            for command in (["up", str(path)], ["aggengine", "--config", str(path)]):
                with self.subTest(line=line, command=command[0]):
                    done = self.run_program(*command, timeout=20)
                    self.assertEqual(2, done.returncode, done.stderr)
                    self.assertIn(what, done.stderr)


if __name__ == "__main__":
    stack.main()

#!/usr/bin/env python3
"""A stack captures three days of real ticks; then its hdb's answers about them, ticks and bars, are compared with
DuckDB's, which has only the archives. So are those of a gateway. Run by run_duckdb_test.sh, which installs DuckDB."""

import json
import pathlib
import sys

import duckdb

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import duckdb_archives, lean_archives, stack  # noqa: E402

DATES = ("2013.10.07", "2013.10.08", "2013.10.09")
SYMBOLS = ("AIG", "BAC", "IBM")
TABLES = ("quote", "quote_daily", "quote_minute", "trade", "trade_daily", "trade_minute")
SUM_RTOL = 1e-10  # Hundreds of thousands of prices, added in another order.
MINUTE_MS, DAY_MS = 60_000, 86_400_000
CONFIG = """
[tickerplant]
batch_ms = 10
[[rdb]]
[aggengine]
[eod]
[hdb]
[gateway]
"""

TRADE_BARS = """
select sym, {begin} as bar, {midnight} + max(ms) * 1000000 as time, arg_min(price, place) as open,
  max(price) as high, min(price) as low, arg_max(price, place) as close, sum(size)::bigint as volume,
  sum(price * size) / sum(size) as vwap, count(*) as trades
from (select *, ms * {rows_max} + row as place from (select * exclude (place) from trade)) group by sym, ms // {width}
order by sym, bar
"""
# A quote's spread is valid until the symbol's next quote: in its own bar, and in the next one's.
QUOTE_BARS = """
with step as (
  select *, ask - bid as spread, ms // {width} as number,
    lead(ms) over by_symbol as next_ms, lead(ms) over by_symbol // {width} as next_number
  from quote window by_symbol as (partition by sym order by ms, row)),
held as (
  select sym, number, spread, least(next_ms, (number + 1) * {width}) - ms as held_ms from step
    where next_ms is not null
  union all
  select sym, next_number, spread, next_ms - greatest(ms, next_number * {width}) from step where next_number > number),
mean as (
  select sym, number, sum(spread * held_ms) filter (spread is not null) / sum(held_ms) filter (spread is not null)
    as spread from held where held_ms > 0 group by all)
select step.sym, {begin} as bar, {midnight} + max(ms) * 1000000 as time,
  last(bid order by ms, row) as bid, last(ask order by ms, row) as ask, max(bid) as high_bid, min(ask) as low_ask,
  coalesce(any_value(mean.spread), last(step.spread order by ms, row)) as spread, count(*) as quotes
from step left join mean on step.sym = mean.sym and step.number = mean.number group by step.sym, step.number
order by sym, bar
"""


class ThreeDaysTest(stack.StackTest):
    def setUp(self):
        super().setUp()
        self.path = self.fixture("lean-ticks")
        self.archives = duckdb.connect()
        self.addCleanup(self.archives.close)

    def capture(self, running, date):
        """Runs a feed of that day's archives, then ends the day and waits for the partition."""
        published = self.run_program(
            "feed", "--source", "lean", "--path", str(self.path), "--symbols", "aig,bac,ibm", "--date", date,
            "--tickerplant", f"127.0.0.1:{running.port('tickerplant')}", "--start", "--exit-when-done",
        )
        self.assertEqual(0, published.returncode, published.stderr)
        ended = self.run_program(
            "eod", "--tickerplant", f"127.0.0.1:{running.port('tickerplant')}",
            "--rdb", f"127.0.0.1:{running.port('rdb')}", "--timeout", "100",
        )
        self.assertEqual(0, ended.returncode, ended.stdout + ended.stderr + running.log_text())

    def check_partitions(self, running):
        checked = self.run_program("hdb", "check", str(running.data / "hdb"), "--json")
        self.assertEqual(0, checked.returncode, checked.stdout + checked.stderr)
        found = json.loads(checked.stdout)
        self.assertEqual((True, [], len(DATES), len(DATES) * len(TABLES)),
                         tuple(found[key] for key in ("sound", "findings", "partitions", "tables")))
        for date in DATES:
            self.assertEqual(sorted(TABLES), sorted(path.name for path in (running.data / "hdb" / date).iterdir()))

    def compare(self, hdb, q, sql, exact, close=(), rtol=1e-12):
        duckdb_archives.compare(self, hdb, q, self.archives, sql, exact, close, rtol)

    def compare_ticks(self, hdb, date):
        self.compare(
            hdb,
            f"select n:count i,volume:sum size,paid:sum price,first time,price:last price by sym from trade "
            f"where date={date}",
            f"""select sym, count(*) as n, sum(size)::bigint as volume, sum(price) as paid,
                       {lean_archives.day_start_ns(date)} + min(ms) * 1000000 as time,
                       arg_max(price, ms * {duckdb_archives.ROWS_MAX} + row) as price
                from trade group by sym order by sym""",
            ("sym", "n", "volume", "time", "price"), ("paid",), SUM_RTOL,
        )
        self.compare(
            hdb,
            f"select n:count i,sum bsize,sum asize,bids:sum bid,asks:sum ask,nulls:sum null bid,last time by sym "
            f"from quote where date={date}",
            f"""select sym, count(*) as n, sum(bsize)::bigint as bsize, sum(asize)::bigint as asize, sum(bid) as bids,
                       sum(ask) as asks, count(*) - count(bid) as nulls,
                       {lean_archives.day_start_ns(date)} + max(ms) * 1000000 as time
                from quote group by sym order by sym""",
            ("sym", "n", "bsize", "asize", "nulls", "time"), ("bids", "asks"), SUM_RTOL,
        )

    def compare_bars(self, hdb, date):
        midnight = lean_archives.day_start_ns(date)
        for name, width, bar, begin in (
            ("minute", MINUTE_MS, "minute", f"{midnight} + any_value(ms // {MINUTE_MS} * {MINUTE_MS}) * 1000000"),
            ("daily", DAY_MS, "date", f"{midnight // lean_archives.NS_PER_DAY}"),
        ):
            sql = {"width": width, "begin": begin, "midnight": midnight, "rows_max": duckdb_archives.ROWS_MAX}
            with self.subTest(bars=name):
                self.compare(
                    hdb,
                    f"select sym,bar:{bar},time,open,high,low,close,volume,vwap,trades from `sym`{bar} xasc "
                    f"select from trade_{name} where date={date}",
                    TRADE_BARS.format(**sql),
                    ("sym", "bar", "time", "open", "high", "low", "close", "volume", "trades"), ("vwap",),
                )
                self.compare(
                    hdb,
                    f"select sym,bar:{bar},time,bid,ask,high_bid,low_ask,spread,quotes from `sym`{bar} xasc "
                    f"select from quote_{name} where date={date}",
                    QUOTE_BARS.format(**sql),
                    ("sym", "bar", "time", "bid", "ask", "high_bid", "low_ask", "quotes"),
                    # DuckDB subtracts prices and adds the rounded differences.
                    ("spread",), 1e-9,
                )

    def test_what_the_hdb_says_of_three_days_is_in_the_archives(self):
        for date in DATES:  # In one folder: each start finds the logs and partitions of the previous days.
            running = self.start_stack(CONFIG, "--date", date)
            self.capture(running, date)
            if date != DATES[-1]:
                self.assertEqual(0, running.stop(), running.log_text())
        self.check_partitions(running)
        with running.connect("hdb") as hdb, running.connect("gateway") as gateway:
            rows = {"trade": 0, "quote": 0}
            for date in DATES:
                duckdb_archives.load(self.archives, self.path, date, SYMBOLS, self.folder)
                for table in rows:
                    rows[table] += self.archives.execute(f"select count(*) from {table}").fetchone()[0]
                for name, server in (("hdb", hdb), ("gateway", gateway)):
                    with self.subTest(date=date, server=name):
                        self.compare_ticks(server, date)
                        self.compare_bars(server, date)
            for table, count in rows.items():
                self.assertEqual(count, hdb.call(f"count {table}"))
                self.assertEqual(count, gateway.call(f"exec count i from {table} where date within 2013.10.07 2013.10.09"))
        self.assertEqual(0, running.stop(), running.log_text())


if __name__ == "__main__":
    stack.main()

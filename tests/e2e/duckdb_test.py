#!/usr/bin/env python3
"""Queries against DuckDB, which knows nothing of this project: real ticks that went through a whole stack,
and the small version of bench/peers' day. Run by run_duckdb_test.sh, which installs it."""

import os
import pathlib
import subprocess
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from bench.peers import answers  # noqa: E402
from bench.peers.lines import Line  # noqa: E402
from tests.support import duckdb_archives, lean_archives, stack  # noqa: E402
from tests.support.real_day import DATE, SYMBOLS, RealDayTest  # noqa: E402


def _take(flag, default):
    if flag not in sys.argv:
        return default
    at = sys.argv.index(flag)
    value = sys.argv[at + 1]
    del sys.argv[at : at + 2]
    return value


PEERS_DAY = pathlib.Path(_take("--peers-day", stack.ROOT / "build/release/bench/peers_day"))


class RealTicksTest(RealDayTest):
    def compare(self, q, sql, exact, close=()):
        duckdb_archives.compare(self, self.rdb, q, self.database, sql, exact, close)

    def test_answers_are_duckdbs(self):
        for check in (
            self.the_best_bid_and_offer_after_each_quote,
            self.the_volume_weighted_price_of_each_minute,
            self.the_bars_of_each_minute,
            self.each_trade_with_the_quote_of_its_exchange,
        ):
            with self.subTest(check.__name__):
                check()

    def the_best_bid_and_offer_after_each_quote(self):
        exchanges = [ex for (ex,) in self.database.execute("select distinct ex from quote order by ex").fetchall()]
        self.assertGreater(len(exchanges), 8)
        last = "last_value(case when ex = '{}' then {} end ignore nulls) over by_symbol"
        bids, asks = (", ".join(last.format(ex, side) for ex in exchanges) for side in ("bid", "ask"))
        for symbol in SYMBOLS:
            with self.subTest(symbol=symbol):
                self.compare(
                    f"select bid,ask from nbbo[`sym`ex`bid`ask;select from quote where sym=`{symbol}]",
                    f"""select greatest({bids}) as bid, least({asks}) as ask from quote where sym = '{symbol}'
                                 window by_symbol as (order by row) order by row""",
                    ("bid", "ask"),
                )

    def the_volume_weighted_price_of_each_minute(self):
        self.compare(
            "select vwap:size wavg price by sym,minute:time.minute from trade",
            """select sym, ms // 60000 as minute, sum(price * size) / sum(size) as vwap from trade
                        group by all order by sym, minute""",
            ("sym", "minute"),
            ("vwap",),
        )

    def the_bars_of_each_minute(self):
        self.compare(
            "select open:first price,high:max price,low:min price,close:last price,volume:sum size,trades:count i "
            "by sym,minute:time.minute from trade",
            """select sym, ms // 60000 as minute, arg_min(price, row) as open, max(price) as high, min(price) as low,
                          arg_max(price, row) as close, sum(size)::bigint as volume, count(*) as trades
                        from trade group by sym, ms // 60000 order by sym, minute""",
            ("sym", "minute", "open", "high", "low", "close", "volume", "trades"),
        )

    def each_trade_with_the_quote_of_its_exchange(self):
        midnight = lean_archives.day_start_ns(DATE)
        for symbol in SYMBOLS:
            with self.subTest(symbol=symbol):
                self.compare(
                    f"select time,price,size,bid,ask from aj[`sym`ex`time;select from trade where sym=`{symbol};quote]",
                    f"""select {midnight} + t.ms * {duckdb_archives.NS_PER_MS} as time, t.price, t.size, q.bid, q.ask from
                                 (from trade where sym = '{symbol}') t
                                 asof left join (from quote where sym = '{symbol}') q
                                 on t.ex = q.ex and t.place >= q.place order by t.row""",
                    ("time", "price", "size", "bid", "ask"),
                )


class AnswersTest(stack.StackTest):
    """What the comparison of the generated day takes for equal, and what not."""

    LINE = Line("line", "a line", "", exact=("sym", "bid"), close=("vwap",))
    ANSWER = {"sym": np.arange(1000) % 7, "bid": np.arange(1000) / 8, "vwap": np.arange(1000) / 3}

    def difference(self, **changed):
        expected = answers.summarise(self.LINE, self.ANSWER, self.folder / "expected.npz")
        found = answers.summarise(self.LINE, self.ANSWER | changed, self.folder / "found.npz")
        return answers.difference(self.LINE, expected, found)

    def with_row(self, name, row, value):
        column = self.ANSWER[name].copy()
        column[row] = value
        return {name: column}

    def test_rows_may_come_in_any_order(self):
        order = np.random.default_rng(1).permutation(1000)
        self.assertIsNone(self.difference(**{name: column[order] for name, column in self.ANSWER.items()}))

    def test_one_value_that_differs_is_named(self):
        self.assertIn("1 of 1000 rows", self.difference(**self.with_row("bid", 500, np.nextafter(62.5, 63))))
        self.assertIn("1 of 1000 rows", self.difference(**self.with_row("bid", 500, np.nan)))
        self.assertIn("vwap differs in 1 of 1000", self.difference(**self.with_row("vwap", 500, 500 / 3 * (1 + 1e-8))))
        self.assertIn("vwap differs in 1 of 1000", self.difference(**self.with_row("vwap", 500, np.nan)))

    def test_sums_may_differ_by_the_order_of_their_terms(self):
        self.assertIsNone(self.difference(**self.with_row("vwap", 500, 500 / 3 * (1 + 1e-12))))

    def test_values_that_changed_places_differ(self):
        bid = self.ANSWER["bid"].copy()
        bid[[10, 20]] = bid[[20, 10]]
        self.assertIn("2 of 1000 rows", self.difference(bid=bid))

    def test_a_row_too_many_differs(self):
        more = {name: np.append(column, column[-1]) for name, column in self.ANSWER.items()}
        self.assertEqual("1001 rows, expected 1000", self.difference(**more))


class GeneratedDayTest(stack.StackTest):
    def test_each_line_of_the_comparison_with_other_systems(self):
        ran = subprocess.run(
            [
                sys.executable,
                "-m",
                "bench.peers.compare",
                "--check",
                "--peers",
                "duckdb",
                "--quotes",
                "300000",
                "--folder",
                str(self.folder),
                "--tickstack",
                stack.PROGRAM,
                "--peers-day",
                str(PEERS_DAY),
            ],
            cwd=stack.ROOT,
            env=os.environ | {"PYTHONPATH": str(stack.ROOT)},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        self.assertEqual(0, ran.returncode, ran.stdout + ran.stderr)
        self.assertIn("8 lines compared, 0 failures", ran.stdout)


if __name__ == "__main__":
    stack.main()

#!/usr/bin/env python3
"""Queries against DuckDB, which is independent of this project: real ticks that passed through a whole stack, and
the small version of bench/peers' day. Run by run_duckdb_test.sh, which installs DuckDB."""

import os
import pathlib
import subprocess
import sys
import unittest

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from bench.peers import answers, kxtaq, kxtaq_answers  # noqa: E402
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
PEERS_TABLES = pathlib.Path(_take("--peers-tables", stack.ROOT / "build/release/bench/peers_tables"))


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
    """What the comparison of the generated day considers equal."""

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


def run_kxtaq(queries, folder, *more):
    command = [sys.executable, "-m", "bench.peers.kxtaq", "--queries", str(queries), "--folder", str(folder)]
    command += ["--peers-tables", str(PEERS_TABLES), "--peers", "duckdb", "--quotes", "20000", "--symbols", "50"]
    return subprocess.run(
        [*command, *more],
        cwd=stack.ROOT,
        env=os.environ | {"PYTHONPATH": str(stack.ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


class QueriesOfAFolderTest(stack.StackTest):
    """bench/peers/run kxtaq, with queries of our own in the files that it reads."""

    Q = (
        "select n:count i,size:sum size by sym,ex from trade where sym in fiftyInstrs",
        "select mid:avg (bid+ask)%2 by 10 xbar time.minute from quote where sym=freqInstr,0<bsize,0<asize",
        "select n:count i by sym,bucket:timeBucketsStep time from trade",
        'select participantTimestamp,tradeReportingFacilityTRFTimestamp,cond,stop from trade where ex="D"',
        ".pvt.most select n:count i by exnames ex from trade",
    )
    SQL = (
        "select sym,ex,count(*) as n,sum(size) as size from trade where sym in $1 group by sym,ex|fiftyInstrs",
        "select time_bucket(interval '10 minutes',time)::time as minute,avg((bid+ask)/2) as mid from quote "
        "where sym=$1 and 0<bsize and 0<asize group by minute|freqInstr",
        "select sym,bucket,count(*) as n from trade t asof join timeBuckets b on t.time::time>=b.bound "
        "group by sym,bucket|",
        "select participantTimestamp,tradeReportingFacilityTRFTimestamp,cond,stop from trade where ex='D'|",
        "select name as ex,count(*) as n from trade t join exnames e on t.ex=e.ex group by name order by n desc limit 1|",
    )

    def setUp(self):
        super().setUp()
        (self.folder / "src").mkdir()
        (self.folder / "src/pivot.q").write_text(
            'system "d .pvt"\n/ the largest\nmost:{[t]\n  select from t where n=max n\n  };\nsystem "d ."\n',
            encoding="utf-8",
        )
        self.write("kdb", [f"{text}|" for text in self.Q])
        self.write("duckdb", self.SQL)
        self.write("polars", [])

    def write(self, system, texts):
        folder = self.folder / "artifacts/queries/inmemory"
        folder.mkdir(parents=True, exist_ok=True)
        lines = [f"{number}||{text}" for number, text in enumerate(texts, 1)]
        (folder / f"{system}.psv").write_text("\n".join(["idx|tags|query|parameter", *lines]) + "\n", encoding="utf-8")

    def test_equal_answers_are_counted_and_timed(self):
        ran = run_kxtaq(self.folder, self.folder / "run", "--runs", "2")
        self.assertEqual(0, ran.returncode, ran.stdout + ran.stderr)
        self.assertIn("5 queries, 5 answers are duckdb's", ran.stdout)
        self.assertIn("| 1 | ", ran.stdout)

    def test_an_answer_that_differs_is_named(self):
        self.write("kdb", ["select n:1+count i,size:sum size by sym,ex from trade where sym in fiftyInstrs|"])
        ran = run_kxtaq(self.folder, self.folder / "run", "--check")
        self.assertEqual(1, ran.returncode, ran.stdout + ran.stderr)
        self.assertIn("query 1: tickstack: n: ", ran.stdout)

    def test_a_query_that_fails_is_named(self):
        self.write("kdb", ["select from nosuch|"])
        ran = run_kxtaq(self.folder, self.folder / "run")
        self.assertEqual(1, ran.returncode, ran.stdout + ran.stderr)
        self.assertIn("query 1: tickstack: nosuch", ran.stdout)

    def test_a_folder_without_queries_is_named(self):
        ran = run_kxtaq(self.folder / "run", self.folder / "run")
        self.assertEqual(2, ran.returncode)
        self.assertIn("expected kdb.psv", ran.stderr)


class PublicQuestionsTest(stack.StackTest):
    def ask(self, module, *options):
        ran = subprocess.run(
            [sys.executable, "-m", f"bench.peers.{module}", "--check", "--folder", str(self.folder)]
            + ["--programs", str(PEERS_TABLES.parent), *options],
            cwd=stack.ROOT,
            env=os.environ | {"PYTHONPATH": str(stack.ROOT)},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        self.assertEqual(0, ran.returncode, ran.stdout + ran.stderr)
        return ran.stdout

    def test_group_bys_and_joins(self):
        self.assertIn("15 questions, 15 answers are duckdb's", self.ask("h2o", "--rows", "20000"))

    def test_readings_of_hosts_in_memory_and_on_disk(self):
        self.assertIn("20 questions, 20 answers are duckdb's", self.ask("tsbs", "--hosts", "10", "--days", "2"))


class QueriesTest(unittest.TestCase):
    def test_statements_of_a_script(self):
        script = "a:1\n/ comment\n\nf:{[x]\n / comment\n x+1\n }\ng:{x}  \nb: 2;\nf g b"
        self.assertEqual(["a:1", "f:{[x]\n x+1\n }", "g:{x}", "b: 2", "f g b"], kxtaq.statements(script))
        self.assertEqual(["a", "f", "g", "b"], kxtaq.defined_names(script))

    def test_numbers_of_queries(self):
        self.assertEqual({1, 2, 3, 24}, kxtaq.numbers("1-3,24"))

    def test_answers_that_are_equal(self):
        expected = {"sym": np.array([b"a", b"b", b"b"]), "n": np.array([1, 2, 3]), "x": np.array([0.5, np.nan, 1e6])}
        turned = {name: column[[2, 0, 1]] for name, column in reversed(expected.items())}
        self.assertIsNone(kxtaq_answers.difference(expected, expected))
        self.assertIsNone(kxtaq_answers.difference(expected, turned))
        self.assertIsNone(kxtaq_answers.difference(expected, expected | {"x": np.array([0.5, np.nan, 1e6 + 1])}))

    def test_answers_that_differ(self):
        expected = {"sym": np.array([b"a", b"b"]), "x": np.array([0.5, np.nan])}
        for changed, what in (
            ({"x": np.array([0.5, 0.5])}, "x: "),
            ({"x": np.array([0.6, np.nan])}, "x: "),
            ({"sym": np.array([b"a", b"c"])}, "sym: "),
            ({"n": np.array([1, 2])}, "expected no n"),
        ):
            with self.subTest(what):
                self.assertIn(what, kxtaq_answers.difference(expected, expected | changed))
        self.assertIn("1 rows, expected 2", kxtaq_answers.difference(expected, {n: c[:1] for n, c in expected.items()}))


if __name__ == "__main__":
    stack.main()

#!/usr/bin/env python3
"""kola, a client that returns Polars frames: values of each type from tickerplant, RDB and HDB, frames as rows and as
arguments, subscriptions, errors, users and TLS; and what docs/python.md says that it cannot do. Run by
run_clients_test.sh, which installs it."""

import datetime
import pathlib
import sys
import unittest

import kola
import polars as pl
from polars.testing import assert_frame_equal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import stack  # noqa: E402
from tests.support.secured import PASSWORD, SecuredTest  # noqa: E402

CONFIG = "[tickerplant]\nbatch_ms = 10\n[[rdb]]\n[hdb]\n"
DATE = "2020.03.09"
PROCESSES = ("tickerplant", "rdb", "hdb")
TIME = datetime.datetime(2020, 3, 9, 14, 30, 0, 123456)
UTC = datetime.timezone.utc
ATOMS = {
    "1b": True, "0x10": 16, "-1h": -1, "-1i": -1, "-1": -1, "1.5e": 1.5, "1.5": 1.5, '"a"': "a", '"text"': "text",
    "`sym": "sym", "2020.03.09D14:30:00.123456": TIME.replace(tzinfo=UTC), "2020.03m": datetime.date(2020, 3, 1),
    "2020.03.09": datetime.date(2020, 3, 9), "2020.03.09T14:30:00.000": TIME.replace(microsecond=0, tzinfo=UTC),
    "0D00:00:01": datetime.timedelta(seconds=1), "14:30": datetime.time(14, 30), "14:30:01": datetime.time(14, 30, 1),
    "14:30:00.001": datetime.time(14, 30, 0, 1000), "(1;`a)": (1, "a"), "`a`b!1 2": {"a": 1, "b": 2}, "(::)": (),
}
# Vectors with a null, as (dtype, items).
VECTORS = {
    "10b": (pl.Boolean, [True, False]), "0x0aff": (pl.UInt8, [10, 255]), "1 0Nh": (pl.Int16, [1, None]),
    "1 0Ni": (pl.Int32, [1, None]), "1 0N": (pl.Int64, [1, None]), "1.5 -2e": (pl.Float32, [1.5, -2]),
    "`a`": (pl.Categorical, ["a", ""]), '("ab";"cd")': (pl.String, ["ab", "cd"]),
    "2020.03.09D14:30:00.123456 0N": (pl.Datetime("ns"), [TIME, None]), "2020.03.09 0N": (pl.Date, [TIME.date(), None]),
    "0D00:00:01 0N": (pl.Duration("ns"), [datetime.timedelta(seconds=1), None]),
    "14:30 0N": (pl.Time, [datetime.time(14, 30), None]), "14:30:00.001 0N": (pl.Time, [datetime.time(14, 30, 0, 1000), None]),
}
CANNOT = {"2020.03m+til 2": "k type 13", "{x+1}": "k type 100", "([]x:(1 2;`a))": "mixed list"}


def trades(rows=3):
    return pl.DataFrame({
        "time": pl.Series([TIME] * rows, dtype=pl.Datetime("ns")), "sym": pl.Series(["AIG", "BAC", "AIG"][:rows], dtype=pl.Categorical),
        "price": [101.5, 25.25, 101.75][:rows], "size": pl.Series([100, 200, 300][:rows], dtype=pl.Int32),
        "stop": [False, True, False][:rows], "cond": ["@", "T", " "][:rows], "ex": ["N", "Q", "N"][:rows]})


class KolaTest(stack.StackTest):
    def setUp(self):
        super().setUp()
        self.stack = self.start_stack(CONFIG, "--date", DATE)

    def open(self, process, **options):
        client = kola.Q("127.0.0.1", self.stack.port(process), timeout=20, **options)
        client.connect()
        self.addCleanup(client.disconnect)
        return client

    def test_values_of_each_type_from_each_process(self):
        for process in PROCESSES:
            client = self.open(process)
            for query, value in ATOMS.items():
                with self.subTest(process=process, query=query):
                    self.assertEqual(value, client.sync(query))
            for query, (dtype, items) in VECTORS.items():
                with self.subTest(process=process, query=query):
                    found = client.sync(query)
                    self.assertEqual((dtype, items), (found.dtype, found.to_list()))
                    table = client.sync(f"([]x:{query})")
                    self.assertEqual((dtype, items), (table["x"].dtype, table["x"].to_list()))
            with self.assertRaisesRegex(kola.KolaError, "type"):
                client.sync("1+`a")

    def test_what_it_cannot_do(self):
        rdb = self.open("rdb")
        for query, error in CANNOT.items():
            with self.subTest(query=query):
                with self.assertRaisesRegex(kola.KolaError, error):
                    rdb.sync(query)
        # Nulls of atoms are values; those of vectors are not.
        self.assertEqual(-2**63, rdb.sync("0N"))
        self.assertEqual(datetime.datetime(1970, 1, 1, tzinfo=UTC), rdb.sync("0Np"))
        # Any next message is taken for the answer of a request.
        tickerplant = self.open("tickerplant")
        tickerplant.sync(".u.feed", "f", "instance")
        tickerplant.asyn(".u.updn", "f", 5, "trade", trades())
        self.assertEqual((".u.err", "gap: feed f sends row 5 of trade, expected 0"), tickerplant.sync("1+1"))
        self.assertEqual(2, tickerplant.receive())

    def test_a_frame_is_published_received_and_queried(self):
        subscriber, feed, rdb = self.open("tickerplant"), self.open("tickerplant"), self.open("rdb")
        name, empty = subscriber.sync(".u.sub", "trade", pl.Series("", ["AIG"], dtype=kola.QType.Symbol))
        self.assertEqual(("trade", trades().schema), (name, empty.schema))
        self.assertEqual(0, feed.sync(".u.feed", "f", "instance")["trade"])
        for _ in range(2):
            feed.sync(".u.updn", "f", 0, "trade", trades())
        self.assertEqual(3, feed.sync(".u.feed", "f")["trade"])
        message, table, rows = subscriber.receive()
        self.assertEqual(("upd", "trade"), (message, table))
        assert_frame_equal(trades().filter(pl.col("sym") == "AIG"), rows)
        stack.wait_until(lambda: self.stack.count("trade") == 3, what="three trades")
        assert_frame_equal(trades(), rdb.sync("select from trade"))
        feed.asyn(".u.upd", "trade", trades(1))
        stack.wait_until(lambda: self.stack.count("trade") == 4, what="a fourth trade")
        with self.assertRaisesRegex(kola.KolaError, "type: trade.cond is list, expected char: item 0 is a string of length 2"):
            feed.sync(".u.upd", "trade", trades(1).with_columns(cond=pl.lit("@@")))

    def test_frames_and_lists_are_arguments(self):
        rdb = self.open("rdb")
        self.assertEqual({"sym": ["AIG", "BAC"], "size": [400, 200]},
                         rdb.sync("{0!select sum size by sym from x}", trades()).to_dict(as_series=False))
        self.assertEqual(1, rdb.sync("{count select from x where sym in y,size>z}", trades(),
                                     pl.Series("", ["AIG"], dtype=kola.QType.Symbol), 100))
        self.assertEqual(3, rdb.sync("{x[`a]+x`b}", {"a": 1, "b": 2}))

    def test_partitions_of_an_hdb(self):
        done = self.run_program("hdb", "generate", str(self.stack.data / "hdb"), "--quotes", "2000", "--days", "2",
                                "--from", "2020.03.05")
        self.assertEqual(0, done.returncode, done.stderr)
        hdb = self.open("hdb")
        hdb.sync(".hdb.reload[]")
        days = hdb.sync("select n:count i by date from quote")
        self.assertEqual((["date", "n"], [2000, 2000]), (days.columns, days["n"].to_list()))
        rows = hdb.sync("{select[2] time,sym,bid from quote where date=x}", days["date"][0])
        self.assertEqual([pl.Datetime("ns"), pl.Categorical, pl.Float64], rows.dtypes)
        self.assertEqual(2, len(rows))


class SecuredKolaTest(SecuredTest):
    def test_it_logs_in(self):
        running = self.start_secured(CONFIG, users=True, tls=False)
        for process in PROCESSES:
            port = running.port(process)
            self.assertEqual(2, kola.Q("127.0.0.1", port, "client", PASSWORD).sync("1+1"))
            with self.assertRaises(kola.KolaAuthError):
                kola.Q("127.0.0.1", port, "client", "wrong").sync("1+1")
        rdb = kola.Q("127.0.0.1", running.port("rdb"), "reader", PASSWORD)
        stack.wait_until(lambda: self.may_read(rdb), what="tables in the rdb")
        with self.assertRaisesRegex(kola.KolaError, "access: reader may not query trade"):
            rdb.sync("count trade")

    @staticmethod
    def may_read(rdb):
        try:
            return rdb.sync("count quote") == 0
        except kola.KolaError:
            return False

    def test_it_logs_in_over_tls(self):
        running = self.start_secured(CONFIG, users=True, tls=True)
        for process in PROCESSES:
            port = running.port(process)
            # Nothing here trusts the certificate's issuer: kola encrypts, but does not verify whom it talks to.
            client = kola.Q("127.0.0.1", port, "client", PASSWORD, enable_tls=True, timeout=20)
            self.assertEqual(5, client.sync("2+3"))
            with self.assertRaises((kola.KolaAuthError, kola.KolaIOError)):
                kola.Q("127.0.0.1", port, "client", PASSWORD, timeout=20).sync("1+1")


if __name__ == "__main__":
    unittest.main()

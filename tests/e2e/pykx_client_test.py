#!/usr/bin/env python3
"""PyKX without a licence as a client: it reads tables, sees namespaces as contexts, gets errors, publishes, subscribes and
logs in, also over TLS. Run by run_clients_test.sh, which installs it."""

import asyncio
import os
import pathlib
import subprocess
import sys
import unittest

import numpy
import pandas
import pykx

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import stack  # noqa: E402
from tests.support.secured import PASSWORD, SecuredTest  # noqa: E402

CONFIG = "[tickerplant]\nbatch_ms = 10\n[[rdb]]\n"
TIME = numpy.datetime64("2020-03-09T14:30:00.123456789", "ns")


def trades():
    return pandas.DataFrame({
        "time": numpy.array([TIME] * 3), "sym": ["AIG", "BAC", "AIG"], "price": [101.5, 25.25, 101.75],
        "size": numpy.array([100, 200, 300], dtype="int32"), "stop": [False, True, False], "cond": [b"@", b"T", b" "],
        "ex": [b"N", b"Q", b"N"]})


class PykxTest(stack.StackTest):
    def setUp(self):
        super().setUp()
        self.stack = self.start_stack(CONFIG, "--date", "2020.03.09")
        self.client = pykx.SyncQConnection("127.0.0.1", self.stack.port("rdb"))
        self.addCleanup(self.client.close)

    def test_it_reads_a_table(self):
        table = self.client("([]sym:`a`b`a;size:1 2 3)")
        self.assertEqual({"sym": ["a", "b", "a"], "size": [1, 2, 3]}, table.py())
        self.assertEqual({"sym": ["a", "b"], "size": [4, 2]}, self.client("{0!select sum size by sym from x}", table).py())

    def test_a_namespace_is_a_context(self):
        self.assertIn("stats", dir(self.client.rdb))
        self.assertEqual(0, self.client.rdb.stats().py()["upds_refused"])
        self.assertEqual(b"0123456789", self.client.Q.n.py())

    def test_names_last_as_long_as_the_connection(self):
        self.client("half:{x%2};.mine.x:42")
        self.assertEqual(21.0, self.client("half .mine.x").py())
        with pykx.SyncQConnection("127.0.0.1", self.stack.port("rdb")) as other:
            with self.assertRaises(pykx.QError):
                other("half 1")

    def test_an_error_is_one(self):
        with self.assertRaisesRegex(pykx.QError, "type"):
            self.client("1+`a")

    def test_a_frame_is_published_received_and_queried(self):
        async def received():
            async with pykx.RawQConnection("127.0.0.1", self.stack.port("tickerplant")) as subscriber:
                table, empty = (await subscriber(".u.sub", "trade", "")).py()
                self.assertEqual(("trade", list(trades().columns)), (table, list(empty)))
                with pykx.SyncQConnection("127.0.0.1", self.stack.port("tickerplant"), no_ctx=True) as feed:
                    self.assertEqual(0, feed(".u.feed", "f", "instance").py()["trade"])
                    for _ in range(2):
                        feed(".u.updn", "f", 0, "trade", trades())
                    self.assertEqual(3, feed(".u.feed", "f").py()["trade"])
                return await asyncio.wait_for(subscriber.poll_recv_async(), 30)
        message, table, rows = asyncio.run(received())
        self.assertEqual(("upd", "trade"), (message.py(), table.py()))
        stack.wait_until(lambda: self.stack.count("trade") == 3, what="three trades")
        for found in (rows.pd(), self.client("select from trade").pd()):
            self.assertEqual(trades().to_dict("list"), found.astype({"cond": object, "ex": object}).to_dict("list"))
        self.assertEqual(trades()["size"].to_list(), self.client("select from trade").pa()["size"].to_pylist())

    def test_columns_are_lists_too(self):
        with pykx.SyncQConnection("127.0.0.1", self.stack.port("tickerplant"), no_ctx=True) as feed:
            columns = [trades()[name].to_numpy() for name in trades()]
            columns[1] = ["AIG", "BAC", "AIG"]  # PyKX sends it as a list of atoms.
            columns[5] = b"@T "
            feed(".u.upd", "trade", columns)
        stack.wait_until(lambda: self.stack.count("trade") == 3, what="three trades")
        self.assertEqual(["AIG", "BAC", "AIG"], self.client("exec sym from trade").py())


# PyKX reads the file of trusted issuers when it is imported.
OVER_TLS = """
import pykx, sys
with pykx.SyncQConnection("127.0.0.1", int(sys.argv[1]), username="client", password=sys.argv[2], tls=True) as client:
    print(client("2+3").py())
"""


class SecuredPykxTest(SecuredTest):
    def test_it_logs_in(self):
        running = self.start_secured(CONFIG, users=True, tls=False)
        port = running.port("rdb")
        with pykx.SyncQConnection("127.0.0.1", port, username="client", password=PASSWORD) as client:
            self.assertEqual(2, client("1+1").py())
        with self.assertRaisesRegex(pykx.PyKXException, "Authentication error"):
            pykx.SyncQConnection("127.0.0.1", port, username="client", password="wrong")
        with pykx.SyncQConnection("127.0.0.1", port, username="reader", password=PASSWORD, no_ctx=True) as reader:
            with self.assertRaisesRegex(pykx.QError, "access: reader may not query trade"):
                reader("count trade")

    def test_it_logs_in_over_tls(self):
        running = self.start_secured(CONFIG, users=True, tls=True)
        self.certificates.issue_root("other_ca")

        def run(ca):
            return subprocess.run([sys.executable, "-c", OVER_TLS, str(running.port("rdb")), PASSWORD],
                                  env={**os.environ, "SSL_CA_CERT_FILE": self.certificates.path(ca)}, capture_output=True,
                                  text=True, timeout=60, check=False)
        self.assertEqual("5\n", run("ca.pem").stdout)
        self.assertIn("Connection error", run("other_ca.pem").stderr)
        with self.assertRaises(pykx.PyKXException):
            pykx.SyncQConnection("127.0.0.1", running.port("rdb"), username="client", password=PASSWORD)


if __name__ == "__main__":
    unittest.main()

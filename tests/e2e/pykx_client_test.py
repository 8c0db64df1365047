#!/usr/bin/env python3
"""PyKX without a licence as a client: it reads tables, sees namespaces as contexts, and gets errors. Run by
run_clients_test.sh, which installs it."""

import pathlib
import sys
import unittest

import pykx

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import stack  # noqa: E402


class PykxTest(stack.StackTest):
    def setUp(self):
        super().setUp()
        self.stack = self.start_stack("[tickerplant]\nbatch_ms = 10\n[[rdb]]\n", "--date", "2020.03.09")
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


if __name__ == "__main__":
    unittest.main()

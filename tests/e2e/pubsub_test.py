#!/usr/bin/env python3
"""Any client of kdb+'s protocol can be a feed or a subscriber."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kdb_ipc, lean_archives, stack  # noqa: E402
from tests.support.kdb_ipc import Table, Typed  # noqa: E402

DATE = "2020.03.09"
T = lean_archives.day_start_ns(DATE) + 16 * 3600 * 1_000_000_000

CONFIG = """
[tickerplant]
batch_ms = 10
[[rdb]]
"""


def trades(*symbols, price=1.5):
    """Returns columns of the classic trade table."""
    n = len(symbols)
    return [Typed("p", [T + i for i in range(n)]), list(symbols), [price] * n, Typed("i", [100] * n),
            Typed("b", [False] * n), b"@" * n, b"N" * n]


class PubSubTest(stack.StackTest):
    def setUp(self):
        super().setUp()
        self.stack = self.start_stack(CONFIG, "--date", DATE)

    def wait_for_trades(self, count):
        stack.wait_until(lambda: self.stack.count("trade") == count, 60, f"{count} trades")

    def test_rows_reach_the_rdb_and_every_subscriber(self):
        with self.stack.connect("tickerplant") as one, self.stack.connect("tickerplant") as two, \
                self.stack.connect("tickerplant") as feed:
            name, schema = one.call([b".u.sub", "trade", ""])
            self.assertEqual("trade", name)
            self.assertEqual(["time", "sym", "price", "size", "stop", "cond", "ex"], list(schema))
            two.call([".u.sub", "trade", ["B"]])
            feed.send([b".u.upd", "trade", trades("A", "B", "A")])

            function, table, rows = one.next_async()
            self.assertEqual(("upd", "trade"), (function, table))
            self.assertEqual(["A", "B", "A"], rows["sym"])
            self.assertEqual([T, T + 1, T + 2], rows["time"])
            self.assertEqual([1.5] * 3, rows["price"])
            _, _, rows = two.next_async()
            self.assertEqual(["B"], rows["sym"])
        self.wait_for_trades(3)

    def test_a_row_of_atoms_and_a_table_are_taken_too(self):
        with self.stack.connect("tickerplant") as feed:
            feed.call([b".u.upd", "trade",
                       [Typed("p", T), "A", 1.5, Typed("i", 100), False, Typed("c", b"@"), Typed("c", b"N")]])
            names = ["time", "sym", "price", "size", "stop", "cond", "ex"]
            feed.call([b".u.upd", "trade", Table(zip(names, trades("B", "C")))])
        self.wait_for_trades(3)

    def test_rows_without_a_time_are_stamped(self):
        with self.stack.connect("tickerplant") as feed:
            feed.call([b".u.upd", "trade", trades("A")[1:]])
        self.wait_for_trades(1)
        self.assertIsNotNone(self.stack.ask("rdb", "exec first time from trade"))

    def test_what_does_not_fit_is_an_error_to_the_sender_only(self):
        with self.stack.connect("tickerplant") as feed:
            for wrong in (trades("A")[:3], trades("A")[:-1] + [[1.0]], trades("A", "B")[:-1] + [b"N"],
                          b"text", 5, Table()):
                with self.subTest(wrong=wrong), self.assertRaises(kdb_ipc.QError):
                    feed.call([b".u.upd", "trade", wrong])
            with self.assertRaises(kdb_ipc.QError):
                feed.call([b".u.upd", "nobody", trades("A")])
            feed.call([b".u.upd", "trade", trades("A")])
        self.wait_for_trades(1)

    def test_the_requests_that_kdb_tick_sends_are_answered(self):
        with self.stack.connect("tickerplant") as client:
            schemas, position = client.call("(.u.sub[`;`];.u `i`L)")
            self.assertEqual({"trade", "quote"}, {name for name, _ in schemas})
            self.assertEqual(0, position[0])
            self.assertTrue(position[1].endswith(f"sym{DATE}"), position)
            self.assertEqual(0, client.call(".u.i"))
            self.assertEqual(2, client.call("1+1"))
            with self.assertRaises(kdb_ipc.QError):
                client.call([b".u.sub", "nobody", ""])
            for table, symbols, said in (("trade", b"IBM", 'for all; found the text "IBM", which is a symbol as `IBM'),
                                         ("trade", 5, "symbols are a symbol, a list of symbols, or ` for all; found the atom of type"),
                                         ("trade", [1, 2], "for all; found a list of type"),
                                         (b"trade", "", 'table is a symbol, a list of symbols, or ` for all; found the text "trade"'),
                                         (5, "", "found the atom of type")):
                with self.subTest(table=table, symbols=symbols), self.assertRaises(kdb_ipc.QError) as raised:
                    client.call([b".u.sub", table, symbols])
                self.assertTrue(str(raised.exception).startswith("type: .u.sub[table;symbols]: "), raised.exception)
                self.assertIn(said, str(raised.exception))

    def test_the_rdb_answers_in_the_types_of_q(self):
        with self.stack.connect("tickerplant") as feed:
            feed.call([b".u.upd", "trade", trades("A", "B", "A")])
        self.wait_for_trades(3)
        with self.stack.connect("rdb") as rdb:
            self.assertEqual({"quote", "trade"}, set(rdb.call("tables[]")))
            self.assertEqual(["A", "A"], rdb.call("select from trade where sym=`A")["sym"])
            self.assertEqual(1.5, rdb.call("exec max price from trade"))
            with self.assertRaises(kdb_ipc.QError) as caught:
                rdb.call("system \"ls\"")
            self.assertIn("nyi", caught.exception.args[0])


if __name__ == "__main__":
    stack.main()

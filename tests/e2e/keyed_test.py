#!/usr/bin/env python3
"""A keyed table: a client publishes upserts through the tickerplant, and the rdb has the last row of each key,
whatever was killed meanwhile."""

import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kdb_ipc, stack  # noqa: E402
from tests.support.kdb_ipc import KeyedTable, Table, Typed  # noqa: E402

CONFIG = """
[tables]
trade = "time p, sym s, price f"
bars = "sym s, minute p | high f, trades j"
[tickerplant]
batch_ms = 5
[[rdb]]
"""
KEYS, NAMES = ["sym", "minute"], ["sym", "minute", "high", "trades"]


def columns(rows):
    sym, minute, high, trades = zip(*rows)
    return [list(sym), Typed("p", list(minute)), list(high), list(trades)]


def upd(rows, form):
    """Returns the rows of an upd in one of the forms that feeds send."""
    if form == "row":
        sym, minute, high, trades = rows[0]
        return [sym, Typed("p", minute), high, trades]
    if form == "table":
        return Table(zip(NAMES, columns(rows)))
    if form == "keyed":
        values = columns(rows)
        return KeyedTable(Table(zip(KEYS, values[:2])), Table(zip(NAMES[2:], values[2:])))
    return columns(rows)


class KeyedTest(stack.StackTest):
    def setUp(self):
        super().setUp()
        self.random = random.Random(4)
        self.bars = {}  # By key, in order of arrival.
        self.stack = self.start_stack(CONFIG, "--date", "2020.03.09")

    def publish(self, feed, batches):
        for batch in range(batches):
            form = self.random.choice(("columns", "columns", "row", "table", "keyed"))
            rows = []
            for _ in range(1 if form == "row" else self.random.randrange(1, 60)):
                key = (f"s{self.random.randrange(40)}", 60_000_000_000 * self.random.randrange(30))
                self.bars[key] = (float(self.random.randrange(1000)), batch)
                rows.append((*key, *self.bars[key]))
            feed.send([b".u.upd", "bars", upd(rows, form)])

    def rows_of(self, name="rdb"):
        """Returns the rows; None while the rdb is starting."""
        try:
            table = self.stack.ask(name, "select from bars")
        except (OSError, kdb_ipc.Closed, kdb_ipc.QError):
            return None
        return list(zip(*(table[name] for name in NAMES)))

    def check(self):
        expected = [(*key, *row) for key, row in self.bars.items()]
        stack.wait_until(lambda: self.rows_of() == expected, 60, f"{len(expected)} bars as they were published")

    def test_every_key_has_its_last_row_after_kills(self):
        with self.stack.connect("tickerplant") as feed:
            self.publish(feed, 100)
            self.check()
            self.stack.kill("rdb")
            self.check()
            self.publish(feed, 100)
            self.stack.kill("rdb")
            self.publish(feed, 100)
            self.check()
        self.assertEqual(99, self.stack.ask("rdb", "type bars"))
        self.assertEqual(KEYS, self.stack.ask("rdb", "keys bars"))
        self.assertEqual(len(self.bars), self.stack.ask("rdb", "count bars"))
        high = max(row[0] for key, row in self.bars.items() if key[0] == "s7")
        self.assertEqual(high, self.stack.ask("rdb", "exec max high from bars where sym=`s7"))
        parts = self.stack.ask("rdb", ".tier.of[]")
        of_bars = [part for table, part in zip(parts["table"], parts["column"]) if table == "bars"]
        self.assertEqual(NAMES + ["index"], of_bars)
        self.assertEqual(0, self.stack.stop(), self.stack.log_text())

    def test_a_subscriber_sees_a_keyed_schema_and_rows(self):
        with self.stack.connect("tickerplant") as subscriber, self.stack.connect("tickerplant") as feed:
            self.assertEqual(["bars", Table({name: [] for name in NAMES})],
                             subscriber.call([b".u.sub", "bars", ["A"]]))
            self.assertEqual(KEYS, subscriber.call("keys bars"))
            feed.send([b".u.upd", "bars", upd([("A", 0, 1.5, 1), ("B", 0, 2.5, 1)], "keyed")])
            self.assertEqual(["upd", "bars", Table(sym=["A"], minute=[0], high=[1.5], trades=[1])],
                             subscriber.next_async())

    def test_the_example_publishes_two_bars_a_thousand_times(self):
        example = stack.ROOT / "examples" / "bars.toml"
        lines = example.read_text(encoding="utf-8").splitlines()
        program = "\n".join(line[4:] for line in lines if line.startswith("#   "))
        running = self.start_stack(example.read_text(encoding="utf-8"), "--date", "2020.03.09", name="example")
        for old, new in (("5010", str(running.port("tickerplant"))), ("time.sleep(0.01)", "pass")):
            self.assertIn(old, program)
            program = program.replace(old, new)
        exec(program, {})  # What a reader would paste.  # pylint: disable=exec-used
        stack.wait_until(lambda: running.count("bars") == 2, 60, "the bars")
        stack.wait_until(lambda: running.ask("rdb", "exec max volume from bars") == 99_900, 60, "the last upsert")
        self.assertEqual(Table(sym=["IBM", "AIG"], minute=[0, 0], high=[1179.0, 50.0], low=[1179.0, 40.01],
                               volume=[99_900, 9_990]), running.ask("rdb", "select from bars"))
        self.assertEqual(KEYS, running.ask("rdb", "keys bars"))


if __name__ == "__main__":
    stack.main()

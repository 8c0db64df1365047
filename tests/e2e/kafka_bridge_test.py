#!/usr/bin/env python3
"""Rows through a real Kafka broker to a second site, while bridges and the broker are killed.

Afterwards the second site has each row once, and the rows of each symbol in the same order.

TICKSTACK_KILLS is the number of kills (default 12), TICKSTACK_SEED chooses them.
"""

import json
import os
import pathlib
import random
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kafka_broker, lean_archives, stack  # noqa: E402
from tests.support.kdb_ipc import Typed  # noqa: E402

KILLS = int(os.environ.get("TICKSTACK_KILLS", "12"))
SEED = int(os.environ.get("TICKSTACK_SEED", "7"))
DATE = "2013.10.07"
SYMBOLS = ("AIG", "BAC", "IBM")
QUOTES, TRADES = 1_665_857, 137_816

TO_KAFKA = """
[[bridge]]
name = "to_kafka"
direction = "to-kafka"
brokers = "{brokers}"
prefix = "{prefix}"
partitions = 4
{more}
"""
FROM_KAFKA = """
[tickerplant]
batch_ms = 10
[[rdb]]
[[bridge]]
name = "from_kafka"
direction = "from-kafka"
brokers = "{brokers}"
prefix = "{prefix}"
{more}
"""
SMALL = """
[tables]
trade = "time p, sym s, price f, note *"
[tickerplant]
batch_ms = 5
[[rdb]]
"""
OPEN = 434_451_600_000_000_000  # 2013.10.07D09:40:00


def rows_of(numbers):
    return [Typed("p", [OPEN + number for number in numbers]), [f"S{number % 7}" for number in numbers],
            [float(number) for number in numbers], [f"n{number}" for number in numbers]]


class KafkaBridgeTest(stack.StackTest):
    def setUp(self):
        super().setUp()
        if kafka_broker.jars() is None:
            raise unittest.SkipTest("no TICKSTACK_KAFKA_JARS")
        self.broker = kafka_broker.Broker(self.folder / "kafka").start()
        self.addCleanup(self.broker.destroy)

    def to_kafka(self, prefix, more=""):
        return TO_KAFKA.format(brokers=self.broker.address, prefix=prefix, more=more)

    def from_kafka(self, prefix, more=""):
        return FROM_KAFKA.format(brokers=self.broker.address, prefix=prefix, more=more)

    def stats(self, running, bridge):
        return running.ask(bridge, ".bridge.stats[]")

    def compare(self, here, there, table, symbols):
        for symbol in symbols:
            where = f"from {table} where sym=`{symbol}"
            columns = here.ask("rdb", f"cols {table}")
            for column in columns:
                with self.subTest(table=table, symbol=symbol, column=column):
                    query = f"exec {column} {where}"
                    # As text: a null is equal to another null.
                    self.assertEqual(repr(here.ask("rdb", query)), repr(there.ask("rdb", query)))

    def test_real_ticks_arrive_once_and_in_order_though_everything_is_killed(self):
        path = self.fixture("lean-ticks")
        config = lean_archives.STACK.format(path=path).partition("[monitor]")[0]
        there = self.start_stack(self.from_kafka("ticks"), "--date", DATE, name="there")
        here = self.start_stack(config + "start = true\n" + self.to_kafka("ticks", "batch_bytes = 200_000"),
                                "--date", DATE, name="here")
        chance = random.Random(SEED)
        print(f"seed {SEED}", file=sys.stderr)
        for number in range(KILLS):
            time.sleep(chance.uniform(0.2, 2.5))
            victim = ("to_kafka", "broker", "from_kafka")[number % 3]
            print(f"kill {number}: {victim}; here {here.count('quote')} there {there.count('quote')}",
                  file=sys.stderr)
            if victim == "broker":
                self.broker.kill()
                time.sleep(chance.uniform(0, 1))
                self.broker.start()
            elif victim == "to_kafka":
                here.kill(victim)
            else:
                there.kill(victim)
        stack.wait_until(lambda: there.count("quote") >= QUOTES and there.count("trade") >= TRADES, 240,
                         f"all rows there: {self.stats(here, 'to_kafka')} {self.stats(there, 'from_kafka')}")
        time.sleep(1)
        self.assertEqual((QUOTES, TRADES), (here.count("quote"), here.count("trade")))
        self.assertEqual((QUOTES, TRADES), (there.count("quote"), there.count("trade")))
        for table in ("quote", "trade"):
            self.compare(here, there, table, SYMBOLS)

    def test_rows_days_and_restarts(self):
        here = self.start_stack(SMALL + self.to_kafka("small"), name="here")
        there = self.start_stack("[tables]\ntrade = \"time p, sym s, price f, note *\"\n" + self.from_kafka("small"),
                                 name="there")
        sent = 0

        def send(count):
            nonlocal sent
            with here.connect("tickerplant") as tickerplant:
                tickerplant.call([".u.upd", "trade", rows_of(range(sent, sent + count))])
            sent += count

        send(100)
        stack.wait_until(lambda: there.count("trade") == sent, what="the first rows")
        # Rows come while the bridge is not there, and the day ends.
        pid = here.pid("to_kafka")
        os.kill(pid, 19)  # SIGSTOP
        send(50)
        here.ask("tickerplant", ".u.end[]")
        send(25)
        os.kill(pid, 9)
        stack.wait_until(lambda: there.count("trade") == sent, 60, "rows of both days")
        here.kill("to_kafka")
        send(10)
        stack.wait_until(lambda: there.count("trade") == sent, 60, "rows after a restart")
        there.kill("from_kafka")
        there.kill("tickerplant")
        send(10)
        stack.wait_until(lambda: there.count("trade") == sent, 60, "rows after the other site's restart")
        prices = there.ask("rdb", "exec price from trade where sym=`S3")
        self.assertEqual([float(n) for n in range(sent) if n % 7 == 3], list(prices))
        notes = there.ask("rdb", "exec note from trade where sym=`S3")
        self.assertEqual([f"n{n}" for n in range(sent) if n % 7 == 3],
                         [note if isinstance(note, str) else note.decode() for note in notes])
        self.assertGreaterEqual(self.stats(there, "from_kafka")["days_ended"], 0)


if __name__ == "__main__":
    stack.main()

#!/usr/bin/env python3
"""docs/protocol.md is correct: its worked example byte by byte, and each message of its tables from its bytes."""

import pathlib
import re
import socket
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kdb_ipc, lean_archives, stack  # noqa: E402
from tests.support.kdb_ipc import QError, Typed  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/protocol.md").read_text(encoding="utf-8")
HEADER = (ROOT / "wire/protocol.h").read_text(encoding="utf-8")
DATE = "2013.10.07"
NINE_THIRTY = lean_archives.day_start_ns(DATE) + 34_200 * 1_000_000_000
CONFIG = """
[tables]
trade = "time p, sym s, price f"
[tickerplant]
batch_ms = 0
"""
BATCHED = CONFIG.replace("batch_ms = 0", "batch_ms = 60000\nbatch_bytes = \"1MiB\"")


def worked_example():
    """Returns (sender, bytes) of each message in the page's block."""
    messages = []
    for line in re.search(r"```hex\n(.*?)```", PAGE, re.S)[1].splitlines():
        who, data = line[:7].strip(), bytes.fromhex(line[7:])
        if who:
            messages.append((who, data))
        else:
            messages[-1] = (messages[-1][0], messages[-1][1] + data)
    return messages


def row(price, at=NINE_THIRTY):
    return [Typed("p", [at]), ["AIG"], [price]]


class ProtocolTest(stack.StackTest):
    def start(self, config=CONFIG):
        self.stack = self.start_stack(config, "--date", DATE)
        return self.stack.connect("tickerplant", user="ann")

    def test_the_page_and_the_header_have_the_same_names(self):
        names = set(re.findall(r'"(\.u\.\w+)"', HEADER))
        self.assertEqual(set(), {name for name in names if name not in PAGE})
        told = set(re.findall(r"\.u\.\w+", PAGE))
        self.assertEqual(set(), told - names)

    def test_the_worked_example(self):
        with self.start():
            pass
        with socket.create_connection(("127.0.0.1", self.stack.port("tickerplant")), 30) as client:
            for who, data in worked_example():
                if who == "client":
                    client.sendall(data)
                    continue
                received = b""
                while len(received) < len(data):
                    part = client.recv(len(data) - len(received))
                    self.assertNotEqual(b"", part)
                    received += part
                self.assertEqual(data.hex(" "), received.hex(" "))

    def test_rows_from_feeds(self):
        with self.start() as feed, self.stack.connect("tickerplant") as other:
            self.assertIsNone(feed.call([".u.upd", "trade", row(1.0)]))
            self.assertIsNone(feed.call(["upd", "trade", row(2.0)]))
            self.assertEqual({"trade": 0}, feed.call([b".u.feed", "F", "one"]))
            self.assertIsNone(feed.call([".u.updn", "F", 0, "trade", row(3.0)]))
            self.assertIsNone(feed.call([".u.updn", "F", 0, "trade", row(3.0)]))  # Dropped.
            self.assertEqual({"trade": 1}, other.call([b".u.feed", "F"]))
            self.assertEqual(["F"], other.call(b".u.feeds[]")["name"])
            for wrong, error in (([".u.upd", "nobody", row(1.0)], "nobody"), ([".u.upd", "trade", row(1.0)[:1]], "length"),
                                 ([".u.updn", "F", 9, "trade", row(1.0)], "gap"), ([b".u.feed", "F", "two"], "held")):
                with self.assertRaisesRegex(QError, "^" + error):
                    (other if error == "held" else feed).call(wrong)
            feed.send([".u.updn", "F", 9, "trade", row(1.0)])
            name, text = feed.next_async()
            self.assertEqual((".u.err", b"gap"), (name, text[:3]))
            self.assertEqual({"trade": 1}, other.call([b".u.feed", "F", "two", "takeover"]))
            name, text = feed.next_async()
            self.assertEqual((".u.err", b"taken"), (name, text[:5]))
            self.assertIsNone(feed.call([b".u.window", 1000]))
            with self.assertRaisesRegex(QError, "^type"):
                feed.call([b".u.window", -1])
            self.assertEqual(3, other.call(b".u.j"))

    def test_a_wrong_number_of_arguments_is_an_error(self):
        with self.start() as client:
            for call in (".u.upd[`trade]", ".u.updn[`F;0;`trade]", ".u.sub[`trade]", ".u.subx[`;`;`ahead;1]", ".u.feed[`F;`a;`takeover;1]",
                         ".u.feeds[1;2]", ".u.window[1;2]", ".u.log[0]", ".u.logs[1;2]", ".u.chain[2013.10.07;0]", ".u.upstream[1;2]", ".u.replica[1;2]", ".u.alive[1;2]", ".u.replicate[`a]", ".u.acked[1]", ".u.end[1;2]", ".u.endofday[1;2]", ".u.closer[`a;`b]", ".u.closed[`a]", ".u.stats[1;2]", ".u.activity[1;2]"):
                with self.assertRaisesRegex(QError, "^rank", msg=call):
                    client.call(call.encode())

    def test_subscriptions_and_the_log(self):
        with self.start() as one, self.stack.connect("tickerplant") as numbered, self.stack.connect("tickerplant") as feed:
            feed.call([".u.upd", "trade", row(1.0)])
            name, schema = one.call([".u.sub", "trade", ""])
            self.assertEqual(("trade", ["time", "sym", "price"]), (name, list(schema)))
            schemas, i, path = numbered.call([b".u.subx", "", ""])
            self.assertEqual(("trade", 1, ":"), (schemas[0][0], i, path[:1]))
            feed.call([".u.upd", "trade", row(2.0)])
            self.assertEqual(["upd", "trade"], one.next_async()[:2])
            *_, rows, n = numbered.next_async()
            self.assertEqual(([2.0], 2), (rows["price"], n))
            data = numbered.call([b".u.log", 0, 1])
            self.assertEqual(["upd", "trade"], kdb_ipc.decode(bytes(data))[:2])
            self.assertEqual(data, numbered.call([b".u.log", 0, 1, path]))
            self.assertEqual([], list(numbered.call([b".u.log", 2, 1])))
            self.assertEqual([], list(numbered.call(b".u.cuts")))
            logs = numbered.call([b".u.logs", None])
            self.assertEqual((1, [path]), (len(logs["date"]), list(logs["path"])))
            part, messages, following, cuts = numbered.call([b".u.chain", Typed("d", logs["date"][0]), 0, 1])
            self.assertEqual((data, 2, []), (part, messages, list(cuts)))
            self.assertIsNone(following)
            with self.assertRaisesRegex(QError, "^upstream"):
                numbered.call(b".u.upstream[]")
            with self.assertRaisesRegex(QError, "^replica:"):
                numbered.call(b".u.replica[]")
            for standby in ([b".u.replicate", "b", 1, Typed("d", logs["date"][0]), Typed("j", []), Typed("j", [])],
                            [b".u.acked", 1, Typed("d", logs["date"][0]), 0]):
                with self.assertRaisesRegex(QError, "^replicate: this tickerplant leads no standbys"):
                    numbered.call(standby)
            self.assertEqual(1, numbered.call(b".u.protocol"))

    def test_eager_subscribers_are_ahead_of_the_batch(self):
        with self.start(BATCHED) as eager, self.stack.connect("tickerplant") as feed, \
                self.stack.connect("tickerplant") as patient:
            patient.call([".u.sub", "", ""])
            schemas, i, _, (interval, following) = eager.call([b".u.subx", "", "", "ahead"])
            self.assertEqual((0, 60_000_000_000), (i, interval))
            self.assertGreater(following, 0)
            feed.call([".u.upd", "trade", row(1.0)])
            *_, rows, n = eager.next_async()
            self.assertEqual(([1.0], -1), (rows["price"], n))
            many = 60_000  # More than batch_bytes.
            feed.call([".u.upd", "trade", [Typed("p", [NINE_THIRTY] * many), ["AIG"] * many, [1.0] * many]])
            received = 0
            while received < many:
                *_, rows, n = eager.next_async()
                received += len(rows["price"])
            self.assertEqual((many, -1), (received, n))
            received = 0
            while received < many + 1:
                _, _, rows = patient.next_async()
                received += len(rows["price"])
            self.assertEqual(many + 1, received, "a large batch leaves before the timer")

    def test_the_end_of_a_day(self):
        with self.start() as closer, self.stack.connect("tickerplant") as subscriber, \
                self.stack.connect("tickerplant", user="bars") as feed, self.stack.connect("tickerplant") as second:
            closer.call([b".u.closer", "bars"])
            second.call([b".u.closer", "bars"])
            subscriber.call([".u.sub", "", ""])
            feed.send([b".u.endofday"])
            name, date = closer.next_async()
            self.assertEqual(".u.closing", name)
            # A login with the closer's name is not the closer: its rows wait for the next day.
            feed.send([".u.upd", "trade", row(9.0)])
            self.assertEqual([".u.closing", date], second.next_async())
            second.call([".u.upd", "trade", row(1.0)])
            self.assertEqual([1.0], subscriber.next_async()[2]["price"])
            with self.assertRaisesRegex(QError, "^closer"):
                closer.call([b".u.closed", "other", Typed("d", date)])
            closer.send([b".u.closed", "bars", Typed("d", date)])
            self.assertEqual([".u.end", date], subscriber.next_async())
            self.assertEqual([9.0], subscriber.next_async()[2]["price"])
            self.assertEqual(1, feed.call(b".u.j"))

    def test_values_of_the_tickerplant(self):
        with self.start() as client:
            client.call([".u.sub", "trade", ["AIG"]])
            client.call([".u.upd", "trade", row(1.0)])
            for name, expected in ((".u.i", 1), (".u.j", 1), (".u.l", 1), (".u.t", ["trade"])):
                self.assertEqual(expected, client.call(name.encode()), name)
            self.assertRegex(client.call(b".u.L"), r"^:.*sym2013\.10\.07$")
            self.assertEqual(client.call(b".u.d"), client.call(DATE.encode()))
            self.assertEqual("AIG", client.call(b".u.w")["trade"][0][1][0])
            self.assertEqual(["time", "sym", "price"], list(client.call(b"trade")))
            self.assertEqual(1, client.call(b".u.stats[]")["upds"])
            self.assertEqual({"trade": 1}, client.call(b".u.activity[]")["rows"])


if __name__ == "__main__":
    stack.main()

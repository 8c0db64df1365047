#!/usr/bin/env python3
"""Rows through real Kafka brokers, one or three, to a second site, while bridges and brokers are killed and stopped.

Afterwards the second site has each row once, and the rows of each symbol in the same order.

TICKSTACK_KILLS is the number of kills with one broker (default 12), TICKSTACK_SEED chooses when to kill.
"""

import datetime
import io
import json
import math
import os
import pathlib
import random
import re
import signal
import sys
import time
import unittest
import urllib.error
import urllib.request
import uuid

try:
    import confluent_kafka
    import fastavro
except ImportError:
    confluent_kafka = fastavro = None

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kafka_broker, kdb_ipc, lean_archives, stack  # noqa: E402
from tests.support.kdb_ipc import Typed  # noqa: E402

KILLS = int(os.environ.get("TICKSTACK_KILLS", "12"))
SEED = int(os.environ.get("TICKSTACK_SEED", "7"))
DATE = "2013.10.07"
LONGEST_TRANSACTION = 60  # Seconds: kTransactionMs in bridge/topic_writer.cc.
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
SHARDS = """
[[shard]]
name = "a"
symbols = ["AIG"]
[[shard]]
name = "b"
symbols = ["BAC", "IBM"]
[[shard]]
name = "c"
"""
SMALL = """
[tables]
trade = "time p, sym s, price f, note *"
[tickerplant]
batch_ms = 5
[[rdb]]
"""
OPEN = 434_451_600_000_000_000  # 2013.10.07D09:40:00
FROM_1970 = 946_684_800_000_000_000  # ns from 1970 to 2000.
EVERYTHING = ("p p, s s, b b, g g, x x, h h, w i, j j, e e, f f, c c, m m, d d, z z, n n, u u, v v, t t, "
              "note *")  # Columns of every type, most of them with the type's letter as their name.
UNICODE_ESCAPE = re.compile("[\U0010ff80-\U0010ffff]")  # A byte that was no UTF-8.


def rows_of(numbers):
    return [Typed("p", [OPEN + number for number in numbers]), [f"S{number % 7}" for number in numbers],
            [float(number) for number in numbers], [f"n{number}" for number in numbers]]


class BridgeTest(stack.StackTest):
    def setUp(self):
        super().setUp()
        if kafka_broker.jars() is None:
            raise unittest.SkipTest("no TICKSTACK_KAFKA_JARS")
        self.broker = self.make_broker(self.folder / "kafka")
        self.addCleanup(self.broker.destroy)
        self.broker.start()

    def to_kafka(self, prefix, more=""):
        return TO_KAFKA.format(brokers=self.broker.address, prefix=prefix, more=more)

    def from_kafka(self, prefix, more=""):
        return FROM_KAFKA.format(brokers=self.broker.address, prefix=prefix, more=more)

    def stats(self, running, bridge):
        return running.ask(bridge, ".bridge.stats[]")

    def wait_for_ticks(self, here, there, seconds):
        stack.wait_until(lambda: there.count("quote") >= QUOTES and there.count("trade") >= TRADES, seconds,
                         f"all rows there: {self.stats(here, 'to_kafka')} {self.stats(there, 'from_kafka')}")
        time.sleep(1)
        for site in (here, there):
            self.assertEqual((QUOTES, TRADES), (site.count("quote"), site.count("trade")))
        for table in ("quote", "trade"):
            self.compare(here, there, table, SYMBOLS)

    def compare(self, here, there, table, symbols, rdb="rdb"):
        """Compares the bytes of the answers, so that a null is equal to another null."""
        for symbol in symbols:
            with self.subTest(table=table, symbol=symbol):
                query = f"select from {table} where sym=`{symbol}"
                with here.connect("rdb") as one, there.connect(rdb) as other:
                    rows = one.call_for_bytes(query)
                    self.assertGreater(len(rows), 1000)
                    # Not assertEqual, which would print them.
                    self.assertTrue(rows == other.call_for_bytes(query), "the bytes of the rows differ")

    # ---- single bridges

    def start_bridge(self, running, direction, prefix, *flags):
        """Starts a bridge beside a stack; returns its port and process."""
        return self.start_process("bridge", "--tickerplant", f"127.0.0.1:{running.port('tickerplant')}",
                                  "--direction", direction, "--brokers", self.broker.address, "--prefix", prefix,
                                  "--data", str(self.folder / "bridges"), *flags)

    def state(self, port):
        try:
            with kdb_ipc.Connection(port) as connection:
                return connection.call(".bridge.stats[]")
        except (OSError, kdb_ipc.Closed):
            return {"state": "", "error": b"", "rows_written": 0}

    def wait_for_rows(self, port, rows):
        stack.wait_until(lambda: self.state(port)["rows_written"] >= rows, 60,
                         f"{rows} rows of the bridge: {self.state(port)}")

    def wait_for_error(self, port, text):
        stack.wait_until(lambda: text in str(self.state(port)["error"]), 60, f"an error with '{text}'")

    def send(self, running, numbers):
        with running.connect("tickerplant") as tickerplant:
            tickerplant.call([".u.upd", "trade", rows_of(numbers)])

    def readyz(self, port):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=10) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.read().decode()

    def metadata(self):
        consumer = confluent_kafka.Consumer({"bootstrap.servers": self.broker.address, "group.id": "topics"})
        try:
            return consumer.list_topics(timeout=30).topics
        finally:
            consumer.close()

    def topics(self, prefix):
        return sorted(name for name in self.metadata() if name.startswith(prefix))

    def partitions(self, topic):
        return len(self.metadata()[topic].partitions)

    def prices(self, running, symbol="S3"):
        return list(running.ask("rdb", f"exec price from trade where sym=`{symbol}"))

    def expected(self, numbers, symbol=3):
        return [float(number) for number in numbers if number % 7 == symbol]

    def end(self, process):
        process.kill()
        process.wait()


class KafkaBridgeTest(BridgeTest):
    def make_broker(self, folder):
        return kafka_broker.Broker(folder)

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
        self.wait_for_ticks(here, there, 240)

    def test_each_shard_gets_its_ticks_though_everything_is_killed(self):
        path = self.fixture("lean-ticks")
        config = lean_archives.STACK.format(path=path).partition("[monitor]")[0]
        there = self.start_stack(SHARDS + self.from_kafka("shards"), "--date", DATE, name="there")
        here = self.start_stack(config + "start = true\n" + self.to_kafka("shards", "batch_bytes = 200_000"),
                                "--date", DATE, name="here")
        chance = random.Random(SEED)
        print(f"seed {SEED}", file=sys.stderr)
        victims = ("from_kafka-a", "broker", "tickerplant-b", "from_kafka-c", "from_kafka-b", "rdb-a", "tickerplant-a")
        for number in range(KILLS):
            time.sleep(chance.uniform(0.2, 1.5))
            victim = victims[number % len(victims)]
            print(f"kill {number}: {victim}", file=sys.stderr)
            if victim == "broker":
                self.broker.kill()
                self.broker.start()
            else:
                there.kill(victim)

        rdbs = ("rdb-a", "rdb-b", "rdb-c")
        def rows(table):
            return [there.count(table, rdb) for rdb in rdbs]
        stack.wait_until(lambda: sum(rows("quote")) >= QUOTES and sum(rows("trade")) >= TRADES, 240, "all rows")
        stack.wait_until(lambda: self.stats(there, "from_kafka-c")["records_behind"] == 0, 60, "the end of the topics")
        time.sleep(1)
        for table, count in (("quote", QUOTES), ("trade", TRADES)):
            self.assertEqual(count, sum(rows(table)))
            self.assertEqual(0, rows(table)[2])
            self.compare(here, there, table, SYMBOLS[:1], "rdb-a")
            self.compare(here, there, table, SYMBOLS[1:], "rdb-b")

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

    def test_days_that_ended_without_the_bridge(self):
        """The rest of the first day, two whole days and the current one."""
        dates = ("2020.01.02", "2020.01.03", "2020.01.04", "2020.01.06")
        there = self.start_stack(SMALL, name="there")
        sent = 0
        for number, date in enumerate(dates):
            (self.folder / "here/ready.json").unlink(missing_ok=True)
            here = self.start_stack(SMALL, "--date", date, name="here")
            if number == 0:
                self.send(here, range(0, 40))
                port, process = self.start_bridge(here, "to-kafka", "days")
                self.wait_for_rows(port, 40)
                self.end(process)
                sent = 40
            self.send(here, range(sent, sent + 10))
            sent += 10
            if number + 1 < len(dates):
                self.assertEqual(0, here.stop())
        port, _ = self.start_bridge(here, "to-kafka", "days")
        self.wait_for_rows(port, sent - 40)
        far, _ = self.start_bridge(there, "from-kafka", "days")
        self.wait_for_rows(far, sent)
        self.assertEqual(self.expected(range(sent)), self.prices(there))
        self.assertEqual(3 * 4, self.state(far)["days_ended"])

    def test_a_day_that_ended_is_streamed_if_its_file_is_not_here(self):
        here = self.start_stack(SMALL, name="here")
        there = self.start_stack(SMALL, name="there")
        self.send(here, range(0, 40))
        port, process = self.start_bridge(here, "to-kafka", "stream", "--no-read-log-file")
        self.wait_for_rows(port, 40)
        self.end(process)
        self.send(here, range(40, 50))
        here.ask("tickerplant", ".u.end[]")
        self.send(here, range(50, 55))
        port, _ = self.start_bridge(here, "to-kafka", "stream", "--no-read-log-file")
        self.wait_for_rows(port, 15)
        far, _ = self.start_bridge(there, "from-kafka", "stream")
        self.wait_for_rows(far, 55)
        self.assertEqual(self.expected(range(55)), self.prices(there))

    def test_replay_from_an_offset_and_a_time(self):
        here = self.start_stack(SMALL, name="here")
        port, _ = self.start_bridge(here, "to-kafka", "replay", "--partitions", "1")
        for begin in range(0, 50, 10):
            if begin == 30:
                time.sleep(1.1)
                moment = time.gmtime()
                time.sleep(1.1)
            self.send(here, range(begin, begin + 10))
            self.wait_for_rows(port, begin + 10)
        at = time.strftime("%Y-%m-%dT%H:%M:%S", moment)
        for how, rows in (("beginning", range(0, 50)), (at, range(30, 50)), ("offset 2", range(10, 50))):
            with self.subTest(how=how):
                there = self.start_stack(SMALL, name=f"there-{rows.start}")
                name = f"replay{rows.start}"
                far, process = self.start_bridge(there, "from-kafka", "replay", "--from", how, "--name", name)
                self.wait_for_rows(far, len(rows))
                self.end(process)
                far, process = self.start_bridge(there, "from-kafka", "replay", "--from", "beginning", "--name", name)
                stack.wait_until(lambda: self.state(far)["state"] == "reading", 60, "the second start")
                time.sleep(1)
                self.assertEqual(self.expected(rows), self.prices(there))
                self.end(process)

    def test_errors_say_what_to_do(self):
        here = self.start_stack(SMALL, name="here")
        port, first = self.start_bridge(here, "to-kafka", "errors")
        self.send(here, range(0, 10))
        self.wait_for_rows(port, 10)
        stack.wait_until(lambda: self.readyz(port).startswith("ready"), 60, "readiness")
        self.broker.kill()
        self.send(here, range(10, 20))
        stack.wait_until(lambda: "kafka: commit" in self.readyz(port), 60, "a reason of readyz")
        self.broker.start()
        self.wait_for_rows(port, 20)
        stack.wait_until(lambda: self.readyz(port).startswith("ready"), 60, "readiness")
        # A second writer takes over, and the first one ends.
        other, _ = self.start_bridge(here, "to-kafka", "errors")
        stack.wait_until(lambda: self.state(other)["state"] == "subscribed", 60, "the second bridge")
        self.send(here, range(20, 30))
        self.wait_for_rows(other, 10)
        stack.wait_until(lambda: first.poll() is not None, 60,
                         f"the end of the first bridge: {first.log_path.read_text(encoding='utf-8')}")
        self.assertEqual(1, first.returncode)
        self.assertIn("another process (instance", first.log_path.read_text(encoding="utf-8"))
        # A second site with other columns.
        wrong = self.start_stack(SMALL.replace("price f", "price i"), name="wrong")
        far, _ = self.start_bridge(wrong, "from-kafka", "errors", "--name", "wrong")
        self.wait_for_error(far, "refused: errors.trade partition")
        self.assertIn("the bridge is failed", self.readyz(far))
        # Two bridges for the same partitions.
        there = self.start_stack(SMALL, name="there")
        far, process = self.start_bridge(there, "from-kafka", "errors", "--name", "one")
        self.wait_for_rows(far, 30)
        late, _ = self.start_bridge(there, "from-kafka", "errors", "--name", "two")
        self.wait_for_error(late, "held: feed kafka/")
        self.end(process)
        stack.wait_until(lambda: self.state(late)["state"] == "reading", 60, "the other bridge")
        self.send(here, range(30, 40))
        self.wait_for_rows(late, 10)
        self.assertEqual(self.expected(range(40)), self.prices(there))

    def test_rows_are_not_sent_again_when_the_positions_are_deleted(self):
        here = self.start_stack(SMALL, name="here")
        port, process = self.start_bridge(here, "to-kafka", "gone")
        self.send(here, range(0, 10))
        self.wait_for_rows(port, 10)
        self.end(process)
        self.broker.tool("org.apache.kafka.tools.TopicCommand", "--bootstrap-server", self.broker.address, "--delete",
                         "--topic", "gone.positions")
        port, _ = self.start_bridge(here, "to-kafka", "gone")
        self.wait_for_error(port, "topic gone.trade has rows, and gone.positions has no position after them")
        self.assertEqual(0, self.state(port)["rows_written"])

    def test_topics_are_created_before_there_are_rows(self):
        here = self.start_stack(SMALL, name="here")
        port, _ = self.start_bridge(here, "to-kafka", "early")
        topics = ["early.positions", "early.schemas", "early.trade"]
        stack.wait_until(lambda: self.topics("early.") == topics, 30, f"the topics: {self.state(port)}")
        self.assertEqual(4, self.partitions("early.trade"))
        stack.wait_until(lambda: self.readyz(port).startswith("ready"), 20, "readiness")
        self.send(here, range(0, 10))
        self.wait_for_rows(port, 10)

    def test_another_stack_with_the_prefix_is_refused(self):
        here = self.start_stack(SMALL, "--date", DATE, name="here")
        port, _ = self.start_bridge(here, "to-kafka", "shared")
        self.send(here, range(0, 10))
        self.wait_for_rows(port, 10)
        topics = self.topics("shared.")
        self.assertEqual(["shared.positions", "shared.schemas", "shared.trade"], topics)
        # It has a table more, which would need another topic.
        other = self.start_stack(SMALL.replace("[tables]", '[tables]\nquote = "time p, sym s"'), "--date", DATE,
                                 name="other")
        self.send(other, range(100, 110))
        late, _ = self.start_bridge(other, "to-kafka", "shared")
        self.wait_for_error(late, "is another log than")
        self.assertEqual(topics, self.topics("shared."))
        # The first one continues.
        self.send(here, range(10, 20))
        self.wait_for_rows(port, 20)
        there = self.start_stack(SMALL, name="there")
        far, _ = self.start_bridge(there, "from-kafka", "shared")
        self.wait_for_rows(far, 20)
        self.assertEqual(self.expected(range(20)), self.prices(there))

    def test_a_broker_is_away_for_longer_than_a_transaction_may_last(self):
        here = self.start_stack(SMALL, name="here")
        there = self.start_stack(SMALL, name="there")
        port, _ = self.start_bridge(here, "to-kafka", "away")
        far, _ = self.start_bridge(there, "from-kafka", "away")
        self.send(here, range(0, 10))
        self.wait_for_rows(far, 10)
        self.broker.kill()
        self.send(here, range(10, 20))
        time.sleep(LONGEST_TRANSACTION + 8)
        self.send(here, range(20, 30))
        self.broker.start()
        self.wait_for_rows(port, 30)
        self.wait_for_rows(far, 30)
        time.sleep(1)
        self.assertEqual(self.expected(range(30)), self.prices(there))

    def test_json_for_other_programs(self):
        here = self.start_stack(SMALL, name="here")
        port, _ = self.start_bridge(here, "to-kafka", "text", "--payload", "json", "--partitions", "1")
        self.send(here, range(0, 3))
        self.wait_for_rows(port, 3)
        printed = self.broker.tool(
            "org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", self.broker.address, "--topic",
            "text.trade", "--from-beginning", "--isolation-level", "read_committed", "--max-messages", "1",
            "--timeout-ms", "20000", "--property", "print.headers=true")
        headers, _, value = printed.strip().rpartition("\t")
        self.assertIn("first:0,rows:3,payload:json", headers)
        rows = json.loads(value)
        self.assertEqual([("S0", 0), ("S1", 1), ("S2", 2)], [(row["sym"], row["price"]) for row in rows])
        far, _ = self.start_bridge(self.start_stack(SMALL, name="there"), "from-kafka", "text")
        self.wait_for_error(far, "payload json: only ipc can be read back")


@unittest.skipIf(fastavro is None, "no fastavro and confluent_kafka: see run_kafka_test.sh")
class ConsumerTest(BridgeTest):
    """A consumer that knows nothing of q: it has a Kafka client, and a reader of Avro."""

    def make_broker(self, folder):
        return kafka_broker.Broker(folder)

    def read(self, topic, records):
        """Returns the first `records` committed records of a topic, those without a value left out."""
        consumer = confluent_kafka.Consumer({
            "bootstrap.servers": self.broker.address, "group.id": "consumer", "isolation.level": "read_committed",
            "enable.auto.commit": False, "auto.offset.reset": "earliest"})
        try:
            consumer.subscribe([topic])
            found, give_up = [], time.monotonic() + 30
            while len(found) < records and time.monotonic() < give_up:
                message = consumer.poll(0.1)
                if message is not None and message.error() is None and message.value() is not None:
                    found.append(message)
            self.assertEqual(records, len(found), f"records in {topic}")
            # Only what must not be there comes now.
            late = consumer.poll(1)
            self.assertTrue(late is None or late.value() is None)
            return found
        finally:
            consumer.close()

    def headers(self, message):
        return {name: value.decode() for name, value in message.headers()}

    def test_avro_rows_have_the_schema_of_their_subject(self):
        columns = dict(field.split(" ") for field in EVERYTHING.split(", "))
        here = self.start_stack(f'[tables]\neverything = "{EVERYTHING}"\n[tickerplant]\nbatch_ms = 5\n[[rdb]]\n', name="here")
        port, _ = self.start_bridge(here, "to-kafka", "avro", "--payload", "avro", "--partitions", "1")
        infinity, whole = math.inf, (1 << 15) - 1
        with here.connect("tickerplant") as tickerplant:
            tickerplant.call([".u.upd", "everything", [
                Typed("p", [OPEN + 1, None, (1 << 63) - 1]), ["IBM", "", "A\udce9"], Typed("b", [True, False, True]),
                Typed("g", [bytes(range(16)), bytes(16), bytes(range(16))]), Typed("x", [0, 255, 7]),
                Typed("h", [-5, None, whole]), Typed("i", [6, None, (1 << 31) - 1]), Typed("j", [-7, None, (1 << 63) - 1]),
                Typed("e", [0.25, math.nan, -infinity]), Typed("f", [0.1, math.nan, infinity]), Typed("c", "x y"),
                Typed("m", [165, None, 0]), Typed("d", [5028, None, -1]), Typed("z", [0.5, math.nan, -1.25]),
                Typed("n", [-1, None, 172_800_000_000_000]), Typed("u", [570, None, 5]), Typed("v", [-1, None, 34_200]),
                Typed("t", [34_200_123, None, 90_000_000]), [b"two words", b"", b"caf\xc3\xa9"]]])
        self.wait_for_rows(port, 3)
        (schema,) = self.read("avro.schemas", 1)
        (rows,) = self.read("avro.everything", 1)
        headers, described = self.headers(rows), json.loads(schema.value())
        self.assertEqual(("avro", "3"), (headers["payload"], headers["rows"]))
        self.assertEqual(f"avro.everything-value/{headers['schema']}", schema.key().decode())
        self.assertEqual(("avro.everything-value", headers["schema"], "everything"),
                         (described["subject"], described["schema"], described["table"]))
        self.assertEqual(columns, {column["name"]: column["type"] for column in described["columns"]})
        self.assertLessEqual(schema.timestamp()[1], rows.timestamp()[1])
        reader = fastavro.reader(io.BytesIO(rows.value()))
        self.assertEqual(described["avro"], json.loads(reader.metadata["avro.schema"]))
        found = list(reader)
        guid = uuid.UUID(bytes=bytes(range(16)))
        self.assertEqual([
            dict(zip(columns, (OPEN + 1 + FROM_1970, "IBM", True, guid, 0, -5, 6, -7, 0.25, 0.1, "x",
                               datetime.date(2013, 10, 1), datetime.date(2013, 10, 7),
                               datetime.datetime(2000, 1, 1, 12), -1, 570, -1, 34_200_123, "two words"))),
            dict(zip(columns, (None, None, False, None, 255, None, None, None, None, None, " ", None, None, None, None,
                               None, None, None, ""))),
            dict(zip(columns, (None, "A\U0010ffe9", True, guid, 7, whole, (1 << 31) - 1, (1 << 63) - 1, -infinity,
                               infinity, "y", datetime.date(2000, 1, 1), datetime.date(1999, 12, 31),
                               datetime.datetime(1999, 12, 30, 18), 172_800_000_000_000, 5, 34_200, 90_000_000, "caf\u00e9"))),
        ], found)
        self.assertEqual(b"A\xe9", UNICODE_ESCAPE.sub(lambda one: chr(0xdc00 + (ord(one[0]) & 0xff)),
                                                      found[2]["s"]).encode("utf-8", "surrogateescape"))

    def test_a_changed_table_has_another_schema_before_its_rows(self):
        one, two = "time p, sym s, price f", "time p, sym s, price f, size j"
        for number, (date, columns) in enumerate((("2020.01.02", one), ("2020.01.03", two))):
            (self.folder / "here/ready.json").unlink(missing_ok=True)
            here = self.start_stack(f'[tables]\ntrade = "{columns}"\n[tickerplant]\nbatch_ms = 5\n[[rdb]]\n', "--date", date,
                                    name="here")
            for life in range(2):
                port, process = self.start_bridge(here, "to-kafka", "changes", "--payload", "avro", "--partitions", "1")
                row = [Typed("p", [OPEN]), ["IBM"], [1.5], [100]][:3 + number]
                with here.connect("tickerplant") as tickerplant:
                    tickerplant.call([".u.upd", "trade", row])
                self.wait_for_rows(port, 1)
                self.end(process)
                self.assertEqual(2 * number + life + 1, len(self.read("changes.trade", 2 * number + life + 1)))
            self.assertEqual(0, here.stop())
        schemas = {message.key().decode(): message for message in self.read("changes.schemas", 2)}
        rows = self.read("changes.trade", 4)
        keys = [f"changes.trade-value/{self.headers(message)['schema']}" for message in rows]
        self.assertEqual(list(schemas), [keys[0], keys[2]])
        self.assertEqual((keys[0], keys[2]), (keys[1], keys[3]))
        for key, message in zip(keys, rows):
            self.assertLessEqual(schemas[key].timestamp()[1], message.timestamp()[1])
            reader = fastavro.reader(io.BytesIO(message.value()))
            self.assertEqual(json.loads(schemas[key].value())["avro"], json.loads(reader.metadata["avro.schema"]))
            self.assertEqual([100] if key == keys[2] else [], [row["size"] for row in reader if "size" in row])


class ThreeBrokersTest(BridgeTest):
    """Everything has three copies, and two make a write, so that any one broker may be lost."""

    def make_broker(self, folder):
        return kafka_broker.Cluster(folder)

    def test_real_ticks_arrive_once_and_in_order_though_each_broker_is_lost(self):
        path = self.fixture("lean-ticks")
        there = self.start_stack(self.from_kafka("ticks"), "--date", DATE, name="there")
        config = lean_archives.STACK.format(path=path).partition("[monitor]")[0]
        # About 2,000 transactions, so that rows flow all the time.
        here = self.start_stack(config + "start = true\n"
                                + self.to_kafka("ticks", "replication = 3\nbatch_bytes = 30_000"),
                                "--date", DATE, name="here")
        chance = random.Random(SEED)
        print(f"seed {SEED}", file=sys.stderr)
        begun = time.monotonic()
        stack.wait_until(lambda: there.count("quote") > 0, 60, "the first rows")
        self.check_copies("ticks.quote", "ticks.trade", "ticks.positions", "__transaction_state")
        losses = [(how, broker) for how in (self.lose_by_kill, self.lose_by_stop, self.lose_by_restart)
                  for broker in self.broker.brokers]
        for number, (lose, broker) in enumerate(losses):
            print(f"{time.monotonic() - begun:.1f} s: {lose.__name__} {number % 3 + 1}; here {here.count('quote')} "
                  f"there {there.count('quote')}", file=sys.stderr)
            self.assertLess(there.count("quote"), QUOTES, "rows must still flow: choose smaller transactions")

            def kill_a_bridge(one=number):
                time.sleep(chance.uniform(0, 1.5))
                here.kill("to_kafka") if one % 2 == 0 else there.kill("from_kafka")
                time.sleep(chance.uniform(0, 1.5))
            lose(broker, kill_a_bridge)
            before = there.count("quote")
            stack.wait_until(lambda rows=before: there.count("quote") > rows, 60, "rows after the loss")
        print(f"{time.monotonic() - begun:.1f} s: no more losses", file=sys.stderr)
        self.wait_for_ticks(here, there, 240)
        print(f"{time.monotonic() - begun:.1f} s: all rows; {self.stats(here, 'to_kafka')}", file=sys.stderr)

    def check_copies(self, *topics):
        described = self.broker.tool("org.apache.kafka.tools.TopicCommand", "--bootstrap-server", self.broker.address,
                                     "--describe")
        for topic in topics:
            line = next(line for line in described.splitlines() if line.startswith(f"Topic: {topic}\t"))
            self.assertIn("ReplicationFactor: 3", line)
            self.assertIn("min.insync.replicas=2", line)

    def lose_by_kill(self, broker, meanwhile):
        broker.kill()
        meanwhile()
        broker.start()

    def lose_by_stop(self, broker, meanwhile):
        """The others take its partitions over, and it does not know when it continues."""
        broker.process.send_signal(signal.SIGSTOP)
        time.sleep(4)
        meanwhile()
        broker.process.send_signal(signal.SIGCONT)

    def lose_by_restart(self, broker, meanwhile):
        broker.process.terminate()
        meanwhile()
        broker.process.wait(60)
        broker.start()


if __name__ == "__main__":
    stack.main()

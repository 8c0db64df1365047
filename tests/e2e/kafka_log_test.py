#!/usr/bin/env python3
"""Tickerplants whose log is a topic of a real Kafka: whichever member or broker dies, stops or is started again, no row
is lost that a feed was told is logged, none is there twice, and the logs of all members have the same bytes.

TICKSTACK_KILLS is the number of faults of the random test (default 10), TICKSTACK_SEED chooses them.
TICKSTACK_FAILOVERS is the number of failovers beside a bridge (default 4).
"""

import os
import pathlib
import random
import signal
import sys
import time
import unittest
import urllib.request

try:
    import confluent_kafka
except ImportError:
    confluent_kafka = None

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kafka_broker, kdb_ipc, stack  # noqa: E402
from tests.support.standby_cluster import Feed, are_equal, numbers_of  # noqa: E402

KILLS = int(os.environ.get("TICKSTACK_KILLS", "10"))
FAILOVERS = int(os.environ.get("TICKSTACK_FAILOVERS", "4"))
SEED = int(os.environ.get("TICKSTACK_SEED", str(random.randrange(1 << 31))))
DATE, NEXT = "2020.03.09", "2020.03.10"
MEMBERS = ("tickerplant", "second", "third")

STACK = """
[tables]
trade = "time n, sym s, price f, size j"
[tickerplant]
batch_ms = 5
log = "kafka:{brokers}/{topic}"
"""
STANDBYS = """
[[standby]]
name = "second"
port = 5031
batch_ms = 5
[[standby]]
name = "third"
port = 5032
batch_ms = 5
"""

BRIDGE = """
[[bridge]]
name = "to_kafka"
brokers = "{brokers}"
prefix = "{prefix}"
"""
FAR_SITE = """
[tables]
trade = "time n, sym s, price f, size j"
[tickerplant]
batch_ms = 5
[[rdb]]
[[bridge]]
name = "from_kafka"
direction = "from-kafka"
brokers = "{brokers}"
prefix = "{prefix}"
"""


class LogTest(stack.StackTest):
    def setUp(self):
        super().setUp()
        if kafka_broker.jars() is None:
            raise unittest.SkipTest("no TICKSTACK_KAFKA_JARS")
        self.broker = self.make_broker(self.folder / "kafka").start()
        self.addCleanup(self.broker.destroy)

    def make_broker(self, folder):
        return kafka_broker.Broker(folder)

    def start(self, more=STANDBYS, topic="desk.log", name="stack"):
        return self.start_stack(STACK.format(brokers=self.broker.address, topic=topic) + more, "--date", DATE, name=name)

    @staticmethod
    def replica(running, member):
        """The member's `.u.replica[]`; an empty one while it does not answer."""
        try:
            with kdb_ipc.Connection(running.port(member), timeout=1.0) as connection:
                return connection.call(".u.replica[]")
        except (OSError, kdb_ipc.Closed, kdb_ipc.QError):
            return {"role": "", "epoch": 0, "error": b""}

    def leader(self, running, members=MEMBERS):
        """The member that leads with the highest epoch, or None."""
        said = {member: self.replica(running, member) for member in members}
        leaders = [member for member in members if said[member]["role"] == "leader" and said[member]["settled"]]
        return max(leaders, key=lambda member: said[member]["epoch"]) if leaders else None

    def wait_for_leader(self, running, members=MEMBERS):
        stack.wait_until(lambda: self.leader(running, members) is not None, 60, "a leader")
        return self.leader(running, members)

    def start_feed(self, running, members=MEMBERS):
        feed = Feed(lambda: [("127.0.0.1", running.port(member)) for member in members])
        feed.start()
        self.addCleanup(feed.stop)
        stack.wait_until(lambda: feed.accepted > 50 or feed.error, 60, "rows")
        return feed

    def log_path(self, running, member, date=DATE):
        name = "sym" if member == "tickerplant" else member
        return running.data / "tplog" / f"{name}{date}"

    def check_logs(self, running, feed, date=DATE, first=0):
        """All logs have the same bytes, with each accepted row from `first` on once."""
        feed.stop()
        self.assertIsNone(feed.error)
        self.wait_for_leader(running)
        logs = [self.log_path(running, member, date) for member in MEMBERS]
        stack.wait_until(lambda: all(log.exists() for log in logs) and are_equal(logs), 60, "equal logs")
        numbers = numbers_of(logs[1])
        self.assertEqual(numbers, list(range(first, first + len(numbers))), "a row is missing or there twice")
        self.assertGreaterEqual(first + len(numbers), feed.accepted)

    def wait_for_rows(self, feed, what):
        accepted = feed.accepted
        stack.wait_until(lambda: feed.accepted > accepted + 100 or feed.error, 60, what)


class OneBrokerTest(LogTest):
    def test_a_killed_leader_is_replaced_without_a_loss(self):
        running = self.start()
        first = self.wait_for_leader(running)
        feed = self.start_feed(running)
        feed.longest = 0
        os.kill(running.pid(first), signal.SIGKILL)
        self.wait_for_rows(feed, "rows after the failover")
        print(f"killed leader: {feed.longest * 1e3:.0f} ms without an acknowledgement", flush=True)
        self.check_logs(running, feed)
        self.assertEqual(running.stop(), 0)

    def test_a_stopped_leader_is_replaced_and_learns_it(self):
        running = self.start()
        first = self.wait_for_leader(running)
        feed = self.start_feed(running)
        pid = running.pid(first)
        feed.longest = 0
        os.kill(pid, signal.SIGSTOP)
        try:
            self.wait_for_rows(feed, "rows after the failover")
        finally:
            os.kill(pid, signal.SIGCONT)
        print(f"stopped leader: {feed.longest * 1e3:.0f} ms without an acknowledgement", flush=True)
        stack.wait_until(lambda: running.pid(first) != pid, 60, "the old leader's end")
        self.check_logs(running, feed)

    def test_a_leader_that_stops_in_order_resigns(self):
        running = self.start()
        first = self.wait_for_leader(running)
        feed = self.start_feed(running)
        os.kill(running.pid(first), signal.SIGTERM)
        stack.wait_until(lambda: self.leader(running) is not None and self.replica(running, first)["role"] != "leader",
                         30, "another leader")
        self.wait_for_rows(feed, "rows after the failover")
        self.check_logs(running, feed)

    def test_rows_wait_while_kafka_is_away(self):
        running = self.start()
        first = self.wait_for_leader(running)
        feed = self.start_feed(running)
        self.broker.kill()
        stack.wait_until(lambda: "the topic has taken nothing" in str(self.replica(running, first)["error"]), 30,
                         "the leader's error")
        page = urllib.request.urlopen(f"http://127.0.0.1:{running.port(first)}/metrics", timeout=10).read().decode()
        self.assertIn("\ntickstack_tickerplant_replication_enough 0", page)
        self.assertRegex(page, r"\ntickstack_tickerplant_replication_silent_seconds [1-9]")
        accepted = feed.accepted
        time.sleep(1)
        self.assertLessEqual(feed.accepted, accepted + 2)
        self.broker.start()
        self.wait_for_rows(feed, "rows when Kafka is back")
        self.check_logs(running, feed)

    def test_a_lost_disk_is_written_again_from_the_topic(self):
        running = self.start()
        first = self.wait_for_leader(running)
        feed = self.start_feed(running)
        other = next(member for member in MEMBERS if member != first)
        os.kill(running.pid(other), signal.SIGSTOP)
        name = self.log_path(running, other).name[:-len(DATE)]
        for path in (running.data / "tplog").glob(f"{name}*"):
            path.unlink()
        os.kill(running.pid(other), signal.SIGKILL)
        self.wait_for_rows(feed, "more rows")
        stack.wait_until(lambda: self.log_path(running, other).exists(), 60, "the member's new log")
        self.check_logs(running, feed)

    def test_a_new_machine_has_everything(self):
        """One tickerplant, whose machine is lost: another one begins with nothing but the topic."""
        here = self.start(more="", name="here")
        self.wait_for_leader(here, ["tickerplant"])
        feed = self.start_feed(here, ["tickerplant"])
        self.wait_for_rows(feed, "rows")
        feed.stop()
        here.process.kill()  # The supervisor's children end with it.
        here.process.wait()
        there = self.start(more="[[rdb]]\n", name="there")
        self.wait_for_leader(there, ["tickerplant"])
        again = self.start_feed(there, ["tickerplant"])
        again.stop()
        self.assertGreater(again.accepted, feed.accepted)
        self.assertEqual(list(range(again.accepted)), numbers_of(self.log_path(there, "tickerplant"))[:again.accepted])
        stack.wait_until(lambda: there.count("trade") >= again.accepted, 60, "all rows in the rdb")

    def test_a_day_ends_at_all_members(self):
        running = self.start()
        first = self.wait_for_leader(running)
        feed = self.start_feed(running)
        with running.connect(first) as leader:
            leader.call(".u.endofday[]")
        self.wait_for_rows(feed, "rows of the next day")
        feed.stop()
        ended = [self.log_path(running, member) for member in MEMBERS]
        current = [self.log_path(running, member, NEXT) for member in MEMBERS]
        stack.wait_until(lambda: all(log.exists() for log in current) and are_equal(ended) and are_equal(current), 30,
                         "equal logs of both days")
        numbers = numbers_of(ended[0]) + numbers_of(current[0])
        self.assertEqual(numbers, list(range(len(numbers))))
        self.assertGreaterEqual(len(numbers), feed.accepted)

    def test_a_standby_refuses_by_name(self):
        running = self.start()
        first = self.wait_for_leader(running)
        other = next(member for member in MEMBERS if member != first)
        with running.connect(other) as standby:
            with self.assertRaisesRegex(kdb_ipc.QError, f"standby: .*:{running.port(first)} leads"):
                standby.call("1+1")

    def topic_command(self, *arguments):
        return self.broker.tool("org.apache.kafka.tools.TopicCommand", "--bootstrap-server", self.broker.address, *arguments)

    def wait_for_error(self, running, member, text):
        stack.wait_until(lambda: text in str(self.replica(running, member)["error"]), 60,
                         f"'{text}' of {member}: {self.replica(running, member)}")

    def test_members_answer_after_their_topic_was_deleted(self):
        running = self.start()
        self.wait_for_leader(running)
        feed = self.start_feed(running)
        feed.stop()
        self.topic_command("--delete", "--topic", "desk.log")
        for member in MEMBERS:
            self.wait_for_error(running, member, "the topic is empty")
        self.assertEqual(running.stop(), 0)

    def test_a_compacted_topic_is_not_used_until_it_is_changed(self):
        self.topic_command("--create", "--topic", "desk.log", "--partitions", "1", "--config", "cleanup.policy=compact")
        running = self.start()
        for member in MEMBERS:
            self.wait_for_error(running, member, "topic desk.log has cleanup.policy=compact")
        self.topic_command("--delete", "--topic", "desk.log")
        self.check_logs(running, self.start_feed(running))

    def test_another_stack_on_the_topic_is_refused(self):
        here = self.start(name="here")
        self.wait_for_leader(here)
        feed = self.start_feed(here)
        there = self.start_stack(STACK.format(brokers=self.broker.address, topic="desk.log").replace("price f", "price e"),
                                 "--date", DATE, name="there")
        self.wait_for_error(there, "tickerplant", 'tables: table trade is "time n, sym s, price f, size j" there')
        self.assertEqual("standby", self.replica(there, "tickerplant")["role"])
        self.check_logs(here, feed)

    def test_large_rows_are_sent_in_parts(self):
        running = self.start()
        leader = self.wait_for_leader(running)
        rows = 200_000
        with running.connect(leader) as feed:
            for _ in range(3):
                feed.call([".u.upd", "trade", [kdb_ipc.Typed("n", [1] * rows), ["A"] * rows, [1.5] * rows,
                                               kdb_ipc.Typed("j", list(range(rows)))]])
        logs = [self.log_path(running, member) for member in MEMBERS]
        stack.wait_until(lambda: all(log.exists() for log in logs) and are_equal(logs), 60, "equal logs")
        self.assertGreater(logs[0].stat().st_size, 3 * rows * 20)

    def test_random_kills_and_stops(self):
        print(f"TICKSTACK_SEED={SEED}", flush=True)
        chance = random.Random(SEED)
        running = self.start()
        self.wait_for_leader(running)
        feed = self.start_feed(running)
        for _ in range(KILLS):
            victim = chance.choice(MEMBERS + ("broker",))
            if victim == "broker":
                self.broker.kill()
                time.sleep(chance.uniform(0, 1))
                self.broker.start()
            else:
                stack.wait_until(lambda who=victim: stack.is_alive(running.pid(who)), 60, f"a new {victim}")
                pid = running.pid(victim)
                try:
                    if chance.random() < 0.5:
                        os.kill(pid, signal.SIGKILL)
                    else:
                        os.kill(pid, signal.SIGSTOP)
                        time.sleep(chance.uniform(0, 2))
                        os.kill(pid, signal.SIGCONT)
                except ProcessLookupError:
                    pass  # It has just ended.
            accepted = feed.accepted
            stack.wait_until(lambda at=accepted: feed.accepted > at or feed.error, 60, "rows after a fault")
            time.sleep(chance.uniform(0, 1.5))
        self.check_logs(running, feed)


@unittest.skipIf(confluent_kafka is None, "no confluent_kafka: see run_kafka_test.sh")
class BridgeTest(LogTest):
    """A bridge to Kafka beside members that fail over, a site that follows it, and a consumer that knows nothing of the
    numbers of rows in the headers."""

    def consume(self, topic):
        """Returns the numbers of all committed rows of a topic."""
        consumer = confluent_kafka.Consumer({
            "bootstrap.servers": self.broker.address, "group.id": "consumer", "isolation.level": "read_committed",
            "enable.auto.commit": False, "enable.partition.eof": True, "auto.offset.reset": "earliest"})
        try:
            partitions = consumer.list_topics(topic, 30).topics[topic].partitions
            consumer.assign([confluent_kafka.TopicPartition(topic, number, confluent_kafka.OFFSET_BEGINNING)
                             for number in partitions])
            numbers, ended, give_up = [], set(), time.monotonic() + 120
            while len(ended) < len(partitions):
                self.assertLess(time.monotonic(), give_up, "the end of the topic")
                message = consumer.poll(1)
                if message is None:
                    continue
                if message.error() is not None:
                    self.assertEqual(confluent_kafka.KafkaError._PARTITION_EOF, message.error().code())
                    ended.add(message.partition())
                elif message.value() is not None:
                    numbers += kdb_ipc.decode(message.value()[8:])["size"]
            return numbers
        finally:
            consumer.close()

    def start_sites(self, prefix):
        there = self.start_stack(FAR_SITE.format(brokers=self.broker.address, prefix=prefix), "--date", DATE, name="there")
        here = self.start(STANDBYS + BRIDGE.format(brokers=self.broker.address, prefix=prefix), name="here")
        self.wait_for_leader(here)
        return here, there

    def check_rows(self, here, there, prefix, rows):
        """Every row is there once: at the far site and for a consumer."""
        stack.wait_until(lambda: there.count("trade") >= rows, 120,
                         f"{rows} rows there: {here.ask('to_kafka', '.bridge.stats[]')}")
        time.sleep(1)
        self.assertEqual(rows, there.count("trade"))
        self.assertEqual(list(range(rows)), sorted(there.ask("rdb", "exec size from trade")))
        self.assertEqual(list(range(rows)), sorted(self.consume(f"{prefix}.trade")))

    def fail_over(self, here, number):
        leader = self.wait_for_leader(here)
        pid = here.pid(leader)
        with_signal = (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM)[number % 3]
        os.kill(pid, with_signal)
        stack.wait_until(lambda: self.leader(here) not in (None, leader) or here.pid(leader) != pid, 60, "another leader")
        if with_signal == signal.SIGSTOP:
            os.kill(pid, signal.SIGCONT)
        return f"{with_signal.name} {leader}"

    def test_each_row_is_in_kafka_once_though_the_leader_is_lost(self):
        print(f"TICKSTACK_SEED={SEED}", flush=True)
        chance = random.Random(SEED)
        here, there = self.start_sites("site")
        feed = self.start_feed(here)
        for number in range(FAILOVERS):
            how = self.fail_over(here, number)
            self.wait_for_rows(feed, "rows after the failover")
            if chance.random() < 0.3:
                here.kill("to_kafka")
                how += ", to_kafka"
            print(f"failover {number}: {how}; accepted {feed.accepted}, there {there.count('trade')}", flush=True)
            time.sleep(chance.uniform(0, 1.5))
        self.check_logs(here, feed)
        self.check_rows(here, there, "site", len(numbers_of(self.log_path(here, "second"))))

    def test_a_day_that_ended_without_the_bridge_is_read_from_the_next_leader(self):
        here, there = self.start_sites("days")
        feed = self.start_feed(here)
        stack.wait_until(lambda: there.count("trade") > 50, 60, "rows there")
        bridge = here.pid("to_kafka")
        os.kill(bridge, signal.SIGSTOP)
        self.wait_for_rows(feed, "rows of the end of the day")
        with here.connect(self.wait_for_leader(here)) as leader:
            leader.call(".u.endofday[]")
        self.wait_for_rows(feed, "rows of the next day")
        self.fail_over(here, 0)
        self.wait_for_rows(feed, "rows after the failover")
        os.kill(bridge, signal.SIGKILL)
        self.check_logs(here, feed, NEXT, first=len(numbers_of(self.log_path(here, "second"))))
        self.check_rows(here, there, "days", sum(len(numbers_of(self.log_path(here, "second", date)))
                                                 for date in (DATE, NEXT)))


class ThreeBrokersTest(LogTest):
    """A row is on two of three brokers before it is acknowledged, so any one broker may be lost."""

    def make_broker(self, folder):
        return kafka_broker.Cluster(folder)

    def test_each_broker_and_the_leader_are_lost(self):
        chance = random.Random(SEED)
        print(f"TICKSTACK_SEED={SEED}", flush=True)
        running = self.start("[replication]\nkafka_replicas = 3\n" + STANDBYS)
        self.wait_for_leader(running)
        described = self.broker.tool("org.apache.kafka.tools.TopicCommand", "--bootstrap-server", self.broker.address,
                                     "--describe", "--topic", "desk.log")
        self.assertIn("ReplicationFactor: 3", described)
        self.assertIn("min.insync.replicas=2", described)
        feed = self.start_feed(running)
        for broker in self.broker.brokers * 2:
            feed.longest = 0
            broker.kill()
            time.sleep(chance.uniform(0, 1))
            leader = self.leader(running)
            if leader and chance.random() < 0.5:
                os.kill(running.pid(leader), signal.SIGKILL)
            accepted = feed.accepted
            stack.wait_until(lambda at=accepted: feed.accepted > at + 10 or feed.error, 90, "rows without the broker")
            print(f"broker {broker.port} lost: {feed.longest * 1e3:.0f} ms without an acknowledgement", flush=True)
            broker.start()
            time.sleep(chance.uniform(1, 3))
        self.check_logs(running, feed)


if __name__ == "__main__":
    stack.main()

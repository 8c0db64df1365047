#!/usr/bin/env python3
"""A publisher that sends faster than its subscribers read loses none of them, and the tickerplant's memory stays flat:
who falls behind is served from the log, whoever reads slowly, stops reading, or reads after the day's end.

TICKSTACK_UNPACED_SECONDS is the length of the run of an unpaced feed (default: 2). A second of it needs up to 0.5 GB of
disk, and takes several seconds, because the rdb has to catch up. The rdb needs the memory of 10 s of rows, some 5 GB.
"""

import datetime
import json
import os
import pathlib
import re
import signal
import struct
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import stack  # noqa: E402
from tests.support.kdb_ipc import ASYNC, RESPONSE, SYNC, Closed, decode, encode, message  # noqa: E402
from tests.support.moved_clock import MovedClock  # noqa: E402

UNPACED_SECONDS = float(os.environ.get("TICKSTACK_UNPACED_SECONDS", "2"))
DAY_SECONDS = min(10, UNPACED_SECONDS / 2)  # At a day's end the rdb drops its rows, so that memory suffices.
FEED = "feed@sim.march2020.8000.1"  # The feed's rows are numbered under this name.
MIB = 1 << 20
# Before subscribers were served from the log, one that lacked 64 MiB was disconnected.
CONFIG = """
[tables]
a = "sym s, n j, x f, y f"
[tickerplant]
batch_ms = 50
max_queue_bytes = "64MiB"
"""
RDB = "[[rdb]]\n"
ROWS = 1000  # Rows of an upd, of 26 KB.


def upd(first):
    numbers = list(range(first, first + ROWS))
    return message(ASYNC, encode([b".u.upd", "a", [["S"] * ROWS, numbers, [1.5] * ROWS, [0.25] * ROWS]]))


class Unpaced:
    """A publisher that sends as fast as the tickerplant reads."""

    def __init__(self, test, running, rows):
        self.feed, self.rows = running.connect("tickerplant", timeout=120), 0
        self.goal = rows
        test.addCleanup(self.feed.close)

    def send(self, upds):
        self.feed.socket.sendall(b"".join(upd(self.rows + i * ROWS) for i in range(upds)))
        self.rows += upds * ROWS

    def send_all(self, upds_at_once=100):
        while self.rows < self.goal:
            self.send(min(upds_at_once, (self.goal - self.rows) // ROWS))

    def stats(self):
        """The tickerplant's counters, when it has taken everything that was sent."""
        return self.feed.call(b".u.stats[]")


class Slow(threading.Thread):
    """A subscriber that reads so many bytes, then pauses, and keeps the numbers of its rows."""

    def __init__(self, running, verb, rows, bytes_at_once, pause_s, symbols=""):
        super().__init__()
        self.connection = running.connect("tickerplant", timeout=120)
        self.connection.call([verb.encode(), "a", symbols])
        self.goal, self.bytes_at_once, self.pause_s = rows, bytes_at_once, pause_s
        self.numbers, self.seqs, self.error, self.bytes_read = [], [], None, 0
        self.start()

    def run(self):
        data = bytearray()
        try:
            while len(self.numbers) < self.goal:
                time.sleep(self.pause_s)
                part = self.connection.socket.recv(self.bytes_at_once)
                if not part:
                    raise Closed(f"closed after {len(self.numbers)} rows")
                data += part
                self.bytes_read += len(part)
                at = 0
                while len(data) - at >= 8:
                    length = struct.unpack_from("<I", data, at + 4)[0]
                    if len(data) - at < length:
                        break
                    self.take(decode(bytes(data[at + 8:at + length])))
                    at += length
                del data[:at]
        except (OSError, Closed) as error:
            self.error = error

    def take(self, items):
        self.numbers += items[2]["n"]
        self.seqs += items[3:]


class FlowControlTest(stack.StackTest):
    def grown(self, pid, before):
        grown = stack.rss_bytes(pid) - before
        print(f"tickerplant: {before // MIB} MiB before, {grown // MIB} MiB more", file=sys.stderr)
        return grown

    def test_an_unpaced_publisher_and_a_slow_rdb(self):
        rows = 10_000_000  # 260 MB.
        running = self.start_stack(CONFIG + RDB)
        stack.wait_until(lambda: " live seq=" in running.log_text(), 60, "the rdb's subscription")
        rdb, plant = running.pid("rdb"), running.pid("tickerplant")
        publisher = Unpaced(self, running, rows)
        before = stack.rss_bytes(plant)
        os.kill(rdb, signal.SIGSTOP)
        try:
            while publisher.rows < rows:
                publisher.send(100)
                # At first it runs for a moment now and then, and takes what it can; later not at all.
                if publisher.rows % (10 * 100 * ROWS) == 0 and publisher.rows < rows * 4 // 10:
                    os.kill(rdb, signal.SIGCONT)
                    time.sleep(0.01)
                    os.kill(rdb, signal.SIGSTOP)
            stats = publisher.stats()
            self.assertEqual(0, stats["subscribers_dropped"], stats)
            self.assertLess(self.grown(plant, before), 64 * MIB)
            self.assertEqual(1, stats["subscribers_behind"], stats)
            self.assertGreater(stats["behind_rows"], rows // 2, stats)
        finally:
            os.kill(rdb, signal.SIGCONT)
        stack.wait_until(lambda: running.count("a") == rows, 120, "the rows")
        self.assertEqual([rows * (rows - 1) // 2, 0, rows - 1],
                         running.ask("rdb", "(exec sum n from a;exec first n from a;exec last n from a)"))
        stack.wait_until(lambda: publisher.stats()["subscribers_behind"] == 0, 60, "the live stream")
        stats = publisher.stats()
        self.assertEqual((0, 0), (stats["behind_rows"], stats["behind_ms"]), stats)
        self.assertLess(self.grown(plant, before), 64 * MIB)
        self.assertEqual(1, running.log_text().count(" rdb connected "), "it kept its connection")
        self.assertEqual(0, running.stop(), running.log_text())

    def start_unpaced_feed(self, running):
        _, feed = self.start_process("feed", "--source", "sim", "--rate", "0", "--rows", str(10**10), "--window-rows",
                                     "0", "--tickerplant", f"127.0.0.1:{running.port('tickerplant')}", "--start")
        return feed

    def rows_of_logs(self, running):
        """Returns the rows of each day's log, which is checked and then removed."""
        rows = []
        for log in sorted(path for path in (running.data / "tplog").iterdir() if re.search(r"\d$", path.name)):
            checked = self.run_program("log", "check", "--json", str(log), timeout=600)
            self.assertEqual(0, checked.returncode, checked.stdout + checked.stderr)
            rows.append(sum(json.loads(checked.stdout)["rows"].values()))
            log.unlink()
        return rows

    def test_an_unpaced_feed_and_a_cold_rdb_have_the_same_rows(self):
        clock = MovedClock(self.folder)
        self.addCleanup(clock.remove)
        noon = datetime.datetime(2020, 3, 9, 12)
        clock.set(noon)
        running = self.start_stack("[tickerplant]\n[[rdb]]\n")
        stack.wait_until(lambda: " live seq=" in running.log_text(), 60, "the rdb's subscription")
        plant = running.pid("tickerplant")
        before = stack.rss_bytes(plant)
        most, most_behind, days = before, 0, 1
        feed = self.start_unpaced_feed(running)
        begin = time.monotonic()
        while (seconds := time.monotonic() - begin) < UNPACED_SECONDS:
            time.sleep(0.05)
            stats = running.ask("tickerplant", ".u.stats[]")
            most, most_behind = max(most, stack.rss_bytes(plant)), max(most_behind, stats["behind_rows"])
            if seconds >= days * DAY_SECONDS:
                clock.set(noon + datetime.timedelta(days))
                days += 1
        feed.send_signal(signal.SIGTERM)
        self.assertEqual(0, feed.wait(120))
        stack.wait_until(lambda: running.ask("tickerplant", ".u.stats[]")["feeds"] == 0, 60, "the end of the feed")
        # The rows that the feed is told of when it resumes. Those that were under way when it was stopped are no part
        # of them; it would send them again.
        with running.connect("tickerplant") as connection:
            fed = sum(connection.call([b".u.feed", FEED]).values())
        sent = sum(map(int, re.findall(r"feed down table=\S+ rows=(\d+)", feed.log_path.read_text(encoding="utf-8"))))
        self.assertGreater(fed, 0)
        self.assertGreaterEqual(sent, fed)

        def taken():
            stats = running.ask("rdb", ".rdb.stats[]")
            return stats["rows"] + stats["rows_replayed"]
        stopped = time.monotonic()
        stack.wait_until(lambda: taken() == fed, 120 + 20 * UNPACED_SECONDS, f"{fed} rows in the rdb")
        caught_up = time.monotonic() - stopped
        stack.wait_until(lambda: running.ask("tickerplant", ".u.stats[]")["behind_rows"] == 0, 60, "the live stream")
        dropped, after = running.ask("tickerplant", ".u.stats[]")["subscribers_dropped"], stack.rss_bytes(plant)
        print(f"unpaced for {seconds:.1f} s, {days} days: {fed} rows, {fed / seconds:.0f}/s, rdb at most {most_behind} "
              f"rows behind, all {caught_up:.1f} s later; tickerplant {before // MIB} MiB before, at "
              f"most {most // MIB}, {after // MIB} after", file=sys.stderr)
        self.assertEqual(0, dropped)
        self.assertEqual(1, running.log_text().count(" rdb connected "), "it kept its connection")
        self.assertLess(most - before, 64 * MIB)
        self.assertLess(after - before, 64 * MIB)
        today = running.count("quote") + running.count("trade")
        self.assertEqual(0, running.ask("rdb", ".rdb.stats[]")["messages_missing"])
        self.assertEqual(0, running.stop(), running.log_text())
        logged = self.rows_of_logs(running)
        self.assertEqual((days, fed, today), (len(logged), sum(logged), logged[-1]))

    def test_slow_subscribers_get_every_row_once_and_in_order(self):
        rows = 400_000
        running = self.start_stack(CONFIG + 'live_queue_bytes = "256KiB"\n')
        slow = [Slow(running, verb, rows, size, pause_s)
                for verb in (".u.sub", ".u.subx") for size, pause_s in ((1 << 17, 0.01), (1 << 18, 0.01), (1 << 20, 0.1))]
        slow.append(Slow(running, ".u.sub", rows, 1 << 18, 0.02, ["S", "T"]))
        publisher = Unpaced(self, running, rows)
        publisher.send_all()
        for subscriber in slow:
            subscriber.join(120)
            self.assertIsNone(subscriber.error)
            self.assertEqual(list(range(rows)), subscriber.numbers)
            self.assertEqual(sorted(subscriber.seqs), subscriber.seqs)
            subscriber.connection.close()
        stats = publisher.stats()
        self.assertGreater(stats["fell_behind"], 0, "nobody was slow: the test shows nothing")
        self.assertEqual(0, stats["subscribers_dropped"])
        self.assertEqual(0, running.stop(), running.log_text())

    def test_a_hundred_subscribers_that_do_not_read(self):
        running = self.start_stack(CONFIG)
        plant = running.pid("tickerplant")
        publisher = Unpaced(self, running, 8_000_000)
        before = stack.rss_bytes(plant)
        stalled = []
        while publisher.rows < publisher.goal:
            if len(stalled) < 100:  # They come one by one, so that each falls behind at another place.
                stalled.append(running.connect("tickerplant"))
                stalled[-1].call([b".u.sub", "a", ""])
            publisher.send(100 if len(stalled) == 100 else 10)
        stats = publisher.stats()
        self.assertGreater(stats["subscribers_behind"], 90, stats)
        self.assertEqual(0, stats["subscribers_dropped"], stats)
        print(f"queued for 100: {stats['queued_bytes'] // MIB} MiB, most {stats['queued_bytes_max'] >> 10} KiB",
              file=sys.stderr)
        self.assertLess(self.grown(plant, before), 128 * MIB)
        for connection in stalled:
            connection.close()
        stack.wait_until(lambda: publisher.stats()["subscribers"] == 0, 60, "their end")
        self.assertEqual(0, running.stop(), running.log_text())

    def test_a_subscriber_that_reads_one_byte_a_second(self):
        rows = 2_000_000
        running = self.start_stack(CONFIG + RDB)
        stack.wait_until(lambda: " live seq=" in running.log_text(), 60, "the rdb's subscription")
        plant = running.pid("tickerplant")
        slow = Slow(running, ".u.sub", rows, 1, 1.0)
        publisher = Unpaced(self, running, rows)
        before = stack.rss_bytes(plant)
        publisher.send_all()
        stack.wait_until(lambda: running.count("a") == rows, 60, "the rows in the rdb")
        stack.wait_until(lambda: slow.bytes_read > 1, 60, "its second byte")
        stack.wait_until(lambda: publisher.stats()["subscribers_behind"] == 1, 60, "the live stream of the rdb")
        stats = publisher.stats()
        self.assertEqual((1, 0), (stats["subscribers_behind"], stats["subscribers_dropped"]), stats)
        self.assertLess(self.grown(plant, before), 64 * MIB)
        self.assertIsNone(slow.error)
        slow.connection.close()
        slow.join(30)
        stack.wait_until(lambda: publisher.stats()["subscribers"] == 1, 60, "its end")
        self.assertEqual(0, running.stop(), running.log_text())

    def test_the_day_ends_while_an_rdb_is_behind(self):
        rows = 4_000_000
        running = self.start_stack(CONFIG + RDB + "[eod]\n", "--date", "2020.03.09")
        stack.wait_until(lambda: " live seq=" in running.log_text(), 60, "the rdb's subscription")
        rdb = running.pid("rdb")
        publisher = Unpaced(self, running, rows)
        os.kill(rdb, signal.SIGSTOP)
        try:
            publisher.send_all()
            self.assertEqual(1, publisher.stats()["subscribers_behind"])
            publisher.feed.call(b".u.end[]")
            publisher.goal += 5 * ROWS
            publisher.send_all(1)
            publisher.stats()
        finally:
            os.kill(rdb, signal.SIGCONT)
        stack.wait_until(lambda: " day written " in running.log_text(), 120, "the day's partition")
        self.assertIn(f" rows={rows} ", running.log_text())
        stack.wait_until(lambda: running.count("a") == 5 * ROWS, 60, "the next day's rows")
        self.assertEqual(list(range(rows, rows + 5 * ROWS)), running.ask("rdb", "exec n from a"))
        self.assertEqual(0, running.ask("rdb", ".rdb.stats[]")["messages_missing"])
        self.assertEqual(0, running.stop(), running.log_text())

    def test_an_unpaced_feed_waits_for_an_rdb_that_is_behind(self):
        rows, window = 4_000_000, 1_000_000
        clock = MovedClock(self.folder)
        self.addCleanup(clock.remove)
        noon = datetime.datetime(2020, 3, 9, 12)
        clock.set(noon)
        running = self.start_stack("[tickerplant]\n[[rdb]]\n")
        stack.wait_until(lambda: " live seq=" in running.log_text(), 60, "the rdb's subscription")
        rdb = running.pid("rdb")
        os.kill(rdb, signal.SIGSTOP)
        try:
            _, feed = self.start_process("feed", "--source", "sim", "--rate", "0", "--rows", str(rows), "--tickerplant",
                                         f"127.0.0.1:{running.port('tickerplant')}", "--start", "--exit-when-done")
            stack.wait_until(lambda: running.ask("tickerplant", ".u.stats[]")["feeds_waiting"] == 1, 60, "the feed's wait")
            before = running.ask("tickerplant", ".u.stats[]")
            self.assertGreater(before["behind_rows"], window)
            self.assertLess(before["behind_rows"], 2 * window)
            time.sleep(0.5)
            self.assertEqual(before["rows"], running.ask("tickerplant", ".u.stats[]")["rows"])
        finally:
            os.kill(rdb, signal.SIGCONT)
        self.assertEqual(0, feed.wait(120))
        stack.wait_until(lambda: running.count("quote") + running.count("trade") == rows, 60, "the rows")
        stats = running.ask("tickerplant", ".u.stats[]")
        self.assertEqual((0, 0), (stats["feeds_waiting"], stats["subscribers_dropped"]), stats)
        self.assertEqual(0, running.stop(), running.log_text())

    def test_an_answer_comes_after_the_rows_before_it(self):
        rows = 2_000_000
        running = self.start_stack(CONFIG)
        publisher = Unpaced(self, running, rows)
        with running.connect("tickerplant", timeout=120) as slow:
            slow.call([b".u.sub", "a", ""])
            publisher.send_all()
            self.assertEqual(1, publisher.stats()["subscribers_behind"])
            slow.socket.sendall(message(SYNC, encode(b".u.i")))
            got = 0
            while True:
                kind, body = slow.receive()
                if kind == RESPONSE:
                    self.assertEqual(decode(body) * ROWS, got)
                    break
                got += len(decode(body)[2]["n"])
            self.assertEqual(rows, got)
        self.assertEqual(0, running.stop(), running.log_text())


if __name__ == "__main__":
    stack.main()

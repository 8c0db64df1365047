#!/usr/bin/env python3
"""Feeds that are received live, by multicast, in a network namespace of the test: two lines lose, double and reorder
packets, processes are killed. Rows are compared with an independent decoder; what no line delivered is in `gap`."""

import collections
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import tomllib
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import captures, iex_messages, itch_messages, live_lines, market_rows, networks, stack  # noqa: E402

DATE = "2019.12.30"
SESSION = "SESSION01"
EXAMPLE = (stack.ROOT / "examples/itch_live.toml").read_text(encoding="utf-8")
LINE_A, LINE_B = tomllib.loads(EXAMPLE)["feed"]["lines"]
TABLES = ["instrument", "status", "auction", "order", "trade", "trade_break"]
DEEP = "iex-hist/20231002_deep10.pcap.gz"
GAP = ["channel", "session", "first_seq", "last_seq"]


def config(more="", gap_wait_ms=400):
    text = EXAMPLE.replace('interface = "eth1"', f'interface = "{networks.INTERFACE}"')
    assert networks.INTERFACE in text
    return f"{text}gap_wait_ms = {gap_wait_ms}\n{more}"


class LiveFeedTest(stack.StackTest):
    @classmethod
    def setUpClass(cls):
        networks.enter_namespace()

    def start(self, more="", gap_wait_ms=400, name="stack"):
        running = self.start_stack(config(more, gap_wait_ms), "--date", DATE, name=name)
        self.wait_until_joined()
        return running

    def wait_until_joined(self):
        wanted = {line.split(":")[0] for line in (LINE_A, LINE_B)}
        stack.wait_until(lambda: wanted <= set(networks.groups_of()), 60, "membership of the groups")

    def exchange(self, seed=1):
        return live_lines.Exchange(self, [LINE_A, LINE_B], seed)

    def packets(self, count, seed, first=1):
        self.messages = list(itch_messages.random_day(count, seed))
        return live_lines.mold_packets(SESSION, self.messages, seed, first)

    def gaps(self, running):
        found = running.ask("rdb", "select first_seq,last_seq from gap")
        return sorted(zip(found["first_seq"], found["last_seq"]))

    def numbered(self, gaps):
        """(number, message) of those that are in no gap."""
        return [(seq, message) for seq, message in enumerate(self.messages, 1) if not live_lines.within(seq, gaps)]

    def compare(self, running, exchange, gaps):
        """The rows are those of the messages that are not in `gaps`, received when the exchange sent them."""
        expected = itch_messages.rows(self.numbered(gaps), DATE)
        for table, rows in expected.items():
            stack.wait_until(lambda table=table, rows=rows: running.count(table) >= len(rows), 60, f"the rows of {table}")
            found = running.ask("rdb", f"select seq,recv from {table}")
            received = dict(zip(found["seq"], found["recv"]))
            for row in rows:
                self.assertIn(row["seq"], received, table)
                row |= {"recv": received[row["seq"]], "channel": SESSION}
                self.assertTrue(exchange.was_sent(row["seq"], row["recv"]), (table, row))
        market_rows.compare(self, running, TABLES, expected, "XNAS")

    def check_each_once(self, running, last):
        """The numbers of rows and those in `gap` are all up to `last`, and each once. Waits until they are there."""
        made = collections.defaultdict(list)
        for table, rows in itch_messages.rows(enumerate(self.messages, 1), DATE).items():
            made[table] += [row["seq"] for row in rows]

        def complete():
            gaps = self.gaps(running)
            missing = {table: [seq for seq in seqs if not live_lines.within(seq, gaps)] for table, seqs in made.items()}
            return gaps, missing if all(running.count(table) >= len(seqs) for table, seqs in missing.items()) else None
        stack.wait_until(lambda: complete()[1], 60, "the rows")
        gaps, expected = complete()
        for (_, before), (after, _) in zip(gaps, gaps[1:]):
            self.assertLess(before, after, gaps)
        self.assertLessEqual(gaps[-1][1] if gaps else 0, last)
        for table, seqs in expected.items():
            self.assertEqual(seqs, sorted(running.ask("rdb", f"exec seq from {table}")), table)
        return gaps

    def stats(self, running):
        return running.ask("feed", ".feed.stats[]")

    def wait_for_packets(self, running, counts):
        stack.wait_until(lambda: list(self.stats(running)["line_packets"].values()) == counts, 60, f"{counts} packets")

    def test_two_lines_that_lose_double_and_reorder(self):
        for name, loss in (("complete", 0.25), ("gaps", 0.25), ("silent", 1.0)):
            with self.subTest(name=name):
                # This long, the test may be kept from sending what it has in hand. No gap of "complete" waits for its end.
                running = self.start(gap_wait_ms=60_000 if name == "complete" else 10_000, name=name)
                packets = self.packets(6_000, seed=3)
                count, exchange = len(packets), self.exchange()
                lossy = live_lines.disturbed(count, 4, loss, 0.1, 0.1, keep=(0,) if loss < 1 else ())
                delivered = set(lossy)
                keep = set(range(count)) - delivered if name == "complete" else (0, count - 1)
                other = live_lines.disturbed(count, 5, 0.25 if name != "silent" else 0.05, 0.1, 0.1, keep)
                orders = [other, lossy]
                gaps = live_lines.missing(packets, orders)
                self.assertEqual(name == "complete", not gaps)
                exchange.send(packets, orders)
                stack.wait_until(lambda gaps=gaps: running.count("gap") >= len(gaps), 120, "the gaps")
                self.compare(running, exchange, gaps)
                self.assertEqual(gaps, self.gaps(running))
                lines = [f"{line}@{networks.INTERFACE}" for line in (LINE_A, LINE_B)]
                # The last packets may be repetitions.
                self.wait_for_packets(running, exchange.packets_of_line)
                stats = self.stats(running)
                self.assertEqual("publishing", stats["state"], stats)
                self.assertEqual(dict(zip(lines, exchange.packets_of_line)), stats["line_packets"])
                self.assertEqual({line: 0 for line in lines}, stats["line_lost"])
                self.assertEqual({line: 0 for line in lines}, stats["line_bad"])
                self.assertEqual(sum(stats["line_repeated"].values()), stats["messages"]["repeated"])
                self.assertEqual(0, running.stop(), running.log_text())

    def test_the_end_is_missing_and_nothing_follows(self):
        """The last packets are lost, and a heartbeat says so: the gap is closed by time alone."""
        running = self.start()
        packets = self.packets(200, seed=6)
        exchange = self.exchange()
        exchange.send(packets, [range(len(packets) - 2), range(10)])
        first, last = packets[-2][0], len(self.messages)
        sent = time.monotonic()
        exchange.senders[1].send(live_lines.mold_packet(SESSION, last + 1, []))
        stack.wait_until(lambda: running.count("gap"), 60, "the gap")
        self.assertGreater(time.monotonic() - sent, 0.3)
        self.assertEqual([(first, last)], self.gaps(running))
        self.compare(running, exchange, [(first, last)])

    def test_packets_that_do_not_fit(self):
        running = self.start()
        packets = self.packets(50, seed=6)
        exchange = self.exchange()
        exchange.senders[0].send(b"short")
        exchange.senders[1].send(live_lines.mold_packet(SESSION, 5, self.messages[4:6])[:-1])
        exchange.send(packets, [range(len(packets)), []])
        self.compare(running, exchange, [])
        stats = self.stats(running)
        self.assertEqual([1, 1], list(stats["line_bad"].values()))
        self.assertEqual(2, stats["messages"]["bad_packets"])
        running.wait_for_log(re.compile(r'does not fit count=[12] last="live: \d+ bytes to 239\.[12]\.1\.1:5000: it'))

    def test_a_feed_that_is_killed_again_and_again(self):
        running = self.start()
        packets = self.packets(8_000, seed=7)
        exchange = self.exchange()
        count, parts = len(packets), 5
        for part in range(parts):
            begin, end = count * part // parts, count * (part + 1) // parts
            both = [live_lines.disturbed(end - begin, part + 9 * line, 0.1, 0.05, 0.05, keep=(0, end - begin - 1)) for line in (0, 1)]
            half = [order[:len(order) // 2] for order in both]
            exchange.send(packets[begin:end], half, each_s=0.0001)
            if part == 0:
                stack.wait_until(lambda: running.count("order"), what="rows")
            if part + 1 < parts:
                killed = running.pid("feed")
                os.kill(killed, signal.SIGKILL)
            exchange.send(packets[begin:end], [order[len(order) // 2:] for order in both], each_s=0.0001)
            if part + 1 < parts:
                stack.wait_until(lambda killed=killed: running.pid("feed") != killed, what="a new feed")
                self.wait_until_joined()
        exchange.senders[0].send(live_lines.mold_packet(SESSION, len(self.messages) + 1, []))
        gaps = self.check_each_once(running, len(self.messages))
        self.assertGreaterEqual(len(gaps), parts - 1)
        self.assertEqual(0, running.stop(), running.log_text())

    def test_a_tickerplant_that_is_killed_loses_nothing(self):
        running = self.start()
        packets = self.packets(6_000, seed=8)
        exchange = self.exchange()
        count, parts = len(packets), 3
        for part in range(parts):
            some = range(count * part // parts, count * (part + 1) // parts)
            exchange.send(packets, [some, some], each_s=0.0001)
            if part + 1 < parts:
                running.kill("tickerplant")
                stack.wait_until(lambda part=part: self.stats(running)["reconnects"] == part + 1, what="a connection to it")
        self.assertEqual([], self.check_each_once(running, len(self.messages)))
        self.compare(running, exchange, [])
        self.assertEqual(2, self.stats(running)["reconnects"])

    def test_too_much_is_kept_while_the_tickerplant_hangs(self):
        """What is left out is one gap; after it, rows continue."""
        running = self.start("keep_mib = 1\nqueue_bytes = 65536\n")
        packets = self.packets(40_000, seed=9)
        exchange = self.exchange()
        hung = running.pid("tickerplant")
        os.kill(hung, signal.SIGSTOP)
        try:
            end = len(packets) - 100
            exchange.send(packets, [range(end), range(0)], each_s=0.00002)
            # Not a part of them: what it reads later could be too much again.
            self.wait_for_packets(running, exchange.packets_of_line)
            self.assertGreater(self.stats(running)["messages"]["dropped"], 0)
        finally:
            os.kill(hung, signal.SIGCONT)
        stack.wait_until(lambda: running.count("gap"), 60, "the gap")
        exchange.send(packets, [range(end, len(packets)), range(0)])
        gaps = self.check_each_once(running, len(self.messages))
        self.assertEqual(["full"], running.ask("rdb", "exec closed from gap"))
        self.assertEqual(gaps[0][1] - gaps[0][0] + 1, self.stats(running)["messages"]["dropped"])
        running.wait_for_log("messages give no rows")

    def test_what_the_kernel_dropped_is_counted(self):
        running = self.start("receive_mib = 1\n")
        packets = self.packets(30_000, seed=10)
        exchange = self.exchange()
        exchange.send(packets, [range(10), range(10)])
        stack.wait_until(lambda: running.count("order"), what="rows")
        hung = running.pid("feed")
        os.kill(hung, signal.SIGSTOP)
        try:
            exchange.send(packets, [range(10, len(packets) - 1), range(0)])
        finally:
            os.kill(hung, signal.SIGCONT)
        # Only when the feed has read what its socket held, there is room for the last packet, which tells of the loss.
        stack.wait_until(lambda: networks.waiting_bytes(int(LINE_A.rpartition(":")[2])) == 0, what="an empty buffer")
        last = len(packets) - 1
        exchange.send(packets, [range(last, last + 1), range(0)])
        gaps = self.check_each_once(running, len(self.messages))
        lost = list(self.stats(running)["line_lost"].values())
        received = list(self.stats(running)["line_packets"].values())
        self.assertGreater(lost[0], 0)
        self.assertEqual([exchange.packets_of_line[0] - lost[0], 10], received)
        self.assertTrue(gaps)
        with urllib.request.urlopen(f"http://127.0.0.1:{running.port('feed')}/metrics") as answer:
            text = answer.read().decode()
        for name in ("packets", "bytes", "lost_packets", "repeated_messages", "bad_packets"):
            self.assertIn(f"\ntickstack_feed_line_{name}_total{{", text)
        self.assertIn(f'tickstack_feed_line_lost_packets_total{{line="{LINE_A}@{networks.INTERFACE}"}} {lost[0]}', text)

    def test_a_day_ends_while_packets_arrive(self):
        running = self.start_stack(config(), name="days")  # Without --date: the machine's day.
        self.wait_until_joined()
        packets = self.packets(3_000, seed=11)
        exchange = self.exchange()
        half = len(packets) // 2
        exchange.send(packets, [range(half), range(half)])
        before = packets[half][0] - 1
        expected = itch_messages.rows(enumerate(self.messages, 1), DATE)["order"]
        stack.wait_until(lambda: running.count("order") == sum(row["seq"] <= before for row in expected), what="half of the rows")
        running.ask("tickerplant", ".u.endofday[]")
        exchange.send(packets, [range(half, len(packets)), range(half, len(packets))])
        after = [row["seq"] for row in expected if row["seq"] > before]
        stack.wait_until(lambda: running.count("order") == len(after), what="the rows of the next day")
        self.assertEqual(after, list(running.ask("rdb", "exec seq from order")))
        today = int(time.time() // 86400) * 86400 * 10**9 - live_lines.EPOCH
        times = running.ask("rdb", "exec time from order")
        self.assertTrue(all(abs(when - today) < 3 * 86400 * 10**9 for when in times), "times of the day of receipt")
        self.assertEqual(0, running.count("gap"))

    def test_replay_of_a_real_capture_on_two_lines(self):
        path = self.fixture(DEEP)
        running = self.start_stack(config().replace('"itch"', '"iex"'), "--date", "2023.10.02", name="iex")
        self.wait_until_joined()
        replays = [subprocess.Popen([stack.PROGRAM, "replay", str(path), "--to", line, "--interface", networks.INTERFACE,
                                     "--speed", "0"], stdout=subprocess.DEVNULL) for line in (LINE_A, LINE_B)]
        for replay in replays:
            self.assertEqual(0, replay.wait(120))
        expected = iex_messages.rows(path)
        gaps = expected.pop("gap", [])
        tables = ["instrument", "status", "auction", "quote", "level", "order", "trade", "trade_break"]
        for table, rows in expected.items():
            stack.wait_until(lambda table=table, rows=rows: running.count(table) >= len(rows), 60, f"the rows of {table}")
            for row, recv in zip(rows, running.ask("rdb", f"exec recv from {table}")):
                row["recv"] = recv
        market_rows.compare(self, running, tables, expected, "IEXG")
        found = running.ask("rdb", f"select {','.join(GAP)} from gap")
        self.assertEqual([[gap[column] for gap in gaps] for column in GAP], [list(found[column]) for column in GAP])
        count = len(list(captures.datagrams(path)))
        # The last packets may be repetitions.
        self.wait_for_packets(running, [count, count])

    def test_a_server_is_asked_for_what_is_missing(self):
        """It has everything, so nothing becomes a gap: not what both lines lose, nor what they sent to no feed."""
        packets = self.packets(4_000, seed=13)
        server = live_lines.RequestServer(self, SESSION, self.messages)
        running = self.start(f'request = "{server.address}"\n', gap_wait_ms=20_000)
        exchange = self.exchange()
        count = len(packets)
        half = count // 2
        lossy = [live_lines.disturbed(half, 14 + line, 0.3, 0.05, 0.05, keep=(0,)) for line in (0, 1)]
        self.assertTrue(live_lines.missing(packets[:half], lossy))
        exchange.send(packets[:half], lossy)
        stack.wait_until(lambda: running.count("order"), what="rows")
        killed = running.pid("feed")
        os.kill(killed, signal.SIGKILL)
        exchange.send(packets, [range(half, count - 50), []])
        stack.wait_until(lambda: running.pid("feed") != killed, what="a new feed")
        self.wait_until_joined()
        exchange.send(packets, [range(count - 50, count), []])
        self.assertEqual([], self.check_each_once(running, len(self.messages)))
        stats = self.stats(running)
        self.assertGreater(stats["line_packets"][server.address], 0)
        self.assertTrue(all(0 < asked <= 0xFFFE for _, asked in server.requests))

    def test_a_server_that_does_not_answer(self):
        packets = self.packets(300, seed=15)
        server = live_lines.RequestServer(self, SESSION, self.messages, ignores=1)
        running = self.start(f'request = "{server.address}"\n', gap_wait_ms=6_000)
        exchange = self.exchange()
        exchange.send(packets, [[*range(10), *range(12, len(packets))], []])
        gap = live_lines.missing(packets, [[*range(10), *range(12, len(packets))]])
        stack.wait_until(lambda: running.count("gap"), 60, "the gap")
        self.assertEqual(gap, self.gaps(running))
        self.assertEqual(["lines,request"], running.ask("rdb", "exec tried from gap"))
        self.compare(running, exchange, gap)
        first, last = gap[0]
        self.assertEqual({(first, last - first + 1)}, set(server.requests))
        self.assertGreater(len(server.requests), 2)

    def test_what_is_refused_by_name(self):
        base = ("feed", "--source", "itch", "--tickerplant", "localhost:1", "--data", str(self.folder))
        for arguments, said in (
                (["--lines", "239.1.1.1"], "lines: '239.1.1.1': expected an IPv4 address and a port"),
                (["--lines", "239.1.1.1:1", "--interface", "none0"], "this machine has no interface 'none0'"),
                (["--lines", "239.1.1.1:1,239.1.1.1:1"], "lines: 239.1.1.1:1 is there twice"),
                (["--lines", "239.1.1.1:1", "--request", "x"], "request: 'x': expected an IPv4 address and a port"),
                (["--lines", "239.1.1.1:1", "--path", "x"], "expected path or lines, found both"),
                (["--lines", "239.1.1.1:1", "--speed", "2"], "speed 2: lines have their own"),
                (["--lines", "192.0.2.1:1"], "192.0.2.1:1: bind: Cannot assign requested address"),
                ([], "--path is missing")):
            with self.subTest(said=said):
                ran = self.run_program(*base, *arguments)
                self.assertNotEqual(0, ran.returncode)
                self.assertIn(said, ran.stderr)

    def test_two_feeds_do_not_share_a_folder(self):
        running = self.start()
        ran = self.run_program("feed", "--source", "itch", "--tickerplant", "localhost:1", "--lines", LINE_A, "--interface",
                               networks.INTERFACE, "--data", str(running.data), "--name", "feed")
        self.assertEqual(1, ran.returncode)
        self.assertIn("feed/feed/lock: ", ran.stderr)
        self.assertIn(f"(pid {running.pid('feed')})", ran.stderr)

    def test_a_folder_that_is_damaged_or_behind_the_tickerplant(self):
        running = self.start()
        packets = self.packets(100, seed=12)
        self.exchange().send(packets, [range(len(packets)), []])
        stack.wait_until(lambda: running.count("order"), what="rows")
        self.assertEqual(0, running.stop())
        folder = running.data / "feed" / "feed"
        files = sorted(folder.glob("rows.*"))
        self.assertTrue(files)
        whole = files[-1].read_bytes()
        files[-1].write_bytes(whole[:12] + bytes([whole[12] ^ 1]) + whole[13:])
        ran = self.run_program("feed", "--source", "itch", "--tickerplant", "localhost:1", "--lines", LINE_A, "--interface",
                               networks.INTERFACE, "--data", str(running.data), "--name", "feed")
        self.assertEqual(1, ran.returncode)
        self.assertIn(f"{files[-1]}: byte 0: a record of", ran.stderr)
        files[-1].write_bytes(whole[:8 + int.from_bytes(whole[:4], "little")])  # The first record: no rows.
        running = self.start_stack(config(), "--date", DATE)
        stats = stack.wait_until(lambda: (found := self.stats(running))["state"] == "failed" and found, what="a failed feed")
        self.assertIn("it has rows 0 to 0 of ", stats["error"].decode())
        self.assertIn(", the tickerplant has logged ", stats["error"].decode())


if __name__ == "__main__":
    stack.main()

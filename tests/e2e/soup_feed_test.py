#!/usr/bin/env python3
"""Feeds that log in to a SoupBinTCP server: it cuts, comes late, sends wrong bytes, is slow or silent, refuses, and has
lost messages; the feed is killed. Rows are compared with an independent decoder."""

import collections
import json
import os
import pathlib
import random
import re
import signal
import socket
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import itch_messages, live_lines, market_rows, stack  # noqa: E402
from tests.support.soup_server import Behaviour, SoupServer  # noqa: E402

DATE = "2019.12.30"
SESSION = "000012345A"
TABLES = ["instrument", "status", "auction", "order", "trade", "trade_break"]
CONFIG = """
[tickerplant]
[[rdb]]
[feed]
start = true
source = "itch"
"""


class SoupFeedTest(stack.StackTest):
    def serve(self, count=2_000, seed=1, **options):
        self.messages = list(itch_messages.random_day(count, seed))
        self.server = SoupServer(self, SESSION, self.messages, **options)
        return self.server

    def start(self, more="", lines=None, gap_wait_ms=400, name="stack"):
        secret = self.folder / "soup.credentials"
        secret.touch(0o600)
        secret.write_text("me:secret\n", encoding="ascii")
        lines = [self.server.address] if lines is None else lines
        self.started = time.time_ns() - live_lines.EPOCH
        keys = f"lines = {json.dumps(lines)}\nsoup_credentials = {json.dumps(str(secret))}\ngap_wait_ms = {gap_wait_ms}\n{more}"
        return self.start_stack(CONFIG + keys, "--date", DATE, name=name)

    def stats(self, running):
        return running.ask("feed", ".feed.stats[]")

    def gaps(self, running):
        found = running.ask("rdb", "select first_seq,last_seq from gap")
        return sorted(zip(found["first_seq"], found["last_seq"]))

    def numbered(self, gaps=()):
        """(number, message) of those that are in no gap."""
        return [(seq, message) for seq, message in enumerate(self.messages, 1) if not live_lines.within(seq, gaps)]

    def compare(self, running, gaps=(), venue="XNAS", seconds=60):
        """The rows are those of all messages that are not in `gaps`, each received after the start."""
        expected = itch_messages.rows(self.numbered(gaps), DATE)
        for table, rows in expected.items():
            stack.wait_until(lambda table=table, rows=rows: running.count(table) >= len(rows), seconds, f"the rows of {table}")
            found = running.ask("rdb", f"select seq,recv from {table}")
            received = dict(zip(found["seq"], found["recv"]))
            for row in rows:
                self.assertIn(row["seq"], received, table)
                row |= {"recv": received[row["seq"]], "channel": SESSION}
                self.assertTrue(self.started <= row["recv"] <= time.time_ns() - live_lines.EPOCH, (table, row))
        market_rows.compare(self, running, TABLES, expected, venue)
        self.check_gaps(running, gaps)

    def check_gaps(self, running, gaps):
        """A table's rows are published after those of another one, so the rows of messages may come before the gap."""
        stack.wait_until(lambda: running.count("gap") >= len(gaps), what="the gaps")
        self.assertEqual(list(gaps), self.gaps(running))

    def check_each_once(self, running, gaps=()):
        """The rows have the numbers of all messages that are not in `gaps`, each once. Their orders may be unknown."""
        made = collections.defaultdict(list)
        for table, rows in itch_messages.rows(self.numbered(gaps), DATE).items():
            made[table] += [row["seq"] for row in rows]
        for table, seqs in made.items():
            stack.wait_until(lambda table=table, seqs=seqs: running.count(table) >= len(seqs), 120, f"the rows of {table}")
            self.assertEqual(seqs, sorted(running.ask("rdb", f"exec seq from {table}")), table)
        self.check_gaps(running, gaps)

    def wait_for_logins(self, count, seconds=60):
        return stack.wait_until(lambda: len(self.server.logins) >= count and self.server.logins, seconds, f"{count} logins")

    def test_a_whole_day(self):
        server = self.serve(20_000)
        running = self.start()
        self.compare(running)
        self.assertEqual([("me", "secret", "", 1)], [(each.user, each.password, each.session, each.seq) for each in server.logins])
        server.end()
        running.wait_for_log("session ended")
        stats = self.stats(running)
        self.assertEqual("publishing", stats["state"])
        self.assertGreaterEqual(stats["line_packets"][server.address], 20_003)
        self.assertEqual({server.address: 0}, stats["line_bad"])
        self.assertEqual({server.address: 0}, stats["line_repeated"])
        self.assertEqual({server.address: 0}, stats["line_lost"])
        self.assertNotIn("secret", running.log_text())
        more = list(itch_messages.random_day(300, seed=2))
        server.begin("NEXTDAY", more)
        orders = len(itch_messages.rows(enumerate(more, 1), DATE)["order"])
        stack.wait_until(lambda: running.ask("rdb", "exec sum channel=`NEXTDAY from order") == orders, what="the next session")
        stack.wait_until(lambda: server.logins[-1].packets["R"] >= 2, what="heartbeats")
        self.assertEqual(0, running.stop(), running.log_text())
        stack.wait_until(lambda: server.logins[-1].packets["O"] == 1, what="the logout")

    def test_a_connection_that_is_cut_at_random_places(self):
        server = self.serve(6_000, seed=3)
        rng = random.Random(3)
        server.behaviours = [Behaviour(cut_after=rng.randrange(1, 20_000)) for _ in range(15)]
        server.behaviours += [Behaviour(cut_after=cut) for cut in (0, 1, 2, 3)]
        running = self.start()
        self.compare(running, seconds=90)
        logins = self.wait_for_logins(20)
        self.assertEqual({SESSION}, {login.session for login in logins[1:]})
        wanted = [login.seq for login in logins]
        self.assertEqual(sorted(wanted), wanted)
        self.assertEqual({server.address: 0}, self.stats(running)["line_repeated"])
        self.assertEqual({server.address: 0}, self.stats(running)["line_bad"])

    def test_a_server_that_comes_late(self):
        port = stack.reserve_port(self)
        running = self.start(lines=[f"soup:127.0.0.1:{port}"])
        running.wait_for_log("no server line=soup:")
        self.serve(500, port=port)
        self.compare(running)

    def test_wrong_bytes(self):
        server = self.serve(3_000, seed=5)
        wrong = [b"\0\0", b"\0\1?", b"HTTP/1.1 400 Bad Request\r\n" + bytes(20_000), b"\0\2HH", b"\0\5Z1234", b"\0\1A" + bytes(100)]
        # Whole messages before them: the bytes of the first 100, 200, ... after each login.
        sizes = [3 + len(message) for message in self.messages]
        server.behaviours = [Behaviour(cut_after=sum(sizes[100 * at:100 * at + 100]), wrong=bad) for at, bad in enumerate(wrong)]
        running = self.start()
        self.compare(running)
        stats = self.stats(running)
        self.assertEqual({server.address: len(wrong)}, stats["line_bad"])
        running.wait_for_log(re.compile(r"does not fit line=soup:127\.0\.0\.1:\d+ bad=1 last=\"packet 103, before byte \d+: no type"))
        self.assertEqual([1 + 100 * at for at in range(len(wrong) + 1)], [login.seq for login in server.logins])

    def test_a_slow_server(self):
        server = self.serve(400, seed=6)
        server.behaviours = [Behaviour(slow_bytes=6_000)]
        self.compare(self.start())
        self.assertEqual(1, len(server.logins))

    def test_a_silent_server(self):
        server = self.serve(300, seed=7)
        server.behaviours = [Behaviour(silent_after=100)]
        running = self.start()
        self.compare(running)
        self.assertGreater(server.logins[1].at - server.logins[0].at, 12)
        running.wait_for_log('error="the server is silent"')
        self.assertGreater(server.logins[0].packets["R"], 10)

    def test_rejected_logins(self):
        server = self.serve(200, seed=8)
        server.behaviours = [Behaviour(reject="S"), Behaviour(reject="S")]
        running = self.start()
        self.compare(running)
        running.wait_for_log("reason=no such session session=current seq=1")
        server.password = "other"
        server.behaviours = [Behaviour(cut_after=0)]
        running = self.start(name="refused")
        stats = stack.wait_until(lambda: (found := self.stats(running))["state"] == "failed" and found, what="a failed feed")
        self.assertIn(f"{server.address}: the server refuses the login of user 'me': not authorised", stats["error"].decode())
        self.assertNotIn("secret", running.log_text())

    def test_a_feed_that_is_killed_continues_exactly(self):
        server = self.serve(8_000, seed=9, available=0)
        running = self.start()
        for part in range(1, 5):
            server.publish(2_000 * part - 1_000)
            self.wait_for_logins(part)
            stack.wait_until(lambda part=part: self.stats(running)["line_packets"][server.address] > 500, what="packets")
            running.kill("feed")
            server.publish(2_000 * part)
        logins = self.wait_for_logins(5)
        self.check_each_once(running)
        self.assertEqual({SESSION}, {login.session for login in logins[1:]})
        self.assertEqual(0, running.stop(), running.log_text())
        self.assertGreater(logins[-1].seq, 1_000)

    def test_everything_at_once(self):
        """Each connection is cut or has wrong bytes after a while, and feed and tickerplant are killed in turn."""
        server = self.serve(12_000, seed=14, available=0)
        rng = random.Random(14)
        server.behaviours = [Behaviour(cut_after=rng.randrange(20_000), wrong=rng.choice((b"", b"", b"\0\0", b"\0\1?")))
                             for _ in range(40)]
        running = self.start()
        for part in range(1, 7):
            server.publish(2_000 * part - rng.randrange(1_000))
            time.sleep(rng.random())
            running.kill(("feed", "tickerplant", "feed")[part % 3])
        server.publish(len(self.messages))
        self.check_each_once(running)

    def test_a_tickerplant_that_hangs_makes_the_server_wait(self):
        """More than keep_mib is not kept: the feed reads no further, and loses nothing."""
        server = self.serve(60_000, seed=10, available=1_000)
        running = self.start("keep_mib = 1\nqueue_bytes = 65536\n")
        stack.wait_until(lambda: running.count("order"), what="rows")
        hung = running.pid("tickerplant")
        os.kill(hung, signal.SIGSTOP)
        try:
            server.publish(len(self.messages))
            stack.wait_until(lambda: self.stats(running)["line_packets"][server.address] >= 2_000, what="packets")
            beats = server.logins[0].packets["R"]
            stack.wait_until(lambda: server.logins[0].packets["R"] >= beats + 3, what="heartbeats")
            self.assertIn(self.stats(running)["line_packets"][server.address], range(2_000, 50_000))
        finally:
            os.kill(hung, signal.SIGCONT)
        self.compare(running, seconds=120)
        self.assertNotIn("dropped", self.stats(running)["messages"])
        self.assertEqual(1, len(server.logins))

    def test_a_server_that_has_lost_its_first_messages(self):
        server = self.serve(1_000, seed=11, available=500, first=101)
        running = self.start()
        self.compare_up_to(running, 500, [(1, 100)])
        server.first = 601
        server.behaviours = [Behaviour()]
        running.kill("feed")
        server.publish(1_000)
        self.wait_for_logins(2)
        self.check_each_once(running, [(1, 100), (501, 600)])
        self.assertEqual(["timeout"] * 2, running.ask("rdb", "exec closed from gap"))
        self.assertEqual(501, server.logins[1].seq)

    def compare_up_to(self, running, last, gaps):
        whole, self.messages = self.messages, self.messages[:last]
        self.compare(running, gaps)
        self.messages = whole

    def test_two_servers_are_two_lines(self):
        """What one does not have comes from the other."""
        first = self.serve(3_000, seed=12, available=500)
        first.behaviours = [Behaviour(cut_after=10_000), Behaviour(cut_after=9_999)]
        other = SoupServer(self, SESSION, self.messages, first=1_500)
        running = self.start(lines=[first.address, other.address], gap_wait_ms=30_000)
        # Later, the feed would ask the other one only for what it lacks then.
        stack.wait_until(lambda: other.logins, what="a login at the other server")
        first.publish(3_000)
        self.compare(running)
        lines = stack.wait_until(lambda: sum((stats := self.stats(running))["line_repeated"].values()) >= 1_501 and stats,
                                 what="what both have")
        self.assertEqual({first.address, other.address}, set(lines["line_packets"]))
        self.assertEqual([0, 0], list(lines["line_bad"].values()))

    def test_a_server_beside_a_line_of_datagrams(self):
        """The server has what the datagrams lose, and what they brought while there was no feed."""
        server = self.serve(6_000, seed=13, available=0)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.bind(("127.0.0.1", 0))
            port = sender.getsockname()[1]
        line = f"127.0.0.1:{port}"
        running = self.start(lines=[line, server.address], gap_wait_ms=10_000)
        self.wait_for_logins(1)
        packets = live_lines.mold_packets(SESSION, self.messages, 13)
        rng = random.Random(13)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for number, (first, count, payload) in enumerate(packets):
                if rng.random() < 0.7:
                    sender.sendto(payload, ("127.0.0.1", port))
                if number % 50 == 0:
                    server.publish(first + count - 1)
                    time.sleep(0.005)
                if number == len(packets) // 2:
                    stack.wait_until(lambda: self.stats(running)["line_packets"][line] > 500, what="datagrams")
                    killed = running.pid("feed")
                    os.kill(killed, signal.SIGKILL)
            stack.wait_until(lambda: running.pid("feed") != killed, what="a new feed")
        server.publish(len(self.messages))
        self.check_each_once(running)
        self.assertEqual([], self.gaps(running))

    def test_what_is_refused_by_name(self):
        secret = self.folder / "open"
        secret.write_text("me:secret\n", encoding="ascii")
        secret.chmod(0o644)
        long = self.folder / "long"
        long.touch(0o600)
        long.write_text("long_user:secret\n", encoding="ascii")
        line = "soup:127.0.0.1:1"
        for source, arguments, said in (
                ("itch", ["--lines", "soup:localhost:1"], "lines: 'soup:localhost:1': expected soup:, the IPv4 address"),
                ("itch", ["--lines", f"{line},{line}"], f"lines: {line} is there twice"),
                ("itch", ["--lines", line, "--soup-credentials", "none"], "soup_credentials: none: "),
                ("itch", ["--lines", line, "--soup-credentials", str(secret)], f"soup_credentials: {secret}: "),
                ("itch", ["--lines", line, "--soup-credentials", str(long)], "soup_credentials: a user of 9 and a password of 6 bytes"),
                ("itch", ["--lines", line, "--soup-session", "12345678901"], "soup_session: '12345678901', expected up to 10"),
                ("iex", ["--lines", line], f"lines: '{line}': this source is not sent by SoupBinTCP")):
            with self.subTest(said=said):
                ran = self.run_program("feed", "--source", source, "--tickerplant", "localhost:1", "--data", str(self.folder), *arguments)
                self.assertNotEqual(0, ran.returncode)
                self.assertIn(said, ran.stderr)


if __name__ == "__main__":
    stack.main()

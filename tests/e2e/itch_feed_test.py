#!/usr/bin/env python3
"""Files of ITCH messages through a whole stack, compared with an independent decoder; kills of the feed on the way."""

import gzip
import pathlib
import subprocess
import sys
import tomllib
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import captures, itch_messages, market_rows, metrics_text, stack  # noqa: E402

DATE = "2019.12.30"
TABLES = ["instrument", "status", "auction", "order", "trade", "trade_break"]
EXAMPLE = (stack.ROOT / "examples/itch.toml").read_text(encoding="utf-8")
PATH = tomllib.loads(EXAMPLE)["feed"]["path"]
MESSAGES = 30_000


class ItchFeedTest(stack.StackTest):
    def start(self, path, more=""):
        return self.start_stack(EXAMPLE.replace(PATH, str(path)) + more, "--date", DATE)

    def compare(self, running, messages, date=DATE):
        expected = itch_messages.rows(enumerate(messages, 1), date)
        market_rows.compare(self, running, TABLES, expected, "XNAS")

    def test_the_beginning_of_a_real_day(self):
        path = self.fixture("itch/length-prefixed/first1000.itch")
        running = self.start(path)
        stats = market_rows.wait_until_sent(running)
        self.assertEqual({"S": 1, "R": 993, "H": 3, "Y": 3}, stats["messages"])
        with urllib.request.urlopen(f"http://127.0.0.1:{running.port('feed')}/metrics") as page:
            metrics = metrics_text.parse(page.read().decode())
        self.assertEqual(stats["messages"], metrics.values("tickstack_feed_messages_total"))
        self.compare(running, list(itch_messages.unframed(path.read_bytes())))
        self.assertEqual(0, running.stop(), running.log_text())

    def test_a_map_gives_tables_their_own_names_and_columns(self):
        path = self.fixture("itch/length-prefixed/first1000.itch")
        changes = """
[feed.map.instrument]
name = "stocks"
drop = ["tick", "strike", "expiry", "multiplier", "underlying", "currency"]
rename = { lot = "round_lot", venue = "exchange" }
add = { desk = "equities" }
"""
        running = self.start(path, changes)
        market_rows.wait_until_sent(running)
        expected = itch_messages.rows(enumerate(itch_messages.unframed(path.read_bytes()), 1), DATE)["instrument"]
        stack.wait_until(lambda: running.count("stocks") == len(expected), 60, "the stocks")
        columns = ("time sym id kind market round_lot prior_close luld_tier leverage test flags "
                   "seq recv exchange channel desk").split()
        self.assertEqual(columns, running.ask("rdb", "cols stocks"))
        found = running.ask("rdb", "select from stocks")
        self.assertEqual([row["lot"] for row in expected], list(found["round_lot"]))
        self.assertEqual([row["flags"] for row in expected], list(found["flags"]))
        self.assertEqual([{"XNAS"}, {"equities"}], [set(found["exchange"]), set(found["desk"])])
        stack.wait_until(lambda: running.count("status"), 60, "the states")

    def test_messages_of_a_real_day_in_a_compressed_file(self):
        folder = self.fixture("itch/moldudp64/Nasdaq.Equities.TotalView.Itch.v5.0.20230822")
        messages = []
        for capture in sorted(folder.parent.glob("*/*.pcap")):
            for _, _, payload in captures.datagrams(capture):
                messages += itch_messages.unframed(payload[20:])
        self.assertGreater(len(messages), 100)
        path = self.folder / "day.gz"
        path.write_bytes(gzip.compress(itch_messages.framed(messages) + bytes(2)))
        running = self.start(path)
        stats = market_rows.wait_until_sent(running)
        self.assertEqual("done", stats["state"], stats)
        self.compare(running, messages)

    def test_captures_of_a_real_day(self):
        folder = self.fixture("itch/moldudp64")
        for capture in sorted(folder.glob("*/*.pcap")):
            if capture.name not in ("Multiple.Packets.pcap", "CrossTrade.pcap", "NetOrderImbalanceIndicator.pcap"):
                continue
            with self.subTest(capture=capture.name):
                running = self.start_stack(EXAMPLE.replace(PATH, str(capture)), "--date", "2023.08.22", name=capture.stem)
                stats = market_rows.wait_until_sent(running)
                self.assertEqual("done", stats["state"], stats)
                self.compare_capture(running, capture)
                self.assertEqual(0, running.stop(), running.log_text())

    def compare_capture(self, running, capture):
        """The packets are in order; those whose number is 0 have none."""
        messages, where, gaps, expected_seq = [], [], [], 0
        for when, _, payload in captures.datagrams(capture):
            first = int.from_bytes(payload[10:18], "big")
            if expected_seq and first > expected_seq:
                gaps.append((expected_seq, first - 1))
            expected_seq = first and first + int.from_bytes(payload[18:20], "big")
            for number, message in enumerate(itch_messages.unframed(payload[20:]), first):
                messages.append((len(messages), message))
                where.append({"seq": number if first else None, "recv": when - 946_684_800 * 1_000_000_000,
                              "channel": payload[:10].rstrip(b" \0").decode()})
        expected = itch_messages.rows(messages, "2023.08.22")
        for rows in expected.values():
            for row in rows:
                row.update(where[row["seq"]])
        market_rows.compare(self, running, TABLES, expected, "XNAS")
        stack.wait_until(lambda: running.count("gap") >= len(gaps), 60, "the gaps")
        found = running.ask("rdb", "select first_seq,last_seq from gap")
        self.assertEqual(gaps, list(zip(found["first_seq"], found["last_seq"])))

    def test_every_type_and_kills_of_the_feed(self):
        seed = 7
        messages = list(itch_messages.random_day(MESSAGES, seed))
        path = self.folder / "day.itch"
        path.write_bytes(itch_messages.framed(messages))
        # At this speed, the file takes some 2 s.
        duration_s = MESSAGES * 25e-6
        running = self.start(path, f"speed = {duration_s / 2}\n")
        for part in (1, 2, 3):
            stack.wait_until(lambda rows=part * MESSAGES // 5: running.count("order") > rows, what="some orders")
            running.kill("feed")
        stats = market_rows.wait_until_sent(running)
        self.assertEqual("done", stats["state"], stats)
        self.assertGreater(stats["messages"]["unknown_?"], 0)
        for kind in itch_messages.FIELDS:
            self.assertGreater(stats["messages"][kind], 0, kind)
        self.compare(running, messages)

    def test_a_file_that_is_cut_off_fails_the_feed_after_its_rows(self):
        messages = list(itch_messages.random_day(100, 1))
        path = self.folder / "day.itch"
        path.write_bytes(itch_messages.framed(messages)[:-1])
        running = self.start(path)
        stats = market_rows.wait_until_sent(running)
        self.assertEqual("failed", stats["state"])
        begin = len(itch_messages.framed(messages[:-1]))
        self.assertIn(f"{path}: byte {begin}: the file is cut off within message 100", stats["error"].decode())
        stack.wait_until(lambda: running.count("order") == len(itch_messages.rows(
            enumerate(messages[:-1], 1), DATE)["order"]), what="the rows before")
        self.compare(running, messages[:-1])

    def test_the_command_alone_says_what_it_needs(self):
        for arguments, error in ((["--date", DATE], "--path is missing"), (["--path", "x"], "--date is missing"),
                                 (["--path", "x", "--date", DATE], "x")):
            ran = subprocess.run([stack.PROGRAM, "feed", "--source", "itch", "--tickerplant", "localhost:1", *arguments],
                                 stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60)
            self.assertNotEqual(0, ran.returncode)
            self.assertIn(error, ran.stderr)


if __name__ == "__main__":
    stack.main()

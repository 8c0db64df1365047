#!/usr/bin/env python3
"""Captures of CME's MDP 3.0 through a whole stack, compared with an independent decoder; two lines that lose and reorder
packets; kills of the feed on the way."""

import pathlib
import random
import sys
import tomllib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import captures, market_rows, mdp3_messages, stack  # noqa: E402

DATE = "2016.09.27"
TABLES = ["instrument", "statistic", "status", "level", "order", "trade", "trade_break"]
EXAMPLE = (stack.ROOT / "examples/mdp3.toml").read_text(encoding="utf-8")
PATH = tomllib.loads(EXAMPLE)["feed"]["path"]
CHANNELS = {"224.0.31.11:14320": "310", "224.0.32.11:15320": "310"}
WITHOUT_LINES = EXAMPLE.replace("channels = ", "# channels = ")
PACKETS = 4_000


class Mdp3FeedTest(stack.StackTest):
    def compare(self, running, path, channels):
        packets, gaps = mdp3_messages.merged(list(captures.datagrams(path)), channels)
        expected = mdp3_messages.rows(packets)
        market_rows.compare(self, running, TABLES, expected, "XCME")
        stack.wait_until(lambda: running.count("gap") >= len(gaps), 60, "the gaps")
        rows = running.ask("rdb", "select channel,first_seq,last_seq from gap")
        self.assertEqual(gaps, list(zip(rows["channel"], rows["first_seq"], rows["last_seq"])))
        return gaps

    def test_both_lines_of_a_real_channel(self):
        path = self.fixture("cme-mdp3/20160927_mdp3_v1.8.pcapng")
        running = self.start_stack(EXAMPLE.replace(PATH, str(path)), "--date", DATE)
        stats = market_rows.wait_until_sent(running)
        self.assertEqual("done", stats["state"], stats)
        self.assertEqual({"12": 6, "30": 99, "32": 4_898, "35": 179, "37": 57, "42": 60, "packets": 10_000, "repeated": 5_000},
                         stats["messages"])
        self.assertEqual([], self.compare(running, path, CHANNELS))
        self.assertEqual(0, running.stop(), running.log_text())

    def test_real_packets_of_version_9(self):
        folder = self.fixture("cme-mdp3/omi/Mdp3.Sbe.v1.9")
        for path in sorted(folder.glob("*.pcap")):
            with self.subTest(path=path.name):
                running = self.start_stack(WITHOUT_LINES.replace(PATH, str(path)), "--date", DATE, name=path.stem)
                stats = market_rows.wait_until_sent(running)
                self.assertEqual("done", stats["state"], stats)
                destination = next(captures.datagrams(path))[1]
                self.compare(running, path, {destination: destination})
                self.assertEqual(0, running.stop(), running.log_text())

    def test_two_lines_that_lose_and_reorder_packets_and_kills_of_the_feed(self):
        rng = random.Random(13)
        begin, sent = 1_475_000_000_000_000_000, []
        for number, payload in enumerate(mdp3_messages.random_day(PACKETS, 5, begin)):
            for line in CHANNELS:
                if number and rng.random() < 0.05:
                    continue
                sent += [(begin + number * 1_000_000 + rng.randrange(30_000_000), line, payload)] * rng.choice((1, 1, 1, 2))
        sent.sort(key=lambda packet: packet[0])
        path = self.folder / "day.pcap"
        captures.write(path, sent)
        # At this speed, the file takes some 2 s.
        running = self.start_stack(EXAMPLE.replace(PATH, str(path)) + f"speed = {PACKETS / 2_000}\n", "--date", DATE)
        for part in (1, 2, 3):
            stack.wait_until(lambda rows=part * PACKETS // 5: running.count("level") > rows, what="some levels")
            running.kill("feed")
        stats = market_rows.wait_until_sent(running)
        self.assertEqual("done", stats["state"], stats)
        self.assertGreater(stats["messages"]["unknown_200"], 0)
        for template in mdp3_messages.TEMPLATES:
            self.assertGreater(stats["messages"][str(template)], 0, template)
        self.assertEqual([], [name for name in stats["messages"] if name.startswith("bad")], running.log_text())
        self.assertGreater(len(self.compare(running, path, CHANNELS)), 3)

    def test_without_lines_two_destinations_fail_the_feed_by_name(self):
        path = self.fixture("cme-mdp3/20160927_mdp3_v1.8.pcapng")
        running = self.start_stack(WITHOUT_LINES.replace(PATH, str(path)), "--date", DATE)
        stats = market_rows.wait_until_sent(running)
        self.assertEqual("failed", stats["state"])
        for text in ("224.0.31.11:14320", "224.0.32.11:15320", "expected `channels`"):
            self.assertIn(text, stats["error"].decode())


if __name__ == "__main__":
    stack.main()

#!/usr/bin/env python3
"""Captures of multicast PITCH and files of TCP PITCH through a whole stack, compared with an independent decoder; two
lines that lose and reorder packets; kills of the feed on the way."""

import gzip
import pathlib
import random
import sys
import tomllib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import captures, market_rows, pitch_messages, stack  # noqa: E402

DATE = "2023.08.22"
TABLES = ["instrument", "status", "auction", "order", "trade", "trade_break"]
EXAMPLE = (stack.ROOT / "examples/pitch.toml").read_text(encoding="utf-8")
PATH = tomllib.loads(EXAMPLE)["feed"]["path"]
MESSAGES = 20_000
LINES = ("233.209.92.195:30215", "233.209.92.131:30215")
FUTURES = 'market = "futures"\nvenue = "XCBF"\ntime_zone = "America/Chicago"\n'


class PitchFeedTest(stack.StackTest):
    def start(self, path, more="", name="stack"):
        return self.start_stack(EXAMPLE.replace(PATH, str(path)) + more, "--date", DATE, name=name)

    def compare(self, running, datagrams, market="equities", venue="BATS"):
        zone = "America/Chicago" if market == "futures" else "America/New_York"
        found, gaps = pitch_messages.merged(datagrams)
        market_rows.compare(self, running, TABLES, pitch_messages.rows(found, DATE, zone, market), venue, by="channel")
        stack.wait_until(lambda: running.count("gap") >= len(gaps), 60, "the gaps")
        rows = running.ask("rdb", "select channel,first_seq,last_seq from gap")
        self.assertEqual(gaps, list(zip(rows["channel"], rows["first_seq"], rows["last_seq"])))
        return gaps

    def compare_fixtures(self, pattern, more="", **market):
        """All captures of a kind, one after the other, so that some packets occur twice."""
        folder = self.fixture("pitch/multicast")
        packets = [packet for path in sorted(folder.glob(pattern)) for packet in captures.datagrams(path)]
        self.assertGreater(len(packets), 2)
        path = self.folder / "fixtures.pcap"
        captures.write(path, packets)
        running = self.start(path, more)
        stats = market_rows.wait_until_sent(running)
        self.assertEqual("done", stats["state"], stats)
        self.assertEqual([], [name for name in stats["messages"] if name.startswith(("bad", "unknown"))])
        self.compare(running, packets, **market)

    def test_real_orders_of_equities(self):
        self.compare_fixtures("Byx*/*.pcap")

    def test_real_messages_of_futures(self):
        self.compare_fixtures("Futures*/*.pcap", FUTURES, market="futures", venue="XCBF")

    def packets(self, market, seed):
        """Messages in packets of up to 20, with heartbeats."""
        rng = random.Random(seed)
        messages, seq = list(pitch_messages.random_day(MESSAGES, seed, market)), 1
        while messages:
            count = rng.randrange(20)
            while sum(len(message) for message in messages[:count]) > 1_400:
                count -= 1
            yield pitch_messages.packet(7, seq, messages[:count])
            seq += len(messages[:count])
            messages = messages[count:]

    def test_two_lines_that_lose_and_reorder_packets_and_kills_of_the_feed(self):
        rng = random.Random(11)
        begin, sent = 1_692_711_000_000_000_000, []
        for number, payload in enumerate(self.packets("equities", 5)):
            for line in LINES:
                if number and rng.random() < 0.1:
                    continue
                sent += [(begin + number * 1_000_000 + rng.randrange(30_000_000), line, payload)] * rng.choice((1, 1, 1, 2))
        sent.sort(key=lambda packet: packet[0])
        path = self.folder / "day.pcap"
        captures.write(path, sent)
        # At this speed, the file takes some 2 s.
        running = self.start(path, f"speed = {(sent[-1][0] - begin) / 2e9}\n")
        for part in (1, 2, 3):
            stack.wait_until(lambda rows=part * MESSAGES // 6: running.count("order") > rows, what="some orders")
            running.kill("feed")
        stats = market_rows.wait_until_sent(running)
        self.assertEqual("done", stats["state"], stats)
        for kind in (*pitch_messages.EQUITIES, 0x01):
            name = f"unknown_{kind:#04x}" if kind == 0x01 else f"{kind:#04x}"
            self.assertGreater(stats["messages"][name], 0, name)
        self.assertGreater(stats["messages"]["repeated"], 0)
        self.assertGreater(len(self.compare(running, sent)), 3)

    def test_every_type_of_options_and_futures(self):
        for market, more, venue in (("options", 'market = "options"\nvenue = "XCBO"\n', "XCBO"), ("futures", FUTURES, "XCBF")):
            with self.subTest(market=market):
                sent = [(1_692_711_000_000_000_000 + number, LINES[0], payload)
                        for number, payload in enumerate(self.packets(market, 3))]
                path = self.folder / f"{market}.pcap"
                captures.write(path, sent)
                running = self.start(path, more, name=market)
                stats = market_rows.wait_until_sent(running)
                self.assertEqual("done", stats["state"], stats)
                for kind in pitch_messages.MARKETS[market]:
                    self.assertGreater(stats["messages"][f"{kind:#04x}"], 0, kind)
                self.assertEqual([], self.compare(running, sent, market, venue))
                self.assertEqual(0, running.stop(), running.log_text())

    def test_the_lines_of_a_real_session(self):
        path = self.fixture("pitch/tcp-ascii/pitch_example_data")
        running = self.start(path)
        stats = market_rows.wait_until_sent(running)
        self.assertEqual({"A": 10_361, "E": 20, "P": 27, "X": 9_592},
                         {name: count for name, count in stats["messages"].items() if name != "unmatched"})
        market_rows.compare(self, running, TABLES, pitch_messages.line_rows(path.read_bytes(), DATE), "BATS")

    def test_lines_of_every_type_in_a_compressed_file(self):
        data = pitch_messages.random_lines(5_000, 2)
        path = self.folder / "lines.gz"
        path.write_bytes(gzip.compress(data))
        running = self.start(path)
        stats = market_rows.wait_until_sent(running)
        self.assertEqual("done", stats["state"], stats)
        for kind in pitch_messages.LINES:
            self.assertGreater(stats["messages"][kind], 0, kind)
        market_rows.compare(self, running, TABLES, pitch_messages.line_rows(data, DATE), "BATS")

    def test_a_message_of_another_market_is_counted_and_named(self):
        future = self.fixture("pitch/multicast/Futures.DepthOfBook.Pitch.v1.1.6/AddOrderShortMessage.pcap")
        running = self.start(future)
        stats = market_rows.wait_until_sent(running)
        self.assertEqual(1, stats["messages"]["bad_0x22"])
        running.wait_for_log("of type 0x22 and 25 bytes: its type has another length in this market")


if __name__ == "__main__":
    stack.main()

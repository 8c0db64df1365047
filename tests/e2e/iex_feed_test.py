#!/usr/bin/env python3
"""Captures of IEX through a whole stack, compared with an independent decoder."""

import pathlib
import sys
import tomllib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import captures, iex_messages, market_rows, stack  # noqa: E402

TABLES = ["instrument", "status", "auction", "quote", "level", "order", "trade", "trade_break"]
EXAMPLE = (stack.ROOT / "examples/iex.toml").read_text(encoding="utf-8")
PATH = tomllib.loads(EXAMPLE)["feed"]["path"]
GAP = ["channel", "session", "first_seq", "last_seq"]


class IexFeedTest(stack.StackTest):
    def compare(self, name, kill=False, cut_off=False):
        path = self.fixture(name)
        running = self.start_stack(EXAMPLE.replace(PATH, str(path)), "--date", "2023.10.02", name=path.stem)
        if kill:
            running.kill("feed")
        stats = market_rows.wait_until_sent(running)
        if cut_off:
            self.assertEqual("failed", stats["state"], stats)
            self.assertIn(f"{path}: packet {len(list(captures.datagrams(path))) + 1}: truncated", stats["error"].decode())
        else:
            self.assertEqual("done", stats["state"], stats)
        self.assertEqual(len(list(captures.datagrams(path))), stats["messages"]["packets"])
        expected = iex_messages.rows(path)
        gaps = expected.pop("gap", [])
        market_rows.compare(self, running, TABLES, expected, "IEXG")
        stack.wait_until(lambda: running.count("gap") >= len(gaps), 60, "the gaps")
        found = running.ask("rdb", f"select {','.join(GAP)} from gap")
        self.assertEqual([[gap[column] for gap in gaps] for column in GAP], [list(found[column]) for column in GAP])
        self.assertEqual(1 if cut_off else 0, running.stop(), running.log_text())

    def test_deep_with_a_kill(self):
        self.compare("iex-hist/20231002_deep10.pcap.gz", kill=True)

    def test_tops(self):
        self.compare("iex-hist/market/20170710_tops16.pcapng.gz")

    def test_a_capture_that_is_cut_off_gives_its_whole_packets(self):
        self.compare("iex-hist/20180103_tops16.pcapng", cut_off=True)

    def test_deep_plus_whose_packets_are_in_disorder(self):
        self.compare("iex-hist/market/omi/DeepPlus.IexTp.1.0.2/all_message_types.pcap")


if __name__ == "__main__":
    stack.main()

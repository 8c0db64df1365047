#!/usr/bin/env python3
"""Files of Databento through a whole stack, compared with an independent decoder; kills of the feed on the way."""

import collections
import pathlib
import subprocess
import sys
import tomllib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import dbn_messages, market_rows, stack, zstd_frames  # noqa: E402

DATE = "2023.12.25"
TABLES = ["instrument", "statistic", "status", "auction", "quote", "level", "order", "trade", "bar"]
EXAMPLE = (stack.ROOT / "examples/dbn.toml").read_text(encoding="utf-8")
PATH = tomllib.loads(EXAMPLE)["feed"]["path"]


class DbnFeedTest(stack.StackTest):
    def start(self, path, more="", name="stack"):
        return self.start_stack(EXAMPLE.replace(PATH, str(path)) + more, "--date", DATE, name=name)

    def compare(self, running, expected):
        market_rows.compare(self, running, TABLES, expected, None)

    def feed(self, running, path):
        """Publishes a file by a feed of its own, and returns how it ended."""
        return subprocess.run(
            [stack.PROGRAM, "feed", "--source", "dbn", "--tickerplant", f"localhost:{running.port('tickerplant')}", "--path", path,
             "--date", DATE, "--name", "files", "--start", "--exit-when-done"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120)

    def test_every_sample(self):
        folder = self.fixture("dbn")
        empty = self.folder / "empty.dbn"
        empty.write_bytes(dbn_messages.file_bytes(3, []))
        running = self.start(empty)
        expected = collections.defaultdict(list)
        files = 0
        for path in sorted(folder.rglob("test_data.*")) + sorted(folder.rglob("*futures*")) + sorted(folder.rglob("*-fut*")):
            ran = self.feed(running, path)
            if path.suffix == ".dbz" or ".frag" in path.name:
                self.assertNotEqual(0, ran.returncode, path)
                self.assertIn(f"{path}: byte 0: expected DBN, found {'DBZ' if path.suffix == '.dbz' else 'records without'}", ran.stderr)
                continue
            self.assertEqual(0, ran.returncode, f"{path}: {ran.stderr}")
            for table, rows in dbn_messages.rows(path).items():
                expected[table] += rows
            files += 1
        self.assertEqual(95, files)
        self.assertEqual(set(TABLES), set(expected))
        self.compare(running, expected)
        self.assertEqual(0, running.stop(), running.log_text())

    def test_a_day_of_orders(self):
        path = self.fixture("dbn/market/esh4-glbx-mdp3-20231225.mbo.dbn.zst")
        running = self.start(path)
        stats = market_rows.wait_until_sent(running)
        self.assertEqual("done", stats["state"], stats)
        self.assertEqual({"mbo": 68_792}, stats["messages"])
        self.compare(running, dbn_messages.rows(path))

    def test_every_type_of_every_version_and_kills_of_the_feed(self):
        count = 8_000
        for version in (1, 2, 3):
            with self.subTest(version=version):
                path = self.folder / f"random{version}.dbn"
                content = dbn_messages.random_file(version, count, seed=version)
                # Version 3 is compressed, in two frames.
                path.write_bytes(content if version < 3 else b"".join(
                    zstd_frames.compress(part) for part in (content[:100_000], content[100_000:])))
                expected = dbn_messages.rows(path)
                self.assertEqual(set(TABLES), set(expected))
                # At this speed, the file takes some 2 s.
                running = self.start(path, f"speed = {count * 100e-6 / 2}\n", name=f"version{version}")
                for part in (1, 2, 3):
                    stack.wait_until(lambda part=part, running=running, rows=len(expected["order"]):
                                     running.count("order") > part * rows // 5, what="some orders")
                    running.kill("feed")
                stats = market_rows.wait_until_sent(running)
                self.assertEqual("done", stats["state"], stats)
                self.compare_counts(content, stats["messages"])
                self.compare(running, expected)
                self.assertEqual(0, running.stop(), running.log_text())

    def compare_counts(self, content, messages):
        records = [dbn_messages.split(record, version) for version, _, record in dbn_messages.records(content)]
        kinds = collections.Counter(None if record is None else record["rtype"] for record in records)
        self.assertEqual(kinds.pop(None), messages.pop("unknown_w"))
        messages.pop("heartbeats", None)
        self.assertEqual(sorted(kinds.values()), sorted(messages.values()))
        self.assertEqual(kinds[0xA0], messages["mbo"])
        self.assertEqual(kinds[0x21], messages["ohlcv-1m"])

    def test_a_file_that_is_cut_off_fails_the_feed_after_its_rows(self):
        content = dbn_messages.random_file(2, 300, seed=5)
        path = self.folder / "cut.dbn"
        path.write_bytes(content[:-1])
        running = self.start(path)
        stats = market_rows.wait_until_sent(running)
        self.assertEqual("failed", stats["state"])
        last = list(dbn_messages.records(content))[-1][2]
        begin = len(content) - len(last)
        self.assertIn(f"{path}: byte {begin}: the file is cut off within record 300: found {len(last) - 1} of {len(last)} bytes",
                      stats["error"].decode())
        path.write_bytes(content[:begin])
        self.compare(running, dbn_messages.rows(path))


if __name__ == "__main__":
    stack.main()

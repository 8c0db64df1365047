#!/usr/bin/env python3
"""Recorded websocket messages of crypto exchanges through a whole stack, compared with an independent decoder; kills of
the feed on the way; recordings from which a message was removed."""

import gzip
import pathlib
import subprocess
import sys
import tomllib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import market_rows, stack, websocket_messages  # noqa: E402

DATE = "2021.04.17"
TABLES = ["quote", "level", "trade", "gap"]
EXAMPLE = (stack.ROOT / "examples/websocket.toml").read_text(encoding="utf-8")
FEED = tomllib.loads(EXAMPLE)["feed"]
OLD = "crypto-ws/cryptofeed-2021-04-17/"
RECORDINGS = {
    "binance": ["BINANCE.ws.1.0", "BINANCE.http.0.0"],
    "bitstamp": ["BITSTAMP.ws.19.0", "BITSTAMP.http.18.0"],
    "coinbase": ["COINBASE.ws.28.0"],
    "deribit": ["DERIBIT.ws.30.0"],
    "kraken": ["KRAKEN.ws.48.0", "KRAKEN.ws.49.0", "KRAKEN.ws.50.0"],
}
HFTBACKTEST = "crypto-ws/hftbacktest/spot_ethusdt_20240808.gz"
CHECKSUMS = 4269


class WebsocketFeedTest(stack.StackTest):
    def start(self, venue, paths, more="", name="stack"):
        config = EXAMPLE.replace(FEED["path"], str(paths[0])).replace(f'venue = "{FEED["venue"]}"', f'venue = "{venue}"')
        if paths[1:]:
            config += f"merge = {[str(path) for path in paths[1:]]}\n"
        return self.start_stack(config + more, "--date", DATE, name=name)

    def compare(self, running, venue, paths, state="done"):
        """Waits until the feed has sent all, and returns its statistics and the expected recording."""
        stats = market_rows.wait_until_sent(running)
        self.assertEqual(state, stats["state"], stats)
        expected = websocket_messages.Recording(venue, websocket_messages.merged(paths))
        market_rows.compare(self, running, TABLES, expected.rows, venue)
        return stats, expected

    def test_recordings_of_each_venue(self):
        for venue, names in RECORDINGS.items():
            with self.subTest(venue=venue):
                paths = [self.fixture(OLD + name) for name in names]
                running = self.start(venue, paths, name=venue)
                stats, expected = self.compare(running, venue, paths)
                self.assertNotIn("gap", expected.rows)
                self.assertFalse([name for name in stats["messages"] if name.startswith("bad_")], stats)
                if venue == "kraken":
                    self.assertEqual(CHECKSUMS, stats["messages"]["checksums"])
                self.assertEqual(0, running.stop(), running.log_text())

    def test_the_other_form_of_a_recording_and_kills_of_the_feed(self):
        paths = [self.fixture("crypto-ws/cryptofeed-v3/KRAKEN.jsonl.zst")]
        # It was recorded in 31 s.
        running = self.start("kraken", paths, "speed = 12\n")
        for rows in (7_000, 9_000, 11_000):
            stack.wait_until(lambda rows=rows: running.count("level") > rows, what="some levels")
            running.kill("feed")
        stats, _ = self.compare(running, "kraken", paths)
        self.assertEqual(CHECKSUMS, stats["messages"]["checksums"])

    def test_a_book_of_updates_has_the_best_prices_that_the_exchange_sends_beside(self):
        paths = [self.fixture(HFTBACKTEST)]
        running = self.start("binance", paths)
        _, expected = self.compare(running, "binance", paths)
        self.assertNotIn("gap", expected.rows)
        quotes = {row["seq"]: row for row in expected.rows["quote"]}
        book, compared = {"B": {}, "S": {}}, 0
        for row in expected.rows["level"]:
            if row["cond"] == "unsynced":
                continue
            if row["cond"] == "clear":
                book = {"B": {}, "S": {}}
                continue
            book[row["side"]].pop(row["price"], None)
            if row["size"]:
                book[row["side"]][row["price"]] = row["size"]
            if row["complete"] and row["seq"] in quotes:
                quote = quotes[row["seq"]]
                bid, ask = max(book["B"]), min(book["S"])
                self.assertEqual((quote["bid"], quote["bsize"], quote["ask"], quote["asize"]),
                                 (bid, book["B"][bid], ask, book["S"][ask]), quote)
                compared += 1
        self.assertGreater(compared, 100)

    def test_a_message_that_was_removed_is_one_gap(self):
        lines = gzip.decompress(self.fixture(HFTBACKTEST).read_bytes()).splitlines(keepends=True)
        updates = [number for number, line in enumerate(lines) if b"depthUpdate" in line]
        removed = updates[len(updates) // 2]
        path = self.folder / "removed.gz"
        path.write_bytes(gzip.compress(b"".join(lines[:removed] + lines[removed + 1:])))
        running = self.start("binance", [path])
        stats, _ = self.compare(running, "binance", [path])
        self.assertEqual(1, stats["messages"]["gaps"])
        gap = running.ask("rdb", "select from gap")
        update = websocket_messages.parse(lines[removed].partition(b" ")[2])["data"]
        self.assertEqual([int(update["U"])], list(gap["first_seq"]))
        self.assertEqual([int(update["u"])], list(gap["last_seq"]))
        self.assertEqual((["ethusdt@depth@100ms"], ["ETHUSDT"], ["removed.gz"], ["end"]),
                         tuple(list(gap[column]) for column in ("channel", "sym", "session", "closed")))

    def test_a_book_without_one_of_its_updates_has_a_wrong_checksum(self):
        lines = self.fixture(OLD + "KRAKEN.ws.50.0").read_bytes().splitlines(keepends=True)
        path = self.folder / "removed"
        path.write_bytes(b"".join(lines[:2000] + lines[2001:]))
        running = self.start("kraken", [path])
        stats, expected = self.compare(running, "kraken", [path])
        self.assertEqual((1, 1), (stats["messages"]["gaps"], stats["messages"]["bad_checksums"]))
        self.assertEqual(expected.counts["checksums"], stats["messages"]["checksums"])
        (gap,) = expected.rows["gap"]
        self.assertEqual(websocket_messages.parse(lines[2000].partition(b" ")[2])[-1], gap["sym"])

    def test_what_does_not_fit_is_counted_and_a_cut_fails_the_feed(self):
        lines = self.fixture(OLD + "COINBASE.ws.28.0").read_bytes().splitlines(keepends=True)[:200]
        path = self.folder / "damaged"
        whole = lines[:100] + [b"no record\n", b"1618677817.5: {no json\n", b'1618677817.5: {"type":"match","product_id":"X"}\n']
        whole += lines[100:]
        path.write_bytes(b"".join(whole) + b'1618677860.5: {"type":"l2update",')
        running = self.start("coinbase", [path])
        stats = market_rows.wait_until_sent(running)
        self.assertEqual("failed", stats["state"])
        self.assertIn(f"{path}: byte {sum(map(len, whole))}: line {len(whole) + 1}: the file is cut off", stats["error"].decode())
        counts = stats["messages"]
        self.assertEqual((1, 2, 1), tuple(counts[name] for name in ("bad_line", "bad_json", "bad_match")))
        path = self.folder / "undamaged"
        path.write_bytes(b"".join(lines))
        expected = websocket_messages.Recording("coinbase", websocket_messages.read(path)).rows
        for table, rows in expected.items():
            stack.wait_until(lambda table=table, rows=rows: running.count(table) == len(rows), what=f"the rows of {table}")

    def test_the_command_alone_says_what_it_needs(self):
        path = self.folder / "empty"
        path.write_bytes(b"")
        for arguments, error in (([], "--path is missing"), (["--path", str(path)], "venue: expected one of binance"),
                                 (["--path", str(path), "--venue", "nyse"], 'found "nyse"'),
                                 (["--path", str(path), "--venue", "kraken", "--merge", "none"], "none")):
            ran = subprocess.run([stack.PROGRAM, "feed", "--source", "websocket", "--tickerplant", "localhost:1", *arguments],
                                 stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60)
            self.assertNotEqual(0, ran.returncode)
            self.assertIn(error, ran.stderr)


if __name__ == "__main__":
    stack.main()

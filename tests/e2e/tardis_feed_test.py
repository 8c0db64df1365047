#!/usr/bin/env python3
"""CSV files of Tardis through a whole stack, compared with an independent decoder; kills of the feed on the way."""

import gzip
import pathlib
import subprocess
import sys
import tomllib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import market_rows, stack, tardis_messages  # noqa: E402

DATE = "2020.04.01"
TABLES = ["quote", "level", "trade"]
EXAMPLE = (stack.ROOT / "examples/tardis.toml").read_text(encoding="utf-8")
PATH = tomllib.loads(EXAMPLE)["feed"]["path"]
LINES = 20_000


class TardisFeedTest(stack.StackTest):
    def start(self, path, more="", name="stack"):
        return self.start_stack(EXAMPLE.replace(PATH, str(path)) + more, "--date", DATE, name=name)

    def compare(self, running, text):
        market_rows.compare(self, running, TABLES, tardis_messages.rows(text), "")

    def test_every_real_file(self):
        for path in sorted(self.fixture("tardis").glob("*.csv")):
            with self.subTest(path=path.name):
                running = self.start(path, name=path.stem)
                stats = market_rows.wait_until_sent(running)
                self.assertEqual("done", stats["state"], stats)
                text = path.read_text(encoding="ascii")
                self.assertEqual(len(text.split()) - 1, sum(stats["messages"].values()))
                self.compare(running, text)
                self.assertEqual(0, running.stop(), running.log_text())

    def test_every_kind_and_kills_of_the_feed(self):
        for kind in tardis_messages.KINDS:
            with self.subTest(kind=kind):
                text = tardis_messages.random_file(kind, LINES, 3)
                path = self.folder / f"{kind}.csv.gz"
                path.write_bytes(gzip.compress(text.encode("ascii")))
                # The lines take some 1.8 s.
                running = self.start(path, "speed = 0.9\n", name=kind)
                table = {"trades": "trade", "quotes": "quote"}.get(kind, "level")
                expected = len(tardis_messages.rows(text)[table])
                for part in (1, 2):
                    stack.wait_until(lambda rows=part * expected // 4: running.count(table) > rows, what="some rows")
                    running.kill("feed")
                stats = market_rows.wait_until_sent(running)
                self.assertEqual("done", stats["state"], stats)
                self.compare(running, text)
                self.assertEqual(0, running.stop(), running.log_text())

    def test_ids_are_strings_also_after_the_end_of_the_day(self):
        text = tardis_messages.random_file("trades", 1000, 4)
        path = self.folder / "trades.csv"
        path.write_text(text, encoding="ascii")
        running = self.start(path, "batch_rows = 1\n[hdb]\n[eod]\nretry_s = 0.1\n")
        self.assertEqual("done", market_rows.wait_until_sent(running)["state"])
        self.compare(running, text)
        self.assertEqual("f", running.ask("rdb", "exec first t from meta trade where c=`size").decode())
        wanted = [row["id"] for row in tardis_messages.rows(text)["trade"]]
        running.ask("tickerplant", ".u.end[]")
        stack.wait_until(lambda: running.count("trade", "hdb") == 1000, what="the partition")
        found = running.ask("hdb", f"`seq xasc select seq,id from trade where date={DATE}")
        self.assertEqual(wanted, [value.decode("ascii") for value in found["id"]])

    def test_a_feed_of_other_types_is_refused(self):
        path = self.folder / "trades.csv"
        path.write_text(tardis_messages.random_file("trades", 10, 5), encoding="ascii")
        tables = "[tables]\ntrade = 'time p, sym s, price f, size j, side c, cond s, id j, seq j, recv p, venue s, channel s'\n"
        running = self.start(path, tables)
        stats = market_rows.wait_until_sent(running)
        self.assertEqual("failed", stats["state"])
        self.assertIn("trade", stats["error"].decode())
        self.assertEqual(0, running.count("trade"))

    def test_lines_that_do_not_fit_and_a_cut(self):
        text = tardis_messages.random_file("trades", 50, 6)
        bad = "binance,BTCUSDT,1,1600000000000000,1,up,1,1\n"
        path = self.folder / "trades.csv"
        path.write_text(text + bad + text.splitlines()[-1], encoding="ascii")
        running = self.start(path)
        stats = market_rows.wait_until_sent(running)
        self.assertEqual("failed", stats["state"])
        self.assertIn("the file is cut off within line 53: it has no end", stats["error"].decode())
        self.assertEqual(1, stats["messages"]["bad_T"])
        running.wait_for_log(f"{path}: line 52: its side is not buy, sell or unknown: {bad.strip()}")
        self.compare(running, text)

    def test_the_command_alone_says_what_it_needs(self):
        (self.folder / "ticker.csv").write_text("exchange,symbol,timestamp,local_timestamp,mark_price\n", encoding="ascii")
        for arguments, error in (([], "--path is missing"), (["--path", "none.csv"], "none.csv"),
                                 (["--path", "bybit_liquidations_2021-01-01.csv.gz"], "than liquidations"),
                                 (["--path", "ticker.csv"], "ticker.csv: expected the header of incremental_book_L2")):
            ran = subprocess.run([stack.PROGRAM, "feed", "--source", "tardis", "--tickerplant", "localhost:1", *arguments],
                                 stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60,
                                 cwd=self.folder)
            self.assertNotEqual(0, ran.returncode)
            self.assertIn(error, ran.stderr)


if __name__ == "__main__":
    stack.main()

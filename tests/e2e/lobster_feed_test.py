#!/usr/bin/env python3
"""Message and orderbook files of LOBSTER through a whole stack, compared with an independent decoder; kills of the feed on the way."""

import gzip
import pathlib
import subprocess
import sys
import tomllib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import lobster_messages, market_rows, stack  # noqa: E402

DATE = "2012.06.21"
TABLES = ["status", "order", "trade"]
EXAMPLE = (stack.ROOT / "examples/lobster.toml").read_text(encoding="utf-8")
PATH = tomllib.loads(EXAMPLE)["feed"]["path"]
MESSAGES = 30_000


class LobsterFeedTest(stack.StackTest):
    def start(self, path, more="", name="stack"):
        return self.start_stack(EXAMPLE.replace(PATH, str(path)) + more, "--date", DATE, name=name)

    def compare(self, running, text, symbol="AAPL", book=None):
        tables = TABLES + ([] if book is None else ["quote", "level"])
        market_rows.compare(self, running, tables, lobster_messages.rows(text, DATE, symbol, book), "XNAS")

    def test_every_real_file(self):
        for path in sorted(self.fixture("lobster").glob("*_message_*.csv")):
            with self.subTest(path=path.name):
                running = self.start(path, name=path.stem)
                stats = market_rows.wait_until_sent(running)
                self.assertEqual("done", stats["state"], stats)
                text = path.read_text(encoding="ascii")
                self.assertEqual(len(text.split()), sum(stats["messages"].values()))
                self.compare(running, text)
                self.assertEqual(0, running.stop(), running.log_text())

    def test_every_real_book(self):
        for path in sorted(self.fixture("lobster").glob("*_message_*.csv")):
            with self.subTest(path=path.name):
                book = path.with_name(path.name.replace("_message_", "_orderbook_"))
                running = self.start(path, f"book = '{book}'\n", name=book.stem)
                stats = market_rows.wait_until_sent(running)
                self.assertEqual("done", stats["state"], stats)
                self.compare(running, path.read_text(encoding="ascii"), book=book.read_text(encoding="ascii"))
                self.assertEqual(0, running.stop(), running.log_text())

    def test_a_book_and_kills_of_the_feed(self):
        text, book = lobster_messages.random_day(MESSAGES, 11), lobster_messages.random_book(MESSAGES, 12)
        path, book_path = self.folder / "day.csv", self.folder / "book.csv.gz"
        path.write_text(text, encoding="ascii")
        book_path.write_bytes(gzip.compress(book.encode("ascii")))
        running = self.start(path, f"speed = 1.8\nsymbol = 'MSFT'\nbook = '{book_path}'\n")
        levels = len(lobster_messages.rows(text, DATE, "MSFT", book)["level"])
        for part in (1, 2, 3):
            stack.wait_until(lambda rows=part * levels // 5: running.count("level") > rows, what="some levels")
            running.kill("feed")
        stats = market_rows.wait_until_sent(running)
        self.assertEqual("done", stats["state"], stats)
        self.compare(running, text, "MSFT", book)

    def test_a_book_of_other_messages(self):
        text, book = lobster_messages.random_day(20, 1), lobster_messages.random_book(20, 2)
        path, book_path = self.folder / "GOOG_2012-06-21_message_5.csv", self.folder / "book.csv"
        path.write_text(text, encoding="ascii")
        for lines, error in ((19, "it ends after line 19, before the messages do"),
                             (21, "line 21: there is no message for it")):
            with self.subTest(lines=lines):
                book_path.write_text("".join((book + book).splitlines(keepends=True)[:lines]), encoding="ascii")
                running = self.start(path, f"book = '{book_path}'\n", name=f"lines{lines}")
                stats = market_rows.wait_until_sent(running)
                self.assertEqual("failed", stats["state"])
                self.assertIn(f"{book_path}: {error}", stats["error"].decode())
                self.assertEqual(min(lines, 20), sum(stats["messages"].values()))
                running.stop()

    def test_every_type_and_kills_of_the_feed(self):
        text = lobster_messages.random_day(MESSAGES, 11)
        path = self.folder / "day.csv.gz"
        path.write_bytes(gzip.compress(text.encode("ascii")))
        # The messages take some 3.7 s; at this speed, some 2 s.
        running = self.start(path, "speed = 1.8\nsymbol = 'MSFT'\n")
        orders = len(lobster_messages.rows(text, DATE, "MSFT")["order"])
        for part in (1, 2, 3):
            stack.wait_until(lambda rows=part * orders // 5: running.count("order") > rows, what="some orders")
            running.kill("feed")
        stats = market_rows.wait_until_sent(running)
        self.assertEqual("done", stats["state"], stats)
        self.assertEqual(set("1234567"), set(stats["messages"]))
        self.compare(running, text, "MSFT")

    def test_lines_that_do_not_fit_and_a_cut(self):
        lines = lobster_messages.random_day(100, 3).splitlines(keepends=True)
        path = self.folder / "GOOG_2012-06-21_34200000_57600000_message_1.csv"
        # An unknown type has a number, but no row.
        path.write_text("".join(lines) + "34200,9,1,1,1,1\n34200,1,1,1,1.5,1\n34200.5,1,1,", encoding="ascii")
        running = self.start(path)
        stats = market_rows.wait_until_sent(running)
        self.assertEqual("failed", stats["state"])
        self.assertIn("the file is cut off within line 103: it does not have 6 fields", stats["error"].decode())
        self.assertEqual((1, 1), (stats["messages"]["unknown_9"], stats["messages"]["bad_1"]))
        running.wait_for_log(f"{path}: line 102: its price is not a number of 1/10000 dollar: 34200,1,1,1,1.5,1")
        self.compare(running, "".join(lines), "GOOG")

    def test_the_command_alone_says_what_it_needs(self):
        file = "AAPL_2012-06-21_34200000_57600000_message_10.csv"
        for arguments, error in ((["--date", DATE], "--path is missing"), (["--path", file], "--date is missing"),
                                 (["--path", file, "--date", "2012.06.22"], "the file's name is of 2012-06-21, --date is 2012.06.22"),
                                 (["--path", "day.csv", "--date", DATE], "name its symbol (--symbol"),
                                 (["--path", file, "--date", DATE], file)):
            ran = subprocess.run([stack.PROGRAM, "feed", "--source", "lobster", "--tickerplant", "localhost:1", *arguments],
                                 stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60,
                                 cwd=self.folder)
            self.assertNotEqual(0, ran.returncode)
            self.assertIn(error, ran.stderr)


if __name__ == "__main__":
    stack.main()

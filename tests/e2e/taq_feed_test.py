#!/usr/bin/env python3
"""Files of NYSE Daily TAQ through a whole stack, compared with an independent decoder; kills of the feed on the way."""

import gzip
import pathlib
import subprocess
import sys
import tomllib
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import market_rows, stack, taq_messages  # noqa: E402

DATE = "2016.10.03"
FIXED_DATE = "2014.02.06"
TABLES = ["quote", "trade", "trade_break"]
EXAMPLE = (stack.ROOT / "examples/taq.toml").read_text(encoding="utf-8")
PATH = tomllib.loads(EXAMPLE)["feed"]["path"]
RECORDS = 20_000


class TaqFeedTest(stack.StackTest):
    def start(self, path, more="", name="stack", date=DATE):
        return self.start_stack(EXAMPLE.replace(PATH, str(path)) + more, "--date", date, name=name)

    def compare(self, running, text, kind, date=DATE):
        market_rows.compare(self, running, TABLES, taq_messages.rows(text, kind, date), "")

    def test_a_real_file_of_fixed_width(self):
        with zipfile.ZipFile(self.fixture("taq/small_test_data_public.zip")) as archive:
            text = archive.read(archive.namelist()[0]).decode("ascii")
        path = self.folder / "taqquote20140206"
        path.write_text(text, encoding="ascii", newline="")
        running = self.start(path, date=FIXED_DATE)
        stats = market_rows.wait_until_sent(running)
        self.assertEqual("done", stats["state"], stats)
        self.assertEqual({"Q": 9994}, stats["messages"])
        self.compare(running, text, "quote", FIXED_DATE)
        self.assertEqual(0, running.stop(), running.log_text())

    def test_a_real_file_that_was_cut_off(self):
        with zipfile.ZipFile(self.fixture("taq/small_test_data_public.zip")) as archive:
            text = archive.read(archive.namelist()[0]).decode("ascii")
        lines = text.splitlines(keepends=True)[:101]
        path = self.folder / "part"
        path.write_text("".join(lines), encoding="ascii", newline="")
        running = self.start(path, "kind = 'quote'\n", date=FIXED_DATE)
        stats = market_rows.wait_until_sent(running)
        self.assertEqual("failed", stats["state"], stats)
        self.assertIn(f"{path}: found 100 records, expected 9994", stats["error"].decode())
        self.compare(running, "".join(lines), "quote", FIXED_DATE)

    def test_delimited_files_and_kills_of_the_feed(self):
        for kind, name in (("trade", "EQY_US_ALL_TRADE"), ("quote", "SPLITS_US_ALL_BBO_A"), ("nbbo", "EQY_US_ALL_NBBO")):
            with self.subTest(kind=kind):
                text = taq_messages.random_file(kind, RECORDS, 8, DATE)
                path = self.folder / f"{name}_20161003.gz"
                path.write_bytes(gzip.compress(text.encode("ascii")))
                # The records take some 1 s.
                running = self.start(path, "speed = 0.5\n", name=kind)
                table = "trade" if kind == "trade" else "quote"
                for part in (1, 2):
                    stack.wait_until(lambda rows=part * RECORDS // 5: running.count(table) > rows, what="some rows")
                    running.kill("feed")
                stats = market_rows.wait_until_sent(running)
                self.assertEqual("done", stats["state"], stats)
                self.compare(running, text, kind)
                self.assertEqual(0, running.stop(), running.log_text())

    def test_files_of_fixed_width(self):
        for kind in taq_messages.FIXED:
            for date, digits in (("2013.05.17", 9), ("2016.03.18", 12)):
                with self.subTest(kind=kind, date=date):
                    text = taq_messages.random_fixed(kind, 500, 9, date, digits)
                    path = self.folder / f"{kind}.{date}"
                    path.write_text(text, encoding="ascii", newline="")
                    running = self.start(path, f"kind = '{kind}'\n", name=f"{kind}{digits}", date=date)
                    stats = market_rows.wait_until_sent(running)
                    self.assertEqual("done", stats["state"], stats)
                    market_rows.compare(self, running, TABLES, taq_messages.rows(text, kind, date, digits), "")
                    self.assertEqual(0, running.stop(), running.log_text())

    def test_fractions_of_shares(self):
        text = taq_messages.random_file("trade", 300, 10, DATE, fractions=True)
        path = self.folder / "EQY_US_ALL_TRADE_20161003"
        path.write_text(text, encoding="ascii")
        running = self.start(path, "sizes = 'float'\n", name="float")
        self.assertEqual("done", market_rows.wait_until_sent(running)["state"])
        self.compare(running, text, "trade")
        running = self.start(path, name="long")
        stats = market_rows.wait_until_sent(running)
        self.assertEqual(sum("." in line.split("|")[4] for line in text.splitlines()[1:-1]), sum(
            count for name, count in stats["messages"].items() if name.startswith("bad_")))
        running.wait_for_log("its volume is not whole")
        self.compare(running, "".join(line for line in text.splitlines(keepends=True)
                                      if line.startswith(("Time", "END")) or "." not in line.split("|")[4]), "trade")

    def test_the_command_alone_says_what_it_needs(self):
        (self.folder / "EQY_US_ALL_TRADE_20161004").write_text("Time|Exchange\n", encoding="ascii")
        for arguments, error in (
                (["--date", DATE], "--path is missing"), (["--path", "x"], "--date is missing"),
                (["--path", "x", "--date", DATE], "x"),
                (["--path", "EQY_US_ALL_TRADE_20161004", "--date", DATE], "the file's name is of 2016.10.04, --date is 2016.10.03"),
                (["--path", "EQY_US_ALL_TRADE_20161004", "--date", "2016.10.04"], "expected a column"),
                (["--path", "x", "--date", DATE, "--kind", "bars"], "kind: expected trade, quote or nbbo, found 'bars'"),
                (["--path", "x", "--date", DATE, "--sizes", "int"], "sizes: expected long or float, found 'int'")):
            ran = subprocess.run([stack.PROGRAM, "feed", "--source", "taq", "--tickerplant", "localhost:1", *arguments],
                                 stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60,
                                 cwd=self.folder)
            self.assertNotEqual(0, ran.returncode)
            self.assertIn(error, ran.stderr)


if __name__ == "__main__":
    stack.main()

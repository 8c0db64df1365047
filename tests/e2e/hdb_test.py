#!/usr/bin/env python3
"""Past days: a database is generated, served by a stack's hdb, extended and reloaded while it answers, damaged, and
distributed over its segments."""

import fcntl
import json
import os
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kdb_ipc, stack  # noqa: E402

CONFIG = "[hdb]\nquery_threads = 2\n"
QUOTES = 20_000


class HdbTest(stack.StackTest):
    def generate(self, database, *flags):
        done = self.run_program("hdb", "generate", str(database), "--quotes", str(QUOTES), "--symbols", "50", *flags)
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stderr

    def test_days_are_served_and_new_ones_found_by_a_reload(self):
        running = self.start_stack(CONFIG)
        with running.connect("hdb") as hdb:
            self.assertEqual(0, hdb.call("count tables[]"), "there is no database yet")
            database = running.data / "hdb"
            self.generate(database, "--days", "3", "--from", "2024.01.04")
            hdb.call("\\l .")
            self.assertEqual(["quote", "trade"], hdb.call("tables[]"))
            self.assertEqual(3 * QUOTES, hdb.call("count quote"))
            self.assertEqual(3 * QUOTES // 10, hdb.call("exec sum n from select n:count i by date from trade"))
            self.assertEqual(3, hdb.call("count date"), "4, 5 and 8 January: the days between are a weekend")
            self.assertEqual(8, hdb.call("`dd$last date"))
            everything = hdb.call("exec sum bsize from quote")
            by_symbol = hdb.call("exec sum s from select s:sum bsize by sym from quote")
            self.assertEqual(everything, by_symbol)
            whole = hdb.call("exec sum bsize from quote where date=2024.01.05")
            parts = sum(hdb.call(f"exec sum bsize from quote where date=2024.01.05,{sym}")
                        for sym in ("sym=first exec distinct sym from quote",
                                    "sym<>first exec distinct sym from quote"))
            self.assertEqual(whole, parts)
            joined = hdb.call("count aj[`sym`time;select from trade where date=2024.01.05;"
                              "select sym,time,bid from quote where date=2024.01.05]")
            self.assertEqual(QUOTES // 10, joined)
            self.generate(database, "--days", "1", "--from", "2024.01.09")
            self.assertEqual(3 * QUOTES, hdb.call("count quote"))
            hdb.call(".hdb.reload[]")
            self.assertEqual(4 * QUOTES, hdb.call("count quote"))
            self.assertEqual(everything, hdb.call("exec sum bsize from quote where date<2024.01.09"))
            with self.assertRaisesRegex(kdb_ipc.QError, "nobody"):
                hdb.call("select from nobody")

    def test_days_have_as_many_trades_as_wanted(self):
        for trades in (0, 1, 12_345):
            said = self.generate(self.folder / str(trades), "--days", "2", "--trades", str(trades))
            self.assertEqual(2, said.count(f" trade={trades} quote={QUOTES} "), said)

    def test_a_day_begins_where_the_one_before_it_closed(self):
        for name, *flags in (("one",), ("two", "--trades", "500")):
            database = self.folder / name
            self.generate(database, "--days", "2", *flags)
            port, _ = self.start_process("hdb", "--db", str(database))
            with kdb_ipc.connect_within(port) as hdb:
                closed, opened = (
                    hdb.call(f"exec bid from select {which} bid by sym from quote where date=2024.01.0{day}")
                    for which, day in (("last", 1), ("first", 2)))
            self.assertEqual(50, len(closed))
            self.assertEqual(50, len(opened))
            for before, after in zip(closed, opened):
                self.assertLess(abs(after - before), 0.02 * before)

    def test_the_same_options_give_the_same_days(self):
        for name in ("one", "two"):
            self.generate(self.folder / name, "--days", "2", "--seed", "7")
        files = sorted(path.relative_to(self.folder / "one") for path in (self.folder / "one").rglob("*")
                       if path.is_file() and not path.name.endswith("$"))
        self.assertGreater(len(files), 20)
        for file in files:
            self.assertEqual((self.folder / "one" / file).read_bytes(), (self.folder / "two" / file).read_bytes(), file)

    def test_a_day_that_is_there_is_not_written_again(self):
        self.generate(self.folder / "db", "--days", "1")
        done = self.run_program("hdb", "generate", str(self.folder / "db"), "--days", "1", "--quotes", "10")
        self.assertEqual(1, done.returncode)
        self.assertIn("2024.01.01: is there already", done.stderr)

    def test_wrong_options_of_generate_are_wrong_usage_and_write_nothing(self):
        for flags, said in ((("--from", "2024.13.01"), "expected a date"), (("--compression", "foo"), "foo"),
                            (("--from", "2292.04.11"), "expected days from 1707.09.23 to 2292.04.10"),
                            (("--from", "1707.09.22"), "expected days from 1707.09.23 to 2292.04.10"),
                            (("--from", "9999.12.31", "--days", "2"), "expected days from"),
                            (("--from", "2292.04.08", "--days", "2"), "found 2292.04.11")):
            done = self.run_program("hdb", "generate", str(self.folder / "none"), "--quotes", "10", *flags)
            self.assertEqual(2, done.returncode, done.stderr)
            self.assertIn(said, done.stderr)
        self.assertFalse((self.folder / "none").exists())
        self.generate(self.folder / "last", "--days", "2", "--from", "2292.04.07")
        self.assertTrue((self.folder / "last" / "2292.04.08").exists())

    def test_a_damaged_file_fails_only_the_queries_that_need_it(self):
        database = self.folder / "db"
        self.generate(database, "--days", "2")
        damaged = database / "2024.01.02" / "trade" / "price"
        damaged.write_bytes(b"nonsense" * 100)
        port, _ = self.start_process("hdb", "--db", str(database))
        with kdb_ipc.connect_within(port) as hdb:
            with self.assertRaisesRegex(kdb_ipc.QError, str(damaged)):
                hdb.call("select sum price from trade")
            self.assertEqual(QUOTES // 10, hdb.call("count select price from trade where date=2024.01.01"))
            self.assertEqual(2 * QUOTES // 10, hdb.call("count select size from trade"))

    def test_a_segment_that_is_not_mounted_yet_ends_nothing(self):
        database = self.folder / "db"
        database.mkdir()
        segment = self.folder / "disk"
        (database / "par.txt").write_text(f"{segment}\n")
        port, _ = self.start_process("hdb", "--db", str(database))
        with kdb_ipc.connect_within(port) as hdb:
            self.assertEqual(0, hdb.call("count tables[]"))
            self.assertIn(f"{segment}: no such directory".encode(), hdb.call("first .hdb.problems[]"))
            segment.mkdir()
            self.generate(database, "--days", "1")
            hdb.call("\\l .")
            self.assertEqual(QUOTES, hdb.call("count quote"))
            self.assertEqual(0, hdb.call("count .hdb.problems[]"))

    def test_segments_are_balanced_without_a_row_lost(self):
        database = self.folder / "db"
        database.mkdir()
        segments = [self.folder / "disk0", self.folder / "disk1", self.folder / "disk2"]
        segments[0].mkdir()
        (database / "par.txt").write_text(f"{segments[0]}\n")
        self.generate(database, "--days", "6")
        for segment in segments[1:]:
            segment.mkdir()
        (database / "par.txt").write_text("".join(f"{segment}\n" for segment in segments))
        before = json.loads(self.run_program("hdb", "balance", str(database), "--json").stdout)
        self.assertAlmostEqual(3.0, before["skew"])
        self.assertEqual(6, before["segments"][0]["partitions"])
        with open(database / "tickstack.lock$", "w", encoding="utf-8") as lock:  # As an rdb that writes its day.
            whole_file = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
            fcntl.fcntl(lock, fcntl.F_OFD_SETLK, whole_file)
            refused = self.run_program("hdb", "balance", str(database), "--move")
        self.assertEqual(1, refused.returncode)
        self.assertIn("tickstack.lock$", refused.stderr)
        self.assertEqual(6, len(list(segments[0].iterdir())))
        moved = self.run_program("hdb", "balance", str(database), "--move")
        self.assertEqual(0, moved.returncode)
        self.assertIn("send it `\\l .`", moved.stderr)
        after = json.loads(self.run_program("hdb", "balance", str(database), "--json").stdout)
        self.assertLess(after["skew"], 1.2)
        self.assertEqual([], after["moves"])
        self.assertEqual([2, 2, 2], [segment["partitions"] for segment in after["segments"]])
        port, _ = self.start_process("hdb", "--db", str(database))
        with kdb_ipc.connect_within(port) as hdb:
            self.assertEqual(6 * QUOTES, hdb.call("count quote"))
            self.assertEqual(6, hdb.call("count date"))

            # By age: all days are older than a week.
            by_age = ("hdb", "balance", str(database), "--older-than", "7", "--old-in")
            refused = self.run_program(*by_age, str(self.folder))
            self.assertEqual(1, refused.returncode)
            self.assertIn("par.txt", refused.stderr)
            moved = self.run_program(*by_age, str(segments[2]), "--move")
            self.assertEqual(0, moved.returncode, moved.stderr)
            self.assertEqual(6, len(list(segments[2].iterdir())))
            again = self.run_program(*by_age, str(segments[2]), "--json")
            self.assertEqual([], json.loads(again.stdout)["moves"])
            hdb.call("\\l .")
            self.assertEqual(6 * QUOTES, hdb.call("count quote"))


if __name__ == "__main__":
    stack.main()

#!/usr/bin/env python3
"""The end of a day: its partition, read by a decoder that shares no code with the writer, has what was published,
whatever was killed meanwhile."""

import collections
import concurrent.futures
import filecmp
import os
import pathlib
import random
import shutil
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kdb_files, kdb_ipc, stack  # noqa: E402
from tests.support.kdb_ipc import Typed  # noqa: E402

DATE, NEXT = "2020.03.09", "2020.03.10"
CONFIG = """
[tables]
trade = "time p, sym s, price f, size i, note *"
quote = "time p, sym s, bid f, ask f, mode c"
bars = "sym s, minute p | high f"
nothing = "time p, sym s"
[tickerplant]
batch_ms = 5
[[rdb]]
[[rdb]]
name = "other"
port = 5012
[eod]
retry_s = 0.1
keep_logs_days = {keep}
[eod.compression]
default = "{compression}"
"trade.price" = "none"
"""
OPEN = 637_000_000_000_000_000
NAMES = ["IBM", "AIG", "", "ZZZ", "BRK.A"]


class EndOfDayTest(stack.StackTest):
    def setUp(self):
        super().setUp()
        self.random = random.Random(9)
        self.trades, self.quotes, self.bars = [], [], {}

    def start(self, compression="none", keep=30):
        return self.start_stack(CONFIG.format(compression=compression, keep=keep), "--date", DATE)

    def publish(self, running, batches, rows=50):
        with running.connect("tickerplant") as feed:
            for batch in range(batches):
                trades, quotes = [], []
                for i in range(rows):
                    # A tenth of the rows are late.
                    when = OPEN + 1000 * (batch * rows + i) - (5_000_000 if i % 10 == 3 else 0)
                    name = self.random.choice(NAMES)
                    note = b"n" * self.random.choice((0, 1, 7, 95, 96, 300))
                    trades.append((when, name, self.random.random(), self.random.randrange(1000), note))
                    quotes.append((when, name, self.random.random(), self.random.random(), b"RAB"[i % 3:i % 3 + 1]))
                self.trades += trades
                self.quotes += quotes
                when, sym, price, size, note = map(list, zip(*trades))
                feed.send([b".u.upd", "trade", [Typed("p", when), sym, price, Typed("i", size), note]])
                when, sym, bid, ask, mode = map(list, zip(*quotes))
                feed.send([b".u.upd", "quote", [Typed("p", when), sym, bid, ask, b"".join(mode)]])
                key = (f"s{batch % 7}", OPEN + batch % 11)
                self.bars[key] = float(batch)
                feed.send([b".u.upd", "bars", [[key[0]], Typed("p", [key[1]]), [self.bars[key]]]])
            feed.call("1")  # Everything before it has been accepted.

    def wait_for_rows(self, running, rdb="rdb"):
        stack.wait_until(lambda: running.count("trade", rdb) == len(self.trades)
                         and running.count("quote", rdb) == len(self.quotes), 60, "all rows")

    def rows_of(self, running, table, columns):
        path = running.data / "hdb" / DATE / table
        read = kdb_files.read_table(str(path), kdb_files.Domains(str(running.data / "hdb")))
        return list(zip(*(read[column].values for column in columns)))

    def check_partition(self, running):
        by_symbol = [(sym, when, price, size, note) for when, sym, price, size, note in self.trades]
        by_symbol.sort(key=lambda row: (row[0].encode(), row[1]))
        self.assertEqual(by_symbol, self.rows_of(running, "trade", ["sym", "time", "price", "size", "note"]))
        by_symbol = [(sym, when, bid, ask, ord(mode)) for when, sym, bid, ask, mode in self.quotes]
        by_symbol.sort(key=lambda row: (row[0].encode(), row[1]))
        self.assertEqual(by_symbol, self.rows_of(running, "quote", ["sym", "time", "bid", "ask", "mode"]))
        self.assertEqual(sorted((*key, high) for key, high in self.bars.items()),
                         sorted(self.rows_of(running, "bars", ["sym", "minute", "high"])))
        self.assertEqual([], self.rows_of(running, "nothing", ["sym", "time"]))
        trade = kdb_files.read_table(str(running.data / "hdb" / DATE / "trade"),
                                     kdb_files.Domains(str(running.data / "hdb")))
        self.assertEqual(len({row[1] for row in self.trades}), len(trade["sym"].index.starts) - 1)

    def end_day(self, running):
        return self.run_program("eod", "--tickerplant", f"127.0.0.1:{running.port('tickerplant')}",
                                "--rdb", f"127.0.0.1:{running.port('rdb')}", "--timeout", "60")

    def test_a_day_is_written_and_the_next_one_captured(self):
        running = self.start()
        self.publish(running, 40)
        self.wait_for_rows(running)
        self.wait_for_rows(running, "other")
        ended = self.end_day(running)
        self.assertEqual(0, ended.returncode, ended.stdout + ended.stderr + running.log_text())
        self.check_partition(running)
        self.assertEqual(0, running.count("trade"))
        stack.wait_until(lambda: running.count("trade", "other") == 0, 60, "the other rdb without the day")
        with running.connect("tickerplant") as feed:
            feed.send([b".u.upd", "trade", [Typed("p", [OPEN]), ["new"], [1.0], Typed("i", [1]), [b"x"]]])
        stack.wait_until(lambda: running.count("trade") == 1, 60, "a row of the next day")
        self.assertTrue((running.data / "tplog" / f"sym{NEXT}").exists())
        stats = running.ask("rdb", ".rdb.stats[]")
        self.assertEqual((1, 1, 0, 0), tuple(stats[key] for key in ("days_ended", "days_written", "days_kept",
                                                                    "day_errors")))
        # A day cannot be ended twice.
        self.assertNotEqual(0, self.end_day(running).returncode)
        self.assertEqual(0, running.stop(), running.log_text())

    def test_the_configuration_of_a_host_without_the_tickerplant(self):
        """Its [[rdb]] says where the tickerplant is."""
        running = self.start()
        self.publish(running, 2)
        self.wait_for_rows(running)
        other = self.folder / "other-host.toml"
        other.write_text(f'[[rdb]]\nname = "rdb"\nport = {running.port("rdb")}\n'
                         f'tickerplant = "127.0.0.1:{running.port("tickerplant")}"\n[eod]\n')
        ended = self.run_program("eod", "--config", str(other), "--timeout", "60")
        self.assertEqual((0, "the day is written to the database\n"), (ended.returncode, ended.stdout), ended.stderr)
        self.assertEqual(NEXT, running.ask("tickerplant", "string .u.d").decode())

    def test_the_log_of_a_past_day_gives_the_same_bytes(self):
        running = self.start("gzip-1")
        self.publish(running, 30)
        self.wait_for_rows(running)
        self.assertEqual(0, self.end_day(running).returncode, running.log_text())
        self.check_partition(running)
        self.assertEqual(0, running.stop(), running.log_text())
        again = self.folder / "again"
        arguments = ("eod", "--config", str(running.folder / "stack.toml"), "--data", str(running.data), "--date", DATE,
                     "--database", str(again))
        written = self.run_program(*arguments)
        self.assertEqual(0, written.returncode, written.stderr)
        for path in sorted((running.data / "hdb" / DATE).rglob("*")):
            if path.is_file():
                other = again / path.relative_to(running.data / "hdb")
                self.assertTrue(filecmp.cmp(path, other, shallow=False), f"{path} is not {other}")
        # A day is written once.
        refused = self.run_program(*arguments)
        self.assertEqual(1, refused.returncode)
        self.assertIn("the day is written", refused.stderr)

    def test_a_damaged_column_is_rebuilt_from_the_log(self):
        running = self.start("gzip-1")
        self.publish(running, 30)
        self.wait_for_rows(running)
        self.assertEqual(0, self.end_day(running).returncode, running.log_text())
        self.assertEqual(0, running.stop(), running.log_text())
        database, log = running.data / "hdb", running.data / "tplog" / f"sym{DATE}"
        arguments = ("--log", str(log), "--stack", str(running.folder / "stack.toml"))
        for column, file in (("price", "price"), ("size", "size"), ("note", "note#"), ("sym", "sym")):
            path = database / DATE / "trade" / file
            whole, times = path.read_bytes(), path.stat()
            damaged = bytearray(whole)
            damaged[len(whole) // 2] ^= 4
            path.write_bytes(damaged)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
            with self.subTest(file=file):
                self.assertEqual(1, self.run_program("hdb", "check", str(database)).returncode)
                repaired = self.run_program("hdb", "repair", str(database), DATE, "trade", column, *arguments)
                self.assertEqual(0, repaired.returncode, repaired.stderr)
                self.assertIn(f"{path}: rebuilt", repaired.stdout)
                self.assertEqual(whole, path.read_bytes())
                checked = self.run_program("hdb", "check", str(database))
                self.assertEqual(0, checked.returncode, checked.stdout)
        self.check_partition(running)
        self.assertEqual([], [path.name for path in database.iterdir() if path.name.startswith("repair.")])

        # Another day's rows are not put in the place of these.
        self.trades, self.quotes, self.bars = [], [], {}
        other = self.start_stack(CONFIG.format(compression="none", keep=30), "--date", DATE, name="other")
        self.publish(other, 3)
        self.wait_for_rows(other)
        self.assertEqual(0, other.stop(), other.log_text())
        refused = self.run_program("hdb", "repair", str(database), DATE, "trade", "price", "--log",
                                   str(other.data / "tplog" / f"sym{DATE}"), *arguments[2:])
        self.assertEqual(1, refused.returncode, refused.stdout)
        self.assertIn("the log gives a file with other checksums", refused.stderr)
        for wrong, text in ((("2020.03.08", "trade", "price"), "no partition 2020.03.08"),
                            ((DATE, "trade", "none"), "/trade/none: no such column"),
                            ((DATE, "none", "price"), "has no table none")):
            refused = self.run_program("hdb", "repair", str(database), *wrong, *arguments)
            self.assertEqual(1, refused.returncode, refused.stdout)
            self.assertIn(text, refused.stderr)

    def eod_of_the_log(self, running, *flags):
        return self.run_program("eod", "--config", str(running.folder / "stack.toml"), "--data", str(running.data),
                                "--date", DATE, *flags)

    def test_a_part_of_a_day_keeps_no_rows_out_in_silence(self):
        running = self.start()
        self.publish(running, 5)
        self.wait_for_rows(running)
        refused = self.eod_of_the_log(running)
        self.assertEqual(1, refused.returncode, refused.stdout)
        self.assertIn("a tickerplant has it open", refused.stderr)
        self.assertFalse((running.data / "hdb" / DATE).exists())
        self.assertEqual(0, running.stop(), running.log_text())

        # Written by request while the tickerplant is down; then the day continues after all.
        part = self.eod_of_the_log(running)
        self.assertEqual(0, part.returncode, part.stderr)
        self.check_partition(running)
        running = self.start()
        self.publish(running, 5)
        self.wait_for_rows(running)
        failed = self.end_day(running)
        self.assertEqual(1, failed.returncode, failed.stdout)
        self.assertRegex(failed.stderr, r"written before, with \d+ rows, expected \d+ rows")
        self.assertEqual(len(self.trades), running.count("trade"))
        stats = running.ask("rdb", ".rdb.stats[]")
        self.assertEqual((1, 20200309), (stats["days_kept"], stats["day_blocked"]))
        (running.data / "hdb" / DATE).rename(self.folder / "away")
        stack.wait_until(lambda: running.ask("rdb", ".rdb.stats[]")["days_kept"] == 0, 60, "the day handed over")
        self.check_partition(running)
        self.assertEqual(0, running.stop(), running.log_text())

    # Goal: a day that has ended stays ended, also with a fixed date. Method: the tickerplant is killed after the
    # end of the day and restarted with the same date.
    def test_a_pinned_date_does_not_go_back(self):
        running = self.start()
        self.publish(running, 5)
        self.wait_for_rows(running)
        self.assertEqual(0, self.end_day(running).returncode, running.log_text())
        self.check_partition(running)
        log = running.data / "tplog" / f"sym{DATE}"
        ended = log.read_bytes()
        self.trades, self.quotes = [], []
        self.publish(running, 2)
        self.wait_for_rows(running)
        running.kill("tickerplant")
        stack.wait_until(lambda: running.ask("rdb", ".rdb.stats[]")["live"] == 1, 60, "the rdb live again")
        self.wait_for_rows(running)
        self.publish(running, 2)
        self.wait_for_rows(running)
        self.assertEqual(ended, log.read_bytes())
        self.assertEqual(0, running.stop(), running.log_text())
        running = self.start()
        self.wait_for_rows(running)
        self.assertEqual(ended, log.read_bytes())
        self.assertEqual(0, running.stop(), running.log_text())

    # Goal: half a day is never written as a whole one. Method: one bit of the log is flipped while the stack is
    # down; the day is ended after the next start.
    def test_a_day_with_a_damaged_log_is_not_written(self):
        running = self.start()
        self.publish(running, 40)
        self.wait_for_rows(running)
        self.assertEqual(0, running.stop(), running.log_text())
        log = running.data / "tplog" / f"sym{DATE}"
        whole = log.read_bytes()
        flipped = bytearray(whole)
        flipped[len(whole) // 2] ^= 1
        log.write_bytes(flipped)

        running = self.start()
        stack.wait_until(lambda: running.ask("rdb", ".rdb.stats[]")["messages_missing"] > 0, 60, "the damage seen")
        self.assertLess(running.count("quote"), len(self.quotes))
        live = running.ask("rdb", ".rdb.stats[]")["live"]
        failed = self.end_day(running)
        self.assertEqual(1, failed.returncode, failed.stdout)
        self.assertRegex(failed.stderr, rf"of {len(self.quotes)} rows of quote \d+ are in memory")
        self.assertIn("block at byte", failed.stderr)
        self.assertFalse((running.data / "hdb" / DATE).exists())
        stats = running.ask("rdb", ".rdb.stats[]")
        self.assertEqual((1, 20200309, 0), (stats["days_kept"], stats["day_blocked"], live))

        # With an undamaged copy of the log, the day is written.
        log.write_bytes(whole)
        stack.wait_until(lambda: running.ask("rdb", ".rdb.stats[]")["days_kept"] == 0, 60, "the day handed over")
        self.check_partition(running)
        self.assertEqual(0, running.stop(), running.log_text())

    # Goal: whichever bit of a log flips, no row is silently missing from a partition. TICKSTACK_FLIPS is the number
    # of tries.
    def test_a_flipped_bit_loses_no_row_in_silence(self):
        flips = int(os.environ.get("TICKSTACK_FLIPS", "5"))
        running = self.start()
        self.publish(running, 40)
        self.wait_for_rows(running)
        self.assertEqual(0, running.stop(), running.log_text())
        data = running.data
        log = data / "tplog" / f"sym{DATE}"
        whole = log.read_bytes()
        kept = self.folder / "kept"
        shutil.copytree(data, kept)
        outcomes = collections.Counter()
        for number in range(flips):
            shutil.rmtree(data)
            shutil.copytree(kept, data)
            bit = self.random.randrange(8 * len(whole))
            flipped = bytearray(whole)
            flipped[bit // 8] ^= 1 << bit % 8
            log.write_bytes(flipped)
            with self.subTest(number=number, bit=bit):
                try:
                    running = self.start()
                except AssertionError as failed:
                    # It did not start, and names the damaged file.
                    self.assertIn(str(log), str(failed))
                    outcomes["not started"] += 1
                    continue
                ended = self.end_day(running)
                if ended.returncode == 0:
                    self.check_partition(running)
                    outcomes["whole"] += 1
                else:
                    self.assertIn("block at byte", ended.stderr)
                    self.assertFalse((data / "hdb" / DATE).exists())
                    outcomes["refused by name"] += 1
                self.assertEqual(0, running.stop(), running.log_text())
        print(f"flipped bits: {dict(outcomes)}", file=sys.stderr)
        self.assertEqual(flips, sum(outcomes.values()))

    def test_a_log_is_written_under_its_own_date_and_with_all_of_its_tables(self):
        running = self.start()
        self.publish(running, 2)
        self.wait_for_rows(running)
        self.assertEqual(0, self.end_day(running).returncode, running.log_text())
        self.assertEqual(0, running.stop(), running.log_text())
        again = self.folder / "again"
        other = self.eod_of_the_log(running, "--database", str(again), "--log", str(running.data / "tplog" / f"sym{NEXT}"))
        self.assertEqual(1, other.returncode)
        self.assertIn(f"expected the log of {DATE}, found a name that ends with {NEXT}", other.stderr)
        config = running.folder / "stack.toml"
        config.write_text(config.read_text().replace('quote = "', 'other = "'))
        unknown = self.eod_of_the_log(running, "--database", str(again))
        self.assertEqual(1, unknown.returncode)
        self.assertIn("rows of a table quote that [tables] does not have", unknown.stderr)
        self.assertTrue((again / DATE / "trade" / "time").exists(), "the other tables are written")
        self.assertFalse((again / DATE / "quote").exists())
        self.assertEqual(1, self.eod_of_the_log(running, "--database", str(again)).returncode)
        config.write_text(config.read_text().replace('other = "', 'quote = "'))
        added = self.eod_of_the_log(running, "--database", str(again))
        self.assertEqual(0, added.returncode, added.stderr)
        for path in sorted((running.data / "hdb" / DATE).rglob("*")):
            if path.is_file():
                other = again / path.relative_to(running.data / "hdb")
                self.assertTrue(filecmp.cmp(path, other, shallow=False), f"{path} is not {other}")

    # Goal: a value that no database can store never keeps a day out of it: it is refused by name, and written as a
    # string if a log has it all the same. Method: a log of another tickerplant, with such values in its rows.
    def test_values_that_no_database_stores(self):
        running = self.start()
        two = [Typed("p", [OPEN, OPEN]), ["a", "b"], [1.0, 2.0], Typed("i", [1, 2])]
        with running.connect("tickerplant") as feed:
            for bad in (None, [1.0, None], kdb_ipc.Dict({"": None, "x": 1})):
                with self.assertRaisesRegex(kdb_ipc.QError, r"^type: trade\.note: row 1 has ::"):
                    feed.call([b".u.upd", "trade", [*two, [b"text", bad]]])
            feed.call([b".u.upd", "trade", [*two, [b"text", [1, b"x"]]]])
        stack.wait_until(lambda: running.count("trade") == 2, 60, "the rows that can be stored")
        self.assertEqual(0, running.stop(), running.log_text())

        function = b"\x64\x00" + kdb_ipc.encode(b"{x+y}")
        notes = [None, b"LAMBDA", [1.0, b"LAMBDA"], b"text"]
        message = kdb_ipc.encode(["upd", "trade", [Typed("p", [OPEN] * 4), ["a"] * 4, [1.0] * 4,
                                                   Typed("i", [1, 2, 3, 4]), notes]])
        quotes = kdb_ipc.encode(["upd", "quote", [Typed("p", [OPEN]), ["a"], [1.0], [2.0], b"R"]])
        log = self.folder / f"sym{DATE}"
        log.write_bytes(b"\xff\x01" + bytes(6) + message.replace(kdb_ipc.encode(b"LAMBDA"), function) + quotes)
        written = self.eod_of_the_log(running, "--log", str(log))
        self.assertEqual(0, written.returncode, written.stderr)
        self.assertIn("values=3", written.stderr + written.stdout)
        self.assertEqual([(b"not stored: ::",), (b"not stored: {x+y}",), ([1.0, b"not stored: {x+y}"],), (b"text",)],
                         self.rows_of(running, "trade", ["note"]))
        self.assertEqual([(1.0,)], self.rows_of(running, "quote", ["bid"]))
        check = self.run_program("hdb", "check", str(running.data / "hdb"))
        self.assertEqual(0, check.returncode, check.stdout)

    # Goal: days of other types than those of the database are refused wherever they could be written.
    def test_other_types_than_those_of_the_database(self):
        running = self.start()
        self.publish(running, 2)
        self.wait_for_rows(running)
        self.assertEqual(0, self.end_day(running).returncode, running.log_text())
        config = running.folder / "stack.toml"
        self.assertEqual(0, self.run_program("check", str(config), "--data", str(running.data)).returncode)
        self.assertEqual(0, running.stop(), running.log_text())
        text = config.read_text()
        config.write_text(text.replace("size i", "size j"))
        expected = (r"trade: size has type j, expected i as in the partition.*trade = \"time p, sym s, price f, size i, "
                    r"note \*\".*retype size j")
        check = self.run_program("check", str(config), "--data", str(running.data))
        self.assertEqual(1, check.returncode, check.stdout)
        self.assertRegex(check.stderr, expected)
        up = self.run_program("up", str(config), "--data", str(running.data), "--ports", "0", "--date", NEXT)
        self.assertEqual(1, up.returncode, up.stderr)
        self.assertRegex(up.stderr.splitlines()[-1], expected)

        # The log of a day of such a stack: its other tables are written.
        rows = [Typed("p", [OPEN]), ["a"], [1.0]]
        trades = kdb_ipc.encode(["upd", "trade", [*rows, Typed("j", [1]), [b"x"]]])
        quotes = kdb_ipc.encode(["upd", "quote", [*rows, [2.0], b"R"]])
        log = self.folder / f"sym{NEXT}"
        log.write_bytes(b"\xff\x01" + bytes(6) + trades + quotes)
        eod = ("eod", "--config", str(config), "--data", str(running.data), "--date", NEXT, "--log", str(log))
        written = self.run_program(*eod)
        self.assertEqual(1, written.returncode, written.stdout)
        self.assertRegex(written.stderr, expected)
        self.assertTrue((running.data / "hdb" / NEXT / "quote" / "bid").exists())
        self.assertFalse((running.data / "hdb" / NEXT / "trade" / "size").exists())
        damaged = self.run_program("hdb", "check", str(running.data / "hdb"))
        self.assertEqual(1, damaged.returncode)
        self.assertRegex(damaged.stdout, rf"{NEXT}/trade: the table of this day is not written: .*size has type j")
        migrated = self.run_program("hdb", "migrate", str(running.data / "hdb"), "--table", "trade", "retype", "size", "j")
        self.assertEqual(0, migrated.returncode, migrated.stderr)
        written = self.run_program(*eod)
        self.assertEqual(0, written.returncode, written.stderr)
        check = self.run_program("hdb", "check", str(running.data / "hdb"))
        self.assertEqual(0, check.returncode, check.stdout)
        self.assertEqual(0, self.run_program("check", str(config), "--data", str(running.data)).returncode)

    # Goal: a stack whose days would take a column away from the queries of all days is refused before it starts, and so
    # is one whose days would hide partitions that are no days. A column that the database lacks is no reason.
    def test_other_columns_than_those_of_the_database(self):
        running = self.start()
        self.publish(running, 2)
        self.wait_for_rows(running)
        self.assertEqual(0, self.end_day(running).returncode, running.log_text())
        self.assertEqual(0, running.stop(), running.log_text())
        config = running.folder / "stack.toml"
        text = config.read_text()
        check = ("check", str(config), "--data", str(running.data))
        config.write_text(text.replace("size i, note *", "note *, size i, ex c"))
        more = self.run_program(*check)
        self.assertEqual(0, more.returncode, more.stderr)

        config.write_text(text.replace(", note *", ""))
        expected = (r"table trade: .*note is missing, the partition has it with type \*: queries would no longer find it in any "
                    r"day.*trade = \"time p, sym s, price f, size i, note \*\".*--table trade drop note`")
        fewer = self.run_program(*check)
        self.assertEqual(1, fewer.returncode, fewer.stdout)
        self.assertRegex(fewer.stderr, expected)
        up = self.run_program("up", str(config), "--data", str(running.data), "--ports", "0", "--date", NEXT)
        self.assertEqual(1, up.returncode, up.stderr)
        self.assertRegex(up.stderr.splitlines()[-1], expected)
        trades = kdb_ipc.encode(["upd", "trade", [Typed("p", [OPEN]), ["a"], [1.0], Typed("i", [1])]])
        log = self.folder / f"sym{NEXT}"
        log.write_bytes(b"\xff\x01" + bytes(6) + trades)
        eod = ("eod", "--config", str(config), "--data", str(running.data), "--date", NEXT, "--log", str(log))
        written = self.run_program(*eod)
        self.assertEqual(1, written.returncode, written.stdout)
        self.assertRegex(written.stderr, "note is missing")
        database = str(running.data / "hdb")
        dropped = self.run_program("hdb", "migrate", database, "--table", "trade", "drop", "note")
        self.assertEqual(0, dropped.returncode, dropped.stderr)
        written = self.run_program(*eod)
        self.assertEqual(0, written.returncode, written.stderr)
        self.assertEqual(0, self.run_program("hdb", "check", database).returncode)

        months = self.folder / "months"
        (months / "2013.09" / "trade").mkdir(parents=True)
        other = self.run_program(*eod[:-4], "--date", NEXT, "--log", str(log), "--database", str(months))
        self.assertEqual(1, other.returncode, other.stdout)
        self.assertRegex(other.stderr, r"2013\.09: a partition by month, expected partitions by date")
        self.assertEqual(["2013.09"], sorted(each.name for each in months.iterdir() if each.name[0] in "12"))

    def test_an_rdb_that_restarts_meanwhile_is_asked_again(self):
        running = self.start()
        self.publish(running, 150, rows=200)
        self.wait_for_rows(running)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(self.end_day, running)
            stack.wait_until(lambda: (running.data / "tplog" / f"sym{NEXT}").exists(), 60, "the next day's log")
            running.kill("rdb")
            ended = waiting.result()
        self.assertEqual(0, ended.returncode, ended.stderr + running.log_text())
        self.check_partition(running)
        self.assertEqual(0, running.stop(), running.log_text())

    def test_kills_in_the_middle_of_it_lose_nothing(self):
        running = self.start()
        self.publish(running, 150, rows=200)
        self.wait_for_rows(running)
        with running.connect("tickerplant") as client:
            client.call(".u.endofday[]")
        for _ in range(6):
            time.sleep(self.random.random() * 0.3)
            running.kill("rdb")

        def written():
            try:
                return (running.data / "hdb" / DATE).exists() and running.ask("rdb", ".rdb.stats[]")["days_kept"] == 0
            except (OSError, kdb_ipc.Closed, kdb_ipc.QError):
                return False
        stack.wait_until(written, 60, "the partition")
        self.check_partition(running)
        self.assertEqual(0, running.stop(), running.log_text())
        left = sorted(path.name for path in (running.data / "hdb").iterdir())
        self.assertEqual(["2020.03.09", "sym", "sym.checksums$", "tickstack.lock$"], left)


if __name__ == "__main__":
    stack.main()

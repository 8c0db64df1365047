#!/usr/bin/env python3
"""Late rows and corrections of a past day, from a log and from a splayed table, while an hdb serves the database."""

import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kdb_ipc, stack  # noqa: E402
from tests.support.kdb_ipc import Typed  # noqa: E402

DATE = "2020.03.09"
CONFIG = """
[tables]
trade = "time p, sym s, price f, size j"
[tickerplant]
batch_ms = 5
[aggengine]
[[rdb]]
[hdb]
[eod]
retry_s = 0.1
"""
OPEN = (7373 * 86_400 + 14 * 3_600 + 1_800) * 1_000_000_000  # 14:30 of that day, in ns since 2000.
ROWS = 200


def upd(rows):
    """Rows (time, sym, price, size) as the message of a feed."""
    when, sym, price, size = map(list, zip(*rows))
    return [b".u.upd", "trade", [Typed("p", when), sym, price, size]]


def write_log(path, *batches):
    body = b"".join(kdb_ipc.encode(["upd", *upd(rows)[1:]]) for rows in batches)
    path.write_bytes(b"\xff\x01" + bytes(6) + body)


def names(*texts):
    return b"\xff\x01\x0b\0" + struct.pack("<i", len(texts)) + b"".join(text.encode() + b"\0" for text in texts)


def vector(code, form, items):
    return b"\xfe\x20" + bytes([code]) + bytes(5) + struct.pack(f"<q{len(items)}{form}", len(items), *items)


def write_splayed(directory, rows):
    """Writes what q's `set` makes of rows whose symbols it enumerated in `sym` of the parent directory."""
    directory.mkdir(parents=True)
    when, sym, price, size = map(list, zip(*rows))
    known = sorted(set(sym))
    (directory.parent / "sym").write_bytes(names(*known))
    (directory / ".d").write_bytes(names("time", "sym", "price", "size"))
    (directory / "time").write_bytes(vector(12, "q", when))
    (directory / "price").write_bytes(vector(9, "d", price))
    (directory / "size").write_bytes(vector(7, "q", size))
    page = bytearray(4096)
    page[0:2], page[16:19] = b"\xfd\x20", b"sym"
    page[4080:4084] = b"\xfd\0\x14\0"
    page[4088:4096] = struct.pack("<q", len(sym))
    (directory / "sym").write_bytes(bytes(page) + struct.pack(f"<{len(sym)}q", *(known.index(s) for s in sym)))


class HdbMergeTest(stack.StackTest):
    def merge(self, database, *arguments):
        return self.run_program("hdb", "merge", str(database), "--date", DATE, *arguments)

    def test_rows_are_added_corrected_and_taken_back(self):
        running = self.start_stack(CONFIG, "--date", DATE)
        rows = [(OPEN + i * 1_000_000_000, ("IBM", "AIG")[i % 2], 100.0 + i % 7, i) for i in range(ROWS)]
        with running.connect("tickerplant") as feed:
            feed.call(upd(rows))
        stack.wait_until(lambda: running.count("trade") == ROWS, 60, "all rows")
        ended = self.run_program("eod", "--tickerplant", f"127.0.0.1:{running.port('tickerplant')}",
                                 "--rdb", f"127.0.0.1:{running.port('rdb')}", "--timeout", "60")
        self.assertEqual(0, ended.returncode, ended.stdout + ended.stderr + running.log_text())
        database = running.data / "hdb"
        day = database / DATE
        day.chmod(0o750)
        flags = ("--stack", str(running.folder / "stack.toml"), "--hdb", f"127.0.0.1:{running.port('hdb')}")
        facts = ("(count trade;exec max high from trade_daily;exec sum trades from trade_minute;"
                 "exec sum volume from trade_daily;exec count i from trade where sym=`NEW)")
        volume = sum(range(ROWS))
        with running.connect("hdb") as hdb:
            before = hdb.call(facts)
            self.assertEqual([ROWS, 106.0, ROWS, volume, 0], before)
            columns = hdb.call("cols trade_daily")

            late = running.folder / "late.log"
            write_log(late, [(OPEN + 1, "IBM", 900.0, 10), (OPEN + 2, "NEW", 5.0, 20)], [(OPEN + 3, "AIG", 1.0, 30)])
            trial = self.merge(database, "--rows", str(late), *flags, "--dry-run")
            self.assertEqual(0, trial.returncode, trial.stderr)
            self.assertIn("200 rows before, 3 added, 0 replaced, 203 now", trial.stdout)
            self.assertEqual(before, hdb.call(facts))
            merged = self.merge(database, "--rows", str(late), *flags)
            self.assertEqual(0, merged.returncode, merged.stderr)
            after = [ROWS + 3, 900.0, ROWS + 3, volume + 60, 1]
            self.assertEqual(after, hdb.call(facts))
            self.assertEqual(columns, hdb.call("cols trade_daily"))
            self.assertEqual([0o750, 0o640], [path.stat().st_mode & 0o777 for path in (day, day / "trade/price")])
            # A repeated command adds nothing.
            again = self.merge(database, "--rows", str(late), *flags)
            self.assertEqual(0, again.returncode, again.stderr)
            self.assertIn("has these rows already", again.stdout)
            self.assertEqual(after, hdb.call(facts))

            # A correction from a splayed table: its price and size replace those of the same symbol and time.
            write_splayed(running.folder / "late" / "trade", [(OPEN, "IBM", 50.0, 7), (OPEN + 1, "IBM", 90.0, 11)])
            corrected = self.merge(database, "--rows", str(running.folder / "late" / "trade") + "/", *flags,
                                   "--corrections", "sym,time")
            self.assertEqual(0, corrected.returncode, corrected.stderr)
            self.assertIn("203 rows before, 0 added, 2 replaced, 203 now", corrected.stdout)
            self.assertEqual([ROWS + 3, 106.0, ROWS + 3, volume + 68, 1], hdb.call(facts))
            self.assertEqual([50.0, 90.0], hdb.call("exec price from trade where sym=`IBM")[:2])
            # Other symbols at the same positions are other rows.
            write_splayed(running.folder / "other" / "trade", [(OPEN, "AIG", 50.0, 7), (OPEN + 1, "AIG", 90.0, 11)])
            for folder, said in (("late", "has these rows already"), ("other", "203 rows before, 2 added")):
                trial = self.merge(database, "--rows", str(running.folder / folder / "trade"), *flags, "--dry-run")
                self.assertIn(said, trial.stdout, trial.stderr)

            for expected in (after, before):
                undone = self.merge(database, "--undo", *flags)
                self.assertEqual(0, undone.returncode, undone.stderr)
                self.assertEqual(expected, hdb.call(facts))
            self.assertEqual(1, self.merge(database, "--undo", *flags).returncode)
            self.assertEqual(0, self.merge(database, "--rows", str(late), *flags).returncode)
            self.assertEqual(after, hdb.call(facts))
        checked = self.run_program("hdb", "check", "--strict", str(database))
        self.assertEqual(0, checked.returncode, checked.stdout)

        # The rdb compares the partition with the day's log when it starts: late rows are not in that log.
        running.kill("rdb")
        stack.wait_until(lambda: running.ask("rdb", ".rdb.stats[]")["day_done"] == 20200309, 60, "the day's log compared")
        self.assertEqual(0, running.ask("rdb", ".rdb.stats[]")["day_blocked"])
        self.assertEqual(0, running.stop(), running.log_text())

    def test_columns_are_changed_in_all_days(self):
        database = self.folder / "db"
        done = self.run_program("hdb", "generate", str(database), "--days", "3", "--quotes", "2000", "--symbols", "5")
        self.assertEqual(0, done.returncode, done.stderr)
        day = max(path for path in database.iterdir() if path.is_dir())
        day.chmod(0o700)
        port, process = self.start_process("hdb", "--db", str(database))

        def migrate(*arguments):
            changed = self.run_program("hdb", "migrate", str(database), "--table", "trade", *arguments)
            self.assertEqual(0, changed.returncode, changed.stderr)
            return changed.stdout
        with kdb_ipc.connect_within(port) as hdb:
            before = hdb.call("(count trade;exec sum size from trade;exec cond from trade)")
            columns = hdb.call("cols trade")
            self.assertIn("3 partitions would be changed", migrate("--dry-run", "drop", "size"))
            migrate("add", "currency", "s", "--default", "USD")
            self.assertEqual(columns, hdb.call("cols trade"), "the hdb has not reloaded")
            self.assertEqual(before, hdb.call("(count trade;exec sum size from trade;exec cond from trade)"))
            migrate("retype", "size", "j")
            migrate("rename", "cond", "condition")
            self.assertEqual(0, hdb.call("count .hdb.problems[]"), "columns of the version that it has loaded")
            self.assertIn("0 partitions changed, 3 had the change", migrate("rename", "cond", "condition"))
            migrate("drop", "stop", "--hdb", f"127.0.0.1:{port}")
            self.assertEqual([{"cond": "condition"}.get(name, name) for name in columns if name != "stop"] + ["currency"],
                             hdb.call("cols trade"))
            self.assertEqual(before, hdb.call("(count trade;exec sum size from trade;exec condition from trade)"))
            self.assertEqual(["USD"], hdb.call("exec distinct currency from trade"))
            self.assertEqual(b"j", hdb.call("exec first t from meta trade where c=`size"))
        self.assertEqual([0o700, 0o600], [path.stat().st_mode & 0o777 for path in (day, day / "trade/currency")])
        checked = self.run_program("hdb", "check", "--strict", str(database))
        self.assertEqual(0, checked.returncode, checked.stdout)
        for code, said, arguments in ((2, "expected a letter", ("add", "x", "wrong")),
                                      (2, "expected a value of type long", ("add", "x", "j", "--default", "1.5")),
                                      (2, "column count: this is a word of q", ("add", "count", "j")),
                                      (2, "column upper: this is a word of q", ("rename", "size", "upper")),
                                      (1, "has an attribute", ("drop", "sym")),
                                      (1, "has no column nothing", ("retype", "nothing", "j"))):
            wrong = self.run_program("hdb", "migrate", str(database), "--table", "trade", *arguments)
            self.assertEqual(code, wrong.returncode, wrong.stderr)
            self.assertIn(said, wrong.stderr)
        process.terminate()
        self.assertEqual(0, process.wait(30), process.log_path.read_text())

    def test_wrong_usage_and_rows_that_do_not_fit(self):
        database = self.folder / "db"
        table = database / DATE / "trade"
        write_splayed(table, [(OPEN, "IBM", 1.0, 2)])
        (table.parent / "sym").rename(database / "sym")
        late = self.folder / "late.log"
        write_log(late, [(OPEN + 86_400_000_000_000, "IBM", 1.0, 2)])
        config = self.folder / "stack.toml"
        config.write_text('[tables]\ntrade = "time p, sym s, price f, size j"\n', encoding="utf-8")
        for code, said, arguments in (
                (2, "found \"yesterday\"", ("--date", "yesterday", "--rows", str(late))),
                (2, "found both", ("--undo", "--rows", str(late))),
                (1, "on other dates than 2020.03.09, such as 2020.03.10", ("--rows", str(late))),
                (1, "no column venue for a key", ("--rows", str(late), "--other-dates", "--corrections", "venue")),
                (1, "has no rows to merge of table quote", ("--rows", str(late), "--table", "quote")),
                (1, "no version is kept", ("--undo",))):
            with self.subTest(said):
                done = self.run_program("hdb", "merge", str(database), *(() if "--date" in arguments else ("--date", DATE)),
                                        "--stack", str(config), *arguments)
                self.assertEqual(code, done.returncode, done.stderr)
                self.assertIn(said, done.stderr)
        self.assertEqual(["2020.03.09", "sym", "tickstack.lock$"], sorted(path.name for path in database.iterdir()))


if __name__ == "__main__":
    stack.main()

#!/usr/bin/env python3
"""A disaster: a stack is backed up while it captures, its data directory is lost, and it is restored, continued by its
feed, and has every row once; the past day and its checksums are there as well."""

import json
import pathlib
import shutil
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import stack  # noqa: E402

DATE, NEXT = "2020.03.09", "2020.03.10"
ROWS = 60_000
CONFIG = """
[tickerplant]
batch_ms = 20
fsync = "interval"
[[rdb]]
[aggengine]
[hdb]
[eod]
retry_s = 0.1
[feed]
rate = 15000
rows = {rows}
start = true
"""
# Numbers that two stacks with the same rows agree on.
TODAY = "(count trade;count quote;exec sum price from trade;exec sum bid from quote)"
PAST = (f"(exec count i from trade where date={DATE};exec count i from quote where date={DATE};"
        f"exec sum price from trade where date={DATE};exec sum bid from quote where date={DATE})")


class BackupTest(stack.StackTest):
    def setUp(self):
        super().setUp()
        self.backup = self.folder / "backup"

    def back_up(self, running, code=0):
        done = self.run_program("backup", str(running.folder / "stack.toml"), str(self.backup), "--data", str(running.data),
                                "--json")
        self.assertEqual(code, done.returncode, done.stderr)
        return json.loads(done.stdout)

    def rows(self, running):
        return running.count("trade") + running.count("quote")

    def test_a_lost_data_directory(self):
        running = self.start_stack(CONFIG.format(rows=ROWS), "--date", DATE)
        stack.wait_until(lambda: self.rows(running) > ROWS // 4, 60, "the first rows")
        first = self.back_up(running)
        with running.connect("tickerplant") as tickerplant:
            tickerplant.call(".u.end[]")
        stack.wait_until(lambda: (running.data / "hdb" / DATE).is_dir(), 60, "the partition")
        stack.wait_until(lambda: self.rows(running) > ROWS // 10, 60, "rows of the next day")
        while True:  # During capture, and while nothing else is lost than what comes after it.
            second = self.back_up(running)
            if self.rows(running) > ROWS // 4 or second["messages"].get(f"tplog/sym{NEXT}", 0) > 0:
                break
        self.assertEqual([], first["problems"] + second["problems"])
        self.assertLess(second["bytes_copied"], second["bytes"])
        self.assertGreater(second["files_kept"], 0)
        past = stack.wait_until(lambda: self.ask_or_none(running, "hdb", PAST), 60, "the past day")

        running.stop(signal.SIGKILL)
        running.destroy()
        shutil.rmtree(running.data)
        verified = self.run_program("restore", str(self.backup))
        self.assertEqual(0, verified.returncode, verified.stderr)
        self.assertIn(f"tplog/sym{NEXT}: ", verified.stdout)
        restored = self.run_program("restore", str(self.backup), str(running.data))
        self.assertEqual(0, restored.returncode, restored.stderr)
        self.assertEqual((running.folder / "stack.toml").read_bytes(), (running.data / "stack.toml").read_bytes())
        for log in (DATE, NEXT):
            checked = self.run_program("log", "check", str(running.data / "tplog" / f"sym{log}"))
            self.assertEqual(0, checked.returncode, checked.stdout + checked.stderr)
        checked = self.run_program("hdb", "check", "--strict", str(running.data / "hdb"))
        self.assertEqual(0, checked.returncode, checked.stdout + checked.stderr)

        # The restored stack has the rows of the backup, and its feed sends the later ones.
        again = stack.Stack(running.folder, CONFIG.format(rows=ROWS), ["--date", NEXT])
        self.addCleanup(again.destroy)
        again.wait_until_ready()
        self.assertEqual(past, stack.wait_until(lambda: self.ask_or_none(again, "hdb", PAST), 60, "the past day"))
        stack.wait_until(lambda: sum(past[:2]) + self.rows(again) == ROWS, 60, "the rest of the rows")
        time.sleep(0.2)
        self.assertEqual(ROWS, sum(past[:2]) + self.rows(again))

        # A stack that was never lost has the same rows.
        other = self.start_stack(CONFIG.format(rows=ROWS).replace("rate = 15000", "rate = 0"), "--date", DATE, name="other")
        stack.wait_until(lambda: self.rows(other) == ROWS, 60, "all rows")
        whole, today = other.ask("rdb", TODAY), again.ask("rdb", TODAY)
        self.assertEqual(whole[:2], [day + now for day, now in zip(past[:2], today[:2])])
        for whole_sum, day, now in zip(whole[2:], past[2:], today[2:]):
            self.assertAlmostEqual(whole_sum, day + now, delta=abs(whole_sum) * 1e-9)
        self.assertEqual(0, again.stop(), again.log_text())
        self.assertEqual(0, other.stop(), other.log_text())

    def ask_or_none(self, running, name, query):
        try:
            return running.ask(name, query)
        except (OSError, stack.kdb_ipc.Closed, stack.kdb_ipc.QError):
            return None

    def test_damage_is_named_and_a_wrong_place_refused(self):
        running = self.start_stack("[tickerplant]\n[[rdb]]\n[feed]\nrate = 0\nrows = 20000\nstart = true\n", "--date", DATE)
        stack.wait_until(lambda: self.rows(running) == 20_000, 60, "the rows")
        self.assertEqual(0, running.stop(), running.log_text())
        log = running.data / "tplog" / f"sym{DATE}"
        bytes_ = bytearray(log.read_bytes())
        bytes_[len(bytes_) // 2] ^= 1
        log.write_bytes(bytes_)
        problems = self.back_up(running, code=1)["problems"]
        self.assertEqual(1, len(problems), problems)
        self.assertIn(f"sym{DATE}", problems[0])
        for command, said in ((["restore", str(self.backup), str(running.data)], "expected an empty or new directory"),
                              (["restore", str(self.folder)], "no backup"),
                              (["backup", str(self.folder / "no.toml"), str(self.backup)], "no.toml")):
            done = self.run_program(*command)
            self.assertNotEqual(0, done.returncode)
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    stack.main()

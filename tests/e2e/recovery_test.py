#!/usr/bin/env python3
"""kill -9 of each process in the middle of a day: at the end every row is there, once."""

import json
import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import lean_archives, stack  # noqa: E402

DATE = "2013.10.07"
ROWS = {"quote": 109_067, "trade": 24_293}  # IBM's day.

# 16 hours of ticks in some 12 s, in small messages, so that a kill always interrupts some work.
CONFIG = """
[tickerplant]
batch_ms = 5
[[rdb]]
[feed]
source = "lean"
path = "{path}"
symbols = ["ibm"]
speed = 4000
batch_rows = 7
[monitor]
query_ms = 50
progress_s = 0
"""


class RecoveryTest(stack.StackTest):
    def start_day(self):
        path = self.fixture("lean-ticks")
        self.path = path
        return self.start_stack(CONFIG.format(path=path), "--date", DATE)

    def wait_for_rows(self, running, rows):
        stack.wait_until(lambda: running.count("quote") + running.count("trade") >= rows, 120, f"{rows} rows in the rdb")

    def check_the_end(self, running):
        self.wait_for_rows(running, sum(ROWS.values()))
        for table, rows in ROWS.items():
            self.assertEqual(rows, running.count(table))
        expected = lean_archives.trade_summary(self.path, "ibm", DATE)
        self.assertEqual(expected.size, running.ask("rdb", "exec sum size from trade"))
        self.assertEqual(expected.last_price, running.ask("rdb", "exec last price from trade"))
        self.assertEqual(0, running.stop(), running.log_text())
        self.check_the_log(running)

    def check_the_log(self, running):
        log = running.data / "tplog" / f"sym{DATE}"
        checked = self.run_program("log", "check", "--json", str(log))
        self.assertEqual(0, checked.returncode, checked.stdout + checked.stderr)
        self.assertEqual(ROWS, json.loads(checked.stdout)["rows"])

    def test_the_rdb_is_killed_twice(self):
        running = self.start_day()
        for rows in (20_000, 60_000):
            self.wait_for_rows(running, rows)
            running.kill("rdb")
        self.check_the_end(running)

    def test_the_tickerplant_is_killed_twice(self):
        running = self.start_day()
        for rows in (20_000, 60_000):
            self.wait_for_rows(running, rows)
            running.kill("tickerplant")
        self.check_the_end(running)

    def test_the_feed_is_killed_twice(self):
        running = self.start_day()
        for rows in (20_000, 60_000):
            self.wait_for_rows(running, rows)
            running.kill("feed")
        self.check_the_end(running)

    def test_all_three_are_killed_at_once(self):
        running = self.start_day()
        self.wait_for_rows(running, 30_000)
        old = {name: running.pid(name) for name in ("rdb", "tickerplant", "feed")}
        for pid in old.values():
            os.kill(pid, signal.SIGKILL)
        stack.wait_until(lambda: all(running.pid(name) != pid for name, pid in old.items()),
                         what="three new processes")
        self.check_the_end(running)

    def test_the_whole_stack_is_killed_and_started_again(self):
        running = self.start_day()
        self.wait_for_rows(running, 30_000)
        pids = [process["pid"] for process in running.processes().values()]
        running.process.kill()
        running.process.wait()
        for pid in pids:
            stack.wait_until(lambda: not stack.is_alive(pid), 30, f"the end of orphan {pid}")
        self.check_the_end(self.start_day())


if __name__ == "__main__":
    stack.main()

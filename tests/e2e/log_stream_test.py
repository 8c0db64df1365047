#!/usr/bin/env python3
"""An rdb that cannot open the log's file gets the log over a connection, whatever ends meanwhile."""

import os
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import stack  # noqa: E402

CONFIG = """
[tables]
a = "time p, sym s, n j, pad *"
[tickerplant]
batch_ms = 50
[[rdb]]
read_log_file = false
"""
# It cannot read rows that it lacks at the end of the day from a file either.
EOD = """
[eod]
log_folder = "/nonexistent"
"""
UPDS, ROWS = 80, 50  # 40 MB: five pieces of the log.
DATE = "2020.03.09"


class LogStreamTest(stack.StackTest):
    def start_day(self, more=""):
        running = self.start_stack(CONFIG + more, "--date", DATE)
        pads = [b"x" * 10_000] * ROWS
        with running.connect("tickerplant") as feed:
            for upd in range(UPDS):
                numbers = list(range(upd * ROWS, (upd + 1) * ROWS))
                feed.call([".u.upd", "a", [["S"] * ROWS, numbers, pads]])
        stack.wait_until(lambda: running.count("a") == UPDS * ROWS, 60, "the rows")
        return running

    def kill_rdb(self, running):
        """Kills the rdb with kill -9; returns when its successor has asked for the log, or is about to."""
        came = running.log_text().count(" rdb connected ")
        os.kill(running.pid("rdb"), signal.SIGKILL)
        stack.wait_until(lambda: running.log_text().count(" rdb connected ") > came, 60, "a new rdb")

    def test_the_tickerplant_is_killed_while_it_sends_the_log(self):
        running = self.start_day()
        for pause_s in (0.004, 0.010, 0.018, 0.028, 0.040):
            self.kill_rdb(running)
            time.sleep(pause_s)
            running.kill("tickerplant")
            stack.wait_until(lambda: running.count("a") == UPDS * ROWS, 60, f"the rows, {pause_s} s")
        self.assertEqual(list(range(UPDS * ROWS)), running.ask("rdb", "exec n from a"))
        stats = running.ask("rdb", ".rdb.stats[]")
        self.assertEqual(0, stats["messages_missing"])
        self.assertEqual(0, running.stop(), running.log_text())

    def test_the_day_ends_while_the_log_is_sent(self):
        running = self.start_day(EOD)
        came = running.log_text().count(" subscriber connected ")
        with running.connect("tickerplant") as other:
            os.kill(running.pid("rdb"), signal.SIGKILL)
            stack.wait_until(lambda: running.log_text().count(" subscriber connected ") > came, 60, "a new rdb")
            other.call(".u.end[]")
            for upd in range(2 * UPDS):  # The next day's log soon exceeds it.
                other.call([".u.upd", "a", [["N"], [upd], [b"y"]]])
        stack.wait_until(lambda: " day written " in running.log_text(), 60, "the day's partition")
        self.assertIn(f" rows={UPDS * ROWS} ", running.log_text())
        stack.wait_until(lambda: running.ask("rdb", ".rdb.stats[]")["days_kept"] == 0, 60, "the day's end")
        stack.wait_until(lambda: running.count("a") == 2 * UPDS, 60, "the next day's rows")
        self.assertEqual(list(range(2 * UPDS)), running.ask("rdb", "exec n from a"))
        self.assertEqual(0, running.ask("rdb", ".rdb.stats[]")["messages_missing"])
        self.assertEqual(0, running.stop(), running.log_text())


if __name__ == "__main__":
    stack.main()

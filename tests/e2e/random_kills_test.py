#!/usr/bin/env python3
"""Lives of a whole stack with real ticks, in which random processes are killed (kill -9), one or several at once, stopped
for a while, or all killed with their supervisor, through the day and while it ends. After each life the log, two RDBs
(DRAM and a persistent tier), bars and the partition have every row once.

TICKSTACK_KILLS is the number of processes to kill in all, TICKSTACK_SEED the seed of the first life; each life has the
next seed. A life prints its seed and what it killed. TICKSTACK_KEEP=DIR keeps data and logs of a life that failed.
"""

import collections
import json
import os
import pathlib
import random
import shutil
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kdb_ipc, lean_archives, stack  # noqa: E402

KILLS = int(os.environ.get("TICKSTACK_KILLS", "12"))
SEED = int(os.environ.get("TICKSTACK_SEED", "1"))
KEEP = os.environ.get("TICKSTACK_KEEP")
DATE = "2013.10.07"
ROWS = {"quote": 109_067, "trade": 24_293}  # IBM's day.
PROCESSES = ("tickerplant", "rdb", "kept", "aggengine", "feed", "hdb")
UNANSWERED = (OSError, kdb_ipc.Closed, kdb_ipc.QError)

CONFIG = """
[tickerplant]
batch_ms = 5
[[rdb]]
[[rdb]]
name = "kept"
port = 5013
[rdb.tier.pmem]
kind = "persistent"
path = "{tier}"
size = "256MiB"
[rdb.placement]
default = "pmem"
trade_minute = "dram"
trade_daily = "dram"
quote_minute = "dram"
quote_daily = "dram"
[aggengine]
publish_ms = 20
[hdb]
[eod]
retry_s = 0.1
[feed]
source = "lean"
path = "{path}"
symbols = ["ibm"]
speed = 4000
batch_rows = 7
"""
# Bars of the day's trades, by the engine and by a query.
BARS = "select minute:`minute$minute,trades,volume,high,low,open,close from trade_minute"
BY_QUERY = ("0!select trades:count i,volume:sum size,high:max price,low:min price,open:first price,close:last price "
            "by minute:time.minute from trade")


class Life:
    """One stack and its day. `kills` counts what was killed, by name."""

    def __init__(self, test, seed):
        self.test, self.seed = test, seed
        self.random = random.Random(seed)
        self.path = test.fixture("lean-ticks")
        self.folder = test.folder / f"life-{seed}"
        self.tier = self.folder / "tier"
        self.tier.mkdir(parents=True)
        self.kills = collections.Counter()
        self.pauses = 0
        self.running = self.start()

    def start(self):
        return self.test.start_stack(CONFIG.format(tier=self.tier, path=self.path), "--date", DATE, name=self.folder.name)

    # --- what is done to it

    def kill(self, names):
        pids = self.running.processes()
        for name in names:
            try:
                os.kill(pids[name]["pid"], signal.SIGKILL)
            except ProcessLookupError:
                continue  # It is between two lives.
            self.kills[name] += 1

    def pause(self, name):
        pid = self.running.pid(name)
        try:
            os.kill(pid, signal.SIGSTOP)
            time.sleep(self.random.uniform(0.02, 1.0))
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            return
        self.pauses += 1

    def kill_all(self):
        """Kills the supervisor and starts another one at once, while the old processes still end."""
        self.running.process.kill()
        self.running.process.wait()
        self.kills["(all, with the supervisor)"] += 1
        self.running.ready_file.unlink()
        self.running = self.start()

    def hurt(self):
        how = self.random.random()
        if how < 0.55:
            self.kill([self.random.choice(PROCESSES)])
        elif how < 0.80:
            self.kill(self.random.sample(PROCESSES, self.random.randrange(2, len(PROCESSES) + 1)))
        elif how < 0.93:
            self.pause(self.random.choice(PROCESSES))
        else:
            self.kill_all()

    # --- its day

    def rows(self, rdb):
        return {table: self.running.count(table, rdb) for table in ROWS}

    def live_through_the_day(self):
        deadline = time.monotonic() + 300
        while self.rows("rdb") != ROWS and time.monotonic() < deadline:
            time.sleep(self.random.uniform(0.1, 1.5))
            self.hurt()
        for rdb in ("rdb", "kept"):
            stack.wait_until(lambda: self.rows(rdb) == ROWS, 120, f"every row in {rdb}: {self.rows(rdb)}")

    def ended(self):
        try:
            return self.running.ask("hdb", f"{{[t] exec count i from t where date={DATE}}} each `quote`trade")
        except UNANSWERED:
            return None

    def end_the_day(self):
        """Ends the day while processes are killed, and asks again if the request was lost with the tickerplant."""
        deadline = time.monotonic() + 240
        while (found := self.ended()) != list(ROWS.values()):
            self.test.assertLess(time.monotonic(), deadline, f"the hdb has {found} of {ROWS}")
            try:
                with self.running.connect("tickerplant") as tickerplant:
                    if tickerplant.call(".u.d") == self.day:
                        tickerplant.call(".u.end[]")
            except UNANSWERED:
                pass
            if self.random.random() < 0.5 and time.monotonic() < deadline - 120:
                time.sleep(self.random.uniform(0, 0.15))
                self.hurt()
            time.sleep(0.5)

    # --- what must be true

    def check_rows(self):
        expected = lean_archives.trade_summary(self.path, "ibm", DATE)
        for rdb in ("rdb", "kept"):
            self.test.assertEqual(ROWS, self.rows(rdb), rdb)
            self.test.assertEqual(expected.size, self.running.ask(rdb, "exec sum size from trade"), rdb)
            self.test.assertEqual(expected.last_price, self.running.ask(rdb, "exec last price from trade"), rdb)
        for table in ROWS:  # As bytes, since a null float does not equal itself.
            rows = [self.running.ask(rdb, f"-8!select from {table}") for rdb in ("rdb", "kept")]
            self.test.assertTrue(rows[0] == rows[1], f"{table} of rdb and kept")

    def check_bars(self):
        def same():
            try:
                return self.running.ask("kept", BARS) == self.running.ask("rdb", BY_QUERY)
            except UNANSWERED:
                return False
        stack.wait_until(same, 60, "the bars of every row")

    def check_the_log(self):
        log = self.running.data / "tplog" / f"sym{DATE}"
        checked = self.test.run_program("log", "check", "--json", str(log))
        self.test.assertEqual(0, checked.returncode, checked.stdout + checked.stderr)
        rows = json.loads(checked.stdout)["rows"]
        self.test.assertEqual(ROWS, {table: rows[table] for table in ROWS})

    def check_the_partition(self):
        expected = lean_archives.trade_summary(self.path, "ibm", DATE)
        self.test.assertEqual(expected.size, self.running.ask("hdb", f"exec sum size from trade where date={DATE}"))
        checked = self.test.run_program("hdb", "check", str(self.running.data / "hdb"))
        self.test.assertEqual(0, checked.returncode, checked.stdout + checked.stderr)

    def live(self):
        self.day = lean_archives.day_start_ns(DATE) // lean_archives.NS_PER_DAY
        self.live_through_the_day()
        self.check_rows()
        self.check_bars()
        self.end_the_day()
        self.check_the_partition()
        self.test.assertEqual(0, self.running.stop(), self.running.log_text())
        self.check_the_log()


class RandomKillsTest(stack.StackTest):
    def test_every_row_is_there_once(self):
        killed, seed = 0, SEED
        while killed < KILLS:
            life = Life(self, seed)
            try:
                life.live()
            except Exception:
                print(f"failed: TICKSTACK_SEED={seed}", file=sys.stderr)
                if KEEP:
                    shutil.copytree(life.folder, pathlib.Path(KEEP) / life.folder.name, dirs_exist_ok=True)
                raise
            print(f"seed {seed}: killed {dict(life.kills)}, paused {life.pauses}", file=sys.stderr, flush=True)
            killed += sum(life.kills.values())
            shutil.rmtree(life.folder)
            seed += 1


if __name__ == "__main__":
    stack.main()

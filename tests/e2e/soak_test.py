#!/usr/bin/env python3
"""A stack takes many days of rows at full speed, by a clock that the test moves to the next day again and again.

Each day is written, its log is checked, and the logs and partitions of older days are removed. The counts of each day
are exact, and no process needs more memory, descriptors or mappings in the second half of the days than in the first.
Memory is what the process alone occupies, without pages of files, which the kernel can drop.

TICKSTACK_SOAK_ROWS is the number of rows; ten hours at 48,000 rows/s are 1728000000. TICKSTACK_SOAK_DAY_ROWS is the
least number of a day's rows (default: a twelfth of them, at most 20 million, which take 10 GB of disk and 4 GB of memory).
TICKSTACK_SOAK_DIR is where the files are (default: the temporary folder)."""

import collections
import datetime
import json
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kdb_ipc, stack  # noqa: E402
from tests.support.moved_clock import MovedClock  # noqa: E402

ROWS = int(os.environ.get("TICKSTACK_SOAK_ROWS", "4000000"))
DAY_ROWS = int(os.environ.get("TICKSTACK_SOAK_DAY_ROWS", str(min(ROWS // 12, 20_000_000))))
FEED = "feed@sim.march2020.8000.1"  # The feed's rows are numbered under this name.
FIRST_DAY = datetime.date(2020, 2, 27)  # A leap day follows.
TABLES = ("quote", "trade")
MIB = 1 << 20
# What the second half of the days may need more than the first. A heap keeps up to 64 MiB of freed memory (base/heap.h).
SLACK, SLACK_BYTES, SLACK_COUNT = 1.10, 64 * MIB, 32

CONFIG = """
[tickerplant]
[[rdb]]
[aggengine]
[hdb]
[eod]
retry_s = 0.1
keep_logs_days = 1
"""

Use = collections.namedtuple("Use", "bytes descriptors mappings")


def use_of(pid):
    """Returns the memory that a process alone occupies, and its numbers of descriptors and mappings."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        fields = dict(line.split(":", 1) for line in file)
    own = sum(int(fields[key].split()[0]) for key in ("RssAnon", "RssShmem")) << 10
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:
        return Use(own, len(os.listdir(f"/proc/{pid}/fd")), sum(1 for _ in file))


def most(uses):
    return Use(*map(max, zip(*uses)))


class SoakTest(stack.StackTest):
    def setUp(self):
        super().setUp()
        parent = os.environ.get("TICKSTACK_SOAK_DIR")
        if parent:
            self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tickstack-soak-", dir=parent))
            self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.clock = MovedClock(self.folder)
        self.addCleanup(self.clock.remove)
        self.days = []  # For each ended day: its date, its rows of each table, and the peak of each process's use.
        self.next_look = 0.0
        self.peaks = collections.defaultdict(list)  # Uses by process, since the last day ended.

    # --- the day that runs

    def start(self):
        self.begin_day(0)
        self.running = self.start_stack(CONFIG)
        stack.wait_until(lambda: " live seq=" in self.running.log_text(), 60, "the rdb's subscription")
        self.pids = {name: process["pid"] for name, process in self.running.processes().items()}
        _, self.feed = self.start_process(
            "feed", "--source", "sim", "--rate", "0", "--rows", str(ROWS), "--tickerplant",
            f"127.0.0.1:{self.running.port('tickerplant')}", "--start", "--exit-when-done")
        self.pids["feed"] = self.feed.pid

    def date(self, number):
        return (FIRST_DAY + datetime.timedelta(number)).strftime("%Y.%m.%d")

    def begin_day(self, number):
        """Sets the clock to the first second of a day, in which the tickerplant ends the day before."""
        self.clock.set(datetime.datetime.combine(FIRST_DAY + datetime.timedelta(number), datetime.time(0, 0, 1)))

    def fed(self):
        with self.running.connect("tickerplant") as connection:
            return sum(connection.call([b".u.feed", FEED]).values())

    def look(self):
        """Waits for a moment, and notes what each process uses, ten times a second."""
        time.sleep(0.02)
        if time.monotonic() < self.next_look:
            return
        self.next_look = time.monotonic() + 0.1
        for name, pid in self.pids.items():
            try:
                self.peaks[name].append(use_of(pid))
            except (FileNotFoundError, ProcessLookupError, KeyError):
                self.assertEqual("feed", name, "a process that has ended")

    def wait_while_looking(self, condition, seconds, what):
        def looked():
            self.look()
            return condition()
        stack.wait_until(looked, seconds, what)

    # --- its end

    def handed_over(self, date):
        stats = self.running.ask("rdb", ".rdb.stats[]")
        return stats["days_kept"] == 0 and stats["day_done"] == int(date.replace(".", ""))

    def end_day(self):
        """Ends the day, and waits until it is in the hdb and checked. The feed waits, too, if it is much faster."""
        date = self.date(len(self.days))
        before = self.fed()
        self.begin_day(len(self.days) + 1)
        paused = False

        def done():
            nonlocal paused
            if not paused and self.feed.poll() is None and self.fed() - before > DAY_ROWS // 4:
                os.kill(self.feed.pid, signal.SIGSTOP)
                paused = True
            return self.handed_over(date)
        try:
            self.wait_while_looking(done, 600, f"{date} handed over")
            self.note_day(date)
            self.remove_old_partitions()
        finally:
            if paused:
                os.kill(self.feed.pid, signal.SIGCONT)

    def note_day(self, date):
        rows = self.check_day(date)
        uses = {name: most(peaks) for name, peaks in self.peaks.items() if peaks}
        self.peaks.clear()
        self.days.append((date, rows, uses))
        print(f"{date}: {rows} rows; MiB: "
              f"{', '.join(f'{name} {use.bytes // MIB}' for name, use in uses.items())}", file=sys.stderr, flush=True)

    def check_day(self, date):
        """Returns the number of the day's rows, which log and partition agree about."""
        log = self.running.data / "tplog" / f"sym{date}"
        checked = self.run_program("log", "check", "--json", str(log), timeout=600)
        self.assertEqual(0, checked.returncode, checked.stdout + checked.stderr)
        logged = json.loads(checked.stdout)["rows"]
        for table in TABLES:
            found = self.running.ask("hdb", f"exec count i from {table} where date={date}")
            self.assertEqual(logged.get(table, 0), found, f"{table} of {date}")
        return sum(logged.get(table, 0) for table in TABLES)

    def remove_old_partitions(self):
        """Removes the partitions of days whose logs the rdb has removed."""
        for date, *_ in self.days[:-1]:
            partition = self.running.data / "hdb" / date
            if partition.exists() and not (self.running.data / "tplog" / f"sym{date}").exists():
                shutil.rmtree(partition)
        try:
            self.running.ask("hdb", "\\l .")
        except kdb_ipc.QError as error:
            self.fail(f"the hdb without old partitions: {error}")

    def check_flat(self):
        """No process used more in the second half of the days than in the first."""
        half = len(self.days) // 2
        if half < 2:  # The feed was faster than this test looks.
            self.skipTest(f"counts are exact; {len(self.days)} days are too few to compare memory")
        for name in self.pids:
            first, second = (most(uses[name] for _, _, uses in days if name in uses)
                             for days in (self.days[:half], self.days[half:]))
            with self.subTest(process=name):
                self.assertLessEqual(second.bytes, first.bytes * SLACK + SLACK_BYTES)
                self.assertLessEqual(second.descriptors, first.descriptors + SLACK_COUNT)
                self.assertLessEqual(second.mappings, first.mappings * SLACK + SLACK_COUNT)

    def test_many_days_at_full_speed(self):
        begin = time.monotonic()
        self.start()
        ended = 0  # Rows of ended days.
        while self.feed.poll() is None:
            self.look()
            if self.fed() - ended >= DAY_ROWS:
                self.end_day()
                ended += self.days[-1][1]
        self.assertEqual(0, self.feed.returncode)
        self.end_day()
        seconds = time.monotonic() - begin
        total = sum(rows for _, rows, _ in self.days)
        print(f"{total} rows in {len(self.days)} days, {seconds:.0f} s, {total / seconds:.0f} rows/s", file=sys.stderr)
        self.assertEqual(ROWS, total)
        self.check_flat()
        self.assertEqual(set(self.pids) - {"feed"}, set(self.running.processes()))
        self.assertEqual({name: pid for name, pid in self.pids.items() if name != "feed"},
                         {name: process["pid"] for name, process in self.running.processes().items()})
        checked = self.run_program("hdb", "check", str(self.running.data / "hdb"), timeout=600)
        self.assertEqual(0, checked.returncode, checked.stdout + checked.stderr)
        self.assertEqual(0, self.running.stop(), self.running.log_text())


if __name__ == "__main__":
    stack.main()

#!/usr/bin/env python3
"""Disks that are full, for the log, the database, the monitor, a tier and a report, and one that was mounted read-only:
what needs room waits or fails by name, the rest goes on, and everything is complete once there is room.

The disks are small file systems in memory. Without the right to mount them, the tests are skipped."""

import json
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kdb_ipc, stack  # noqa: E402
from tests.support.mounts import Tmpfs  # noqa: E402

DATE = "2020.03.09"
FULL, READ_ONLY = "No space left on device", "Read-only file system"
MIB = 1024  # In KiB.
CONFIG = """
[tickerplant]
batch_ms = 5
[[rdb]]
[hdb]
[eod]
retry_s = 0.1
[feed]
rate = 0
rows = {rows}
batch_rows = 100
"""


class FullDiskTest(stack.StackTest):
    def tmpfs(self, path, kib):
        disk = Tmpfs(path, kib)
        self.addCleanup(disk.unmount)
        return disk

    def rows(self, running):
        return running.count("trade") + running.count("quote")

    def says(self, running, text):
        stack.wait_until(lambda: text in running.log_text(), 60, f'"{text}"')

    def check_log(self, log, rows):
        checked = self.run_program("log", "check", "--json", str(log))
        self.assertEqual(0, checked.returncode, checked.stdout + checked.stderr)
        self.assertEqual(rows, sum(json.loads(checked.stdout)["rows"].values()))

    def test_the_log(self):
        rows = 200_000
        log = self.folder / "stack" / "data" / "tplog"
        disk = self.tmpfs(log, 2 * MIB)
        running = self.start_stack(CONFIG.format(rows=rows), "--date", DATE)
        self.says(running, "log full, feeds are paused")
        full = stack.wait_until(lambda: self.rows(running), 60, "rows")
        self.assertLess(full, rows)
        with running.connect("tickerplant") as client:
            stats = client.call(".u.stats[]")
        self.assertLessEqual(self.rows(running), stats["rows"], "rows that are not logged")
        disk.resize(64 * MIB)
        stack.wait_until(lambda: self.rows(running) == rows, 60, "all rows")
        self.says(running, "log writable again")
        self.assertEqual(0, running.stop(), running.log_text())
        self.check_log(log / f"sym{DATE}", rows)

    def ended(self, running, rows):
        try:
            return running.ask("hdb", f"{{[t] exec count i from t where date={DATE}}} each `trade`quote") == rows
        except (OSError, kdb_ipc.Closed, kdb_ipc.QError):
            return False

    def end_day_on_a_full_disk(self, running, disk):
        counts = [running.count("trade"), running.count("quote")]
        running.ask("tickerplant", ".u.end[]")
        self.says(running, "day not written yet, trying again")
        self.assertIn(FULL, running.log_text())
        self.assertEqual(1, running.ask("rdb", ".rdb.stats[]")["days_kept"])
        self.assertFalse((disk.path / DATE).exists(), "a part of a day")
        disk.resize(64 * MIB)
        stack.wait_until(lambda: self.ended(running, counts), 60, "the day in the hdb")
        stack.wait_until(lambda: running.ask("rdb", ".rdb.stats[]")["days_kept"] == 0, 60, "the day handed over")
        checked = self.run_program("hdb", "check", "--strict", str(disk.path))
        self.assertEqual(0, checked.returncode, checked.stdout + checked.stderr)

    def test_the_database_and_the_monitor(self):
        rows = 50_000
        data = self.folder / "stack" / "data"
        database = self.tmpfs(data / "hdb", 256)
        samples = self.tmpfs(data / "monitor", 16)
        running = self.start_stack(CONFIG.format(rows=rows) + "[monitor]\nquery_ms = 1\nprogress_s = 0\n", "--date", DATE)
        others = {name: process["pid"] for name, process in running.processes().items() if name != "monitor"}
        stack.wait_until(lambda: self.rows(running) == rows, 60, "the rows")
        self.says(running, f"monitor.csv: write: {FULL}")
        self.end_day_on_a_full_disk(running, database)
        self.says(running, "died name=monitor")
        self.assertEqual(others, {name: running.pid(name) for name in others}, "processes that have ended")
        samples.resize(64 * MIB)
        stack.wait_until(lambda: (samples.path / "monitor.csv").stat().st_size > 64 * 1024, 60, "samples")
        self.assertEqual(0, running.stop(), running.log_text())
        self.check_log(data / "tplog" / f"sym{DATE}", rows)

    def test_a_tier(self):
        self.tmpfs(self.folder / "tier", 4 * MIB)
        for kind in ("filesystem", "persistent"):
            config = self.folder / f"{kind}.toml"
            config.write_text(f'[tickerplant]\n[[rdb]]\n[rdb.tier.small]\nkind = "{kind}"\npath = "{self.folder}/tier"\n'
                              'size = "64MiB"\n[rdb.placement]\ndefault = "small"\n', encoding="utf-8")
            done = self.run_program("up", str(config), "--data", str(self.folder / kind), "--ports", "0")
            self.assertEqual(1, done.returncode, done.stderr)
            self.assertRegex(done.stderr.splitlines()[-1], r"tier small: .*/tier \(tmpfs\) has \d+ bytes free")
            self.assertEqual(0, sum(file.stat().st_blocks for file in (self.folder / "tier").iterdir()), "a part of a tier")

    def test_a_report(self):
        disk = self.tmpfs(self.folder / "disk", 8 * MIB)
        run = disk.path / "run"
        shutil.copytree(stack.ROOT / "tests" / "data" / "loadtest_run", run)
        page = run / "report.html"
        used = sum(file.stat().st_blocks for file in run.iterdir()) // 2
        disk.resize(used + 64)
        done = self.run_program("report", str(run))
        self.assertEqual(1, done.returncode, done.stderr)
        self.assertIn(FULL, done.stderr)
        self.assertIn(str(page), done.stderr)
        self.assertFalse(page.exists(), "a part of a page")
        disk.resize(8 * MIB)
        done = self.run_program("report", str(run))
        self.assertEqual(0, done.returncode, done.stderr)
        whole = page.read_bytes()
        self.assertTrue(whole.rstrip().endswith(b"</html>"))
        # A page that exists is replaced as a whole, for which there is too little room.
        disk.resize(sum(file.stat().st_blocks for file in run.iterdir()) // 2 + 64)
        self.assertEqual(1, self.run_program("report", str(run)).returncode)
        self.assertEqual(whole, page.read_bytes())

    def test_a_file_system_that_became_read_only(self):
        rows = 20_000
        disk = self.tmpfs(self.folder / "stack" / "data", 64 * MIB)
        running = self.start_stack(CONFIG.format(rows=rows), "--date", DATE)
        stack.wait_until(lambda: self.rows(running) == rows, 60, "the rows")
        counts = [running.count("trade"), running.count("quote")]
        running.ask("tickerplant", ".u.end[]")
        stack.wait_until(lambda: self.ended(running, counts), 60, "the day in the hdb")
        self.assertEqual(0, running.stop(), running.log_text())
        disk.set_read_only(True)
        data, config = running.data, str(running.folder / "stack.toml")
        self.check_log(data / "tplog" / f"sym{DATE}", rows)
        checked = self.run_program("hdb", "check", str(data / "hdb"))
        self.assertEqual(0, checked.returncode, checked.stdout + checked.stderr)
        port, _ = self.start_process("hdb", "--data", str(data))
        with kdb_ipc.connect_within(port) as hdb:
            self.assertEqual(counts, hdb.call(f"{{[t] exec count i from t where date={DATE}}} each `trade`quote"))
        for arguments in (("tickerplant", "--data", str(data), "--date", DATE, "--port", "0"),
                          ("up", config, "--data", str(data), "--ports", "0"),
                          ("eod", "--config", config, "--data", str(data), "--date", DATE)):
            done = self.run_program(*arguments)
            self.assertEqual(1, done.returncode, arguments)
            self.assertIn(READ_ONLY, done.stderr, arguments)
        disk.set_read_only(False)
        running = self.start_stack(CONFIG.format(rows=2 * rows), "--date", DATE)
        stack.wait_until(lambda: self.rows(running) == rows, 60, "the rest of the rows")
        self.assertTrue(self.ended(running, counts))
        self.assertEqual(0, running.stop(), running.log_text())


if __name__ == "__main__":
    stack.main()

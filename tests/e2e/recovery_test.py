#!/usr/bin/env python3
"""kill -9 of each process in the middle of a day: at the end every row is there, once."""

import json
import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kdb_ipc, lean_archives, stack  # noqa: E402
from tests.support.kdb_ipc import Typed  # noqa: E402

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
            stack.wait_until(lambda: not stack.is_alive(pid), 60, f"the end of orphan {pid}")
        self.check_the_end(self.start_day())

    def test_noise_in_a_log_without_an_index(self):
        """A log as plain kdb+ writes it, with four bytes of noise in its middle: no reader takes the noise for its
        end."""
        log = self.folder / "sym2020.03.09"
        messages = [kdb_ipc.encode(["upd", "trade", [
            Typed("p", [number]), ["IBM"], [1.5], Typed("i", [number]), Typed("b", [0]), b"A", b"N"]])
            for number in range(100)]
        content = bytearray(b"\xff\x01\0\0\0\0\0\0" + b"".join(messages))
        log.write_bytes(content)
        port, process = self.start_process("rdb", "--replay", str(log))
        with kdb_ipc.connect_within(port) as rdb:
            stack.wait_until(lambda: rdb.call(".rdb.stats[]")["caught_up"] == 1, what="the replay")
            self.assertEqual(100, rdb.call("count trade"))
        process.terminate()
        process.wait(60)

        begin = 8 + 50 * len(messages[0])
        content[begin:begin + 4] = b"\xde\xad\xbe\xef"
        log.write_bytes(content)
        error = f"message 50 at byte {begin} is damaged: whole ones follow from byte {begin + len(messages[0])}"
        dumped = self.run_program("log", "dump", str(log))
        self.assertEqual(1, dumped.returncode)
        self.assertIn(error, dumped.stderr)
        checked = self.run_program("log", "check", str(log))
        self.assertEqual(1, checked.returncode)
        self.assertIn(f"message at byte {begin} is damaged", checked.stdout)
        for arguments in (("rdb", "--replay", str(log)), ("feed", "--source", "tplog", "--path", str(log), "--start")):
            _, process = self.start_process(*arguments)
            self.assertNotEqual(0, process.wait(60), arguments)
            self.assertIn(error, process.log_path.read_text(encoding="utf-8"))
        repaired = self.run_program("log", "repair", "--skip-damaged", str(log))
        self.assertEqual(0, repaired.returncode, repaired.stderr)
        checked = self.run_program("log", "check", "--json", f"{log}.repaired")
        self.assertEqual({"trade": 99}, json.loads(checked.stdout)["rows"])

        # Noise that makes one message of three: the rows of all of them are missing, and no reader says that all is
        # well.
        content[begin:begin + 4] = messages[50][:4]
        content[begin + 2] += 2
        log.write_bytes(content)
        dumped = self.run_program("log", "dump", str(log))
        self.assertEqual(1, dumped.returncode)
        self.assertIn("may be damaged: 1 messages have the beginning of another message", dumped.stderr)
        port, process = self.start_process("rdb", "--replay", str(log))
        with kdb_ipc.connect_within(port) as rdb:
            stack.wait_until(lambda: rdb.call(".rdb.stats[]")["caught_up"] == 1, what="the replay")
            stats = rdb.call(".rdb.stats[]")
            self.assertEqual((1, 1), (stats["incomplete"], stats["messages_missing"]))
        process.terminate()
        process.wait(60)


if __name__ == "__main__":
    stack.main()

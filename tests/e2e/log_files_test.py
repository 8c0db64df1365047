#!/usr/bin/env python3
"""Log files of a stack: a JSON object per line, and files that are renamed and opened again while rows are captured."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kdb_ipc, stack  # noqa: E402

CLIENTS = 300
ROTATIONS = 20
CONFIG = """
[stack]
log_format = "{format}"
[tickerplant]
batch_ms = 5
[[rdb]]
[feed]
rate = 2000
"""
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z")
LEVELS = {"debug", "info", "warn", "error"}


class LogFilesTest(stack.StackTest):

    def lines_of(self, name):
        """The lines of all log files of a process, oldest first."""
        folder = self.running.data / "logs"
        files = [*sorted(folder.glob(f"{name}.log.*")), folder / f"{name}.log"]
        return [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]

    def rotate(self, number):
        folder = self.running.data / "logs"
        for path in folder.glob("*.log"):
            os.rename(path, f"{path}.{number:03}")
        self.running.process.send_signal(signal.SIGUSR1)
        names = ("tickerplant", "rdb", "feed")
        stack.wait_until(lambda: all((folder / f"{name}.log").exists() for name in names), what="new log files")

    def subscribe_often(self):
        """Each client's connection is a line of the tickerplant's log with the client's port."""
        for _ in range(CLIENTS):
            with self.running.connect("tickerplant") as client:
                self.ports.append(client.socket.getsockname()[1])
                client.call(".u.sub[`trade;`]")

    def check_rotation(self, port_of):
        self.ports = []
        clients = threading.Thread(target=self.subscribe_often)
        clients.start()
        for number in range(ROTATIONS):
            self.rotate(number)
        clients.join()
        self.assertEqual(CLIENTS, len(self.ports))
        stack.wait_until(lambda: len(self.found(port_of)) == CLIENTS, 60, "a line of each client")
        self.assertEqual(self.ports, self.found(port_of))
        rows = self.running.count("trade")
        stack.wait_until(lambda: self.running.count("trade") > rows, what="rows after the rotations")
        # Each file that was renamed is complete, and the others are not used any longer.
        self.assertEqual(ROTATIONS, len(list((self.running.data / "logs").glob("rdb.log.*"))))

    def found(self, port_of):
        ports = map(port_of, self.lines_of("tickerplant"))
        return [port for port in ports if port in set(self.ports)]

    def test_files_are_renamed_during_a_capture(self):
        self.running = self.start_stack(CONFIG.format(format="text"))

        def port_of(line):
            found = re.search(r" subscriber connected host=127\.0\.0\.1:(\d+) ", line)
            return int(found[1]) if found else None

        self.check_rotation(port_of)

    def test_each_line_is_a_json_object(self):
        self.running = self.start_stack(CONFIG.format(format="json"))

        def port_of(line):
            line = json.loads(line)
            return int(line["host"].rpartition(":")[2]) if line["event"] == "subscriber connected" else None

        self.check_rotation(port_of)
        rdb = self.running.pid("rdb")
        os.kill(rdb, signal.SIGSEGV)
        stack.wait_until(lambda: self.running.pid("rdb") != rdb, what="a new rdb")
        self.running.stop()
        lines = []
        for name in ("tickerplant", "rdb", "feed"):
            for line in self.lines_of(name):
                line = json.loads(line)
                lines.append(line)
                self.assertRegex(line["time"], TIME)
                self.assertIn(line["level"], LEVELS)
                self.assertEqual(name, line["process"])
                self.assertTrue(line["event"])
        [up] = [line for line in lines if line["event"] == "tickerplant up"]
        self.assertEqual((int, 5, str), (type(up["port"]), up["batch_ms"], type(up["date"])))
        stack_lines = [json.loads(line) for line in self.running.log_path.read_text(encoding="utf-8").splitlines()]
        own = [line for line in stack_lines if line["process"] == "stack"]
        self.assertEqual(1, sum(line["event"] == "ready" for line in own))
        self.assertEqual(ROTATIONS, sum(line["event"] == "log files opened again" for line in own))

    def test_a_flag_sets_the_format_of_one_process(self):
        root = str(self.folder / 'h"db')
        _, process = self.start_process("hdb", "--log-format", "json", "--db", root)

        def is_up():
            lines = [json.loads(line) for line in process.log_path.read_text(encoding="utf-8").splitlines()]
            return any(line["event"] == "hdb up" and line["database"] == root for line in lines)
        stack.wait_until(is_up, what="the message of the hdb")
        done = subprocess.run([stack.PROGRAM, "hdb", "--log-format", "xml"], capture_output=True, text=True, check=False)
        self.assertEqual(2, done.returncode)


if __name__ == "__main__":
    stack.main()

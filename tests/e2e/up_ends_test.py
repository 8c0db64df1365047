#!/usr/bin/env python3
"""`tickstack up` ends with its reason on the last line of stderr; for a port or a log in use that names the process."""

import os
import pathlib
import signal
import socket
import sys
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import stack  # noqa: E402

CONFIG = "[tickerplant]\nport = {port}\n[[rdb]]\nport = 0\n"


class UpEndsTest(stack.StackTest):
    def up(self, data, *flags, config=None, code=1, **options):
        """Runs a stack that fails; returns the last line that it wrote."""
        path = self.folder / "stack.toml"
        path.write_text(config or CONFIG.format(port=0), encoding="utf-8")
        done = self.run_program("up", str(path), "--data", str(data), *flags, **options)
        self.assertEqual(code, done.returncode, done.stderr)
        lines = done.stderr.strip().splitlines()
        self.assertTrue(lines, "not a word")
        return lines[-1]

    def test_a_data_directory_that_is_a_file(self):
        (self.folder / "data").write_text("x")
        self.assertIn(f"up ends exit_code=1 error=\"{self.folder}/data: mkdir: Not a directory\"", self.up(self.folder / "data"))

    def test_a_data_directory_that_cannot_be_made(self):
        last = self.up("/proc/nowhere/data")
        self.assertIn("/proc/nowhere: mkdir: ", last)

    def test_a_data_directory_that_cannot_be_written(self):
        data = self.folder / "data"
        data.mkdir(mode=0o500)
        if os.geteuid() == 0:
            data = pathlib.Path("/sys/data")  # Root can create directories everywhere but here.
        self.assertRegex(self.up(data), rf"{data}(/logs)?: mkdir: (Permission denied|Operation not permitted|Read-only)")

    def test_a_missing_parent_is_made(self):
        self.up(self.folder / "some" / "where" / "data", "--seconds", "0.1", code=0)

    def test_a_wrong_configuration(self):
        last = self.up(self.folder / "data", config="[tickerplant]\nprot = 1\n", code=2)
        self.assertIn("did you mean port?", last)

    def test_a_child_that_fails_at_start_is_quoted(self):
        (self.folder / "data").mkdir()
        (self.folder / "data" / "tplog").write_text("x")
        last = self.up(self.folder / "data")
        self.assertIn("tickerplant failed during startup: exit_code=1: tickerplant ends error=", last)
        self.assertIn(f"{self.folder}/data/tplog", last)

    def test_a_child_that_is_killed_names_the_signal(self):
        running = self.start_stack("[stack]\nrestart = false\n" + CONFIG.format(port=0))
        os.kill(running.pid("rdb"), signal.SIGKILL)
        self.assertEqual(1, running.process.wait(60))
        last = running.log_text().strip().splitlines()[-1]
        self.assertIn("up ends exit_code=1 error=\"rdb died: signal=SIGKILL", last)

    def test_a_port_that_is_taken_names_who_has_it(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            last = self.up(self.folder / "data", config=CONFIG.format(port=port))
            self.assertRegex(last, rf"tickerplant: 127.0.0.1:{port}: port {port} is in use by \S+ \(pid {os.getpid()}\)")

    def test_a_second_process_names_the_first(self):
        running = self.start_stack(CONFIG.format(port=0))
        for role in ("rdb", "tickerplant"):
            port, pid = running.port(role), running.pid(role)
            done = self.run_program(role, "--port", str(port), "--data", str(self.folder / "other"))
            self.assertEqual(1, done.returncode, done.stderr)
            self.assertIn(f"port {port} is in use by tickstack {role} (pid {pid})", done.stderr)
        # The same log: the error names the process that has the lock.
        done = self.run_program("tickerplant", "--port", "0", "--data", str(running.data))
        self.assertEqual(1, done.returncode, done.stderr)
        self.assertIn(f"tickstack tickerplant (pid {running.pid('tickerplant')}) is writing it", done.stderr)
        self.assertEqual(0, running.stop(), running.log_text())

    # Method: the test is the service manager. A stopped process is silent, as one whose event loop hangs.
    def test_a_process_that_hangs_is_restarted(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(str(self.folder / "notify"))
            manager.settimeout(60)
            variables = {"NOTIFY_SOCKET": str(self.folder / "notify"), "WATCHDOG_USEC": "5000000"}
            with unittest.mock.patch.dict(os.environ, variables):
                running = self.start_stack(CONFIG.format(port=0))
            said = []

            def wait_for(text):
                while text not in said:
                    said.append(manager.recv(4096).decode())
            wait_for("READY=1\nSTATUS=2 of 2 processes answer")
            hung = running.pid("rdb")
            os.kill(hung, signal.SIGSTOP)
            wait_for("READY=1\nSTATUS=1 of 2 processes answer; not yet: rdb")
            wait_for("WATCHDOG=1")
            stack.wait_until(lambda: running.pid("rdb") != hung, what="a new rdb")
            self.assertIn(f"hung name=rdb pid={hung}", running.log_text())
            self.assertEqual(2, running.ask("rdb", "1+1"))
            self.assertEqual(0, running.stop(), running.log_text())
            wait_for("STOPPING=1\nSTATUS=stopping, 0 processes left")


if __name__ == "__main__":
    stack.main()

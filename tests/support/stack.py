"""Runs stacks and single processes for the end-to-end tests, in a temporary folder, on ports that the
kernel chooses, and leaves nothing behind.

    class MyTest(StackTest):
        def test_something(self):
            stack = self.start_stack(CONFIG, "--date", "2013.10.07")
            self.assertEqual(0, stack.ask("rdb", "count trade"))

TICKSTACK_BIN is the program under test; without it `--program PATH` on the command line, then the
release build. TICKSTACK_SANITIZED_BIN is one built with AddressSanitizer, for what is meant to break it;
without it the program under test is used.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from tests.support import kdb_ipc

ROOT = pathlib.Path(__file__).resolve().parents[2]


def _program():
    given = None
    if "--program" in sys.argv:
        at = sys.argv.index("--program")
        given = sys.argv[at + 1]
        del sys.argv[at:at + 2]
    return os.environ.get("TICKSTACK_BIN") or given or str(ROOT / "build/release/cli/tickstack")


PROGRAM = _program()
SANITIZED_PROGRAM = os.environ.get("TICKSTACK_SANITIZED_BIN", PROGRAM)
FIXTURES = pathlib.Path(os.environ.get("TICKSTACK_FIXTURES", ROOT / "../shared/fixtures"))


def wait_until(condition, seconds=60.0, what="the condition"):
    """Returns the first true value of `condition`; raises AssertionError after `seconds`."""
    give_up = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > give_up:
            raise AssertionError(f"{what} did not come true within {seconds} s")
        time.sleep(0.02)


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def start_time(pid):
    """When a process began, in the kernel's ticks; None if there is none. Another process that has its pid later began later."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
            return None if fields[0] == "Z" else int(fields[19])
    except (FileNotFoundError, ProcessLookupError):
        return None


def avoid_midnight(seconds=120):
    """Waits until the day is new if it is about to end, by UTC: a stack without a date would end it in the middle of a test."""
    left = 86400 - time.time() % 86400
    if left < seconds:
        time.sleep(left + 1)


def reserve_port(test):
    """Returns a port that refuses connections, and that no other process gets until the test ends. A server of the test may
    listen there: a socket that is bound and does not listen leaves that to another one with SO_REUSEADDR."""
    reserved = socket.socket()
    test.addCleanup(reserved.close)
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.bind(("127.0.0.1", 0))
    return reserved.getsockname()[1]


def rss_bytes(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Stack:
    """A running `tickstack up`."""

    def __init__(self, folder, config, flags, program=PROGRAM):
        self.folder = folder
        self.data = folder / "data"
        self.ready_file = folder / "ready.json"
        self.log_path = folder / "up.log"
        (folder / "stack.toml").write_text(config, encoding="utf-8")
        self.ready_file.unlink(missing_ok=True)  # Left by a stack that was killed.
        self.log = open(self.log_path, "ab")
        self.process = subprocess.Popen(
            [program, "up", str(folder / "stack.toml"), "--data", str(self.data), "--ports", "0",
             "--ready-file", str(self.ready_file), *flags],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.pids = set()
        self.began = {}  # When each of them began.

    def wait_until_ready(self, seconds=60.0):
        def ready():
            if self.process.poll() is not None:
                raise AssertionError(f"the stack ended: {self.process.returncode}\n{self.log_text()}")
            return self.ready_file.exists()
        wait_until(ready, seconds, "the ready file")
        self.processes()
        return self

    def log_text(self):
        return self.log_path.read_text(encoding="utf-8", errors="replace")[-200_000:]

    def wait_for_log(self, text, seconds=60.0):
        """Waits until the log has the text, or a match of it if it is a compiled pattern. Lines of processes pass through
        the supervisor, so they come after the state that they tell of."""
        pattern = text if isinstance(text, re.Pattern) else re.compile(re.escape(text))
        try:
            return wait_until(lambda: pattern.search(self.log_path.read_text(encoding="utf-8", errors="replace")), seconds)
        except AssertionError:
            raise AssertionError(f"the log has no {pattern.pattern!r} after {seconds} s:\n{self.log_text()}") from None

    def processes(self):
        listed = json.loads(self.ready_file.read_text(encoding="utf-8"))["processes"]
        for process in listed:
            if process["pid"] not in self.pids:
                self.pids.add(process["pid"])
                self.began[process["pid"]] = start_time(process["pid"])
        return {process["name"]: process for process in listed}

    def pid(self, name):
        return self.processes()[name]["pid"]

    def port(self, name):
        return self.processes()[name]["port"]

    def connect(self, name, **options):
        return kdb_ipc.Connection(self.port(name), **options)

    def ask(self, name, query):
        with self.connect(name) as connection:
            return connection.call(query)

    def count(self, table, rdb="rdb"):
        """Returns the rows of a table; 0 while the rdb is starting and lacks the table, or does not answer."""
        try:
            return self.ask(rdb, f"count {table}")
        except (OSError, kdb_ipc.Closed, kdb_ipc.QError):
            return 0

    def kill(self, name):
        """Kills a process with kill -9, and waits until its successor answers."""
        old = self.pid(name)
        os.kill(old, signal.SIGKILL)
        wait_until(lambda: self.pid(name) != old, what=f"a new {name}")
        with kdb_ipc.connect_within(self.port(name)):
            pass

    def stop(self, with_signal=signal.SIGTERM, seconds=90.0):
        """Stops the stack and returns the exit code."""
        if self.process.poll() is None:
            if self.ready_file.exists():
                self.processes()
            self.process.send_signal(with_signal)
        try:
            code = self.process.wait(seconds)
        finally:
            self.log.close()
        return code

    def destroy(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.log.close()
        left = lambda: [pid for pid, began in self.began.items() if began is not None and start_time(pid) == began]  # noqa: E731
        for pid in left():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        # They may write files until then.
        wait_until(lambda: not left(), what="the end of killed processes")


class StackTest(unittest.TestCase):
    """A test with a temporary folder; stops what its tests started."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tickstack-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def start_stack(self, config, *flags, program=PROGRAM, name="stack"):
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        if "--date" not in flags:
            avoid_midnight()
        stack = Stack(folder, config, flags, program)
        self.addCleanup(stack.destroy)
        return stack.wait_until_ready()

    def start_process(self, *arguments, program=PROGRAM, port=0, env=None):
        """Starts a single process, which inherits a listening socket; returns its port, a free one by default, and the
        subprocess. `env` is its environment (default: that of the test)."""
        listener = socket.create_server(("127.0.0.1", port))
        self.addCleanup(listener.close)
        log_path = self.folder / f"{arguments[0]}.{listener.getsockname()[1]}.log"
        with open(log_path, "ab") as log:
            process = subprocess.Popen(
                [program, *arguments, "--listen-fd", str(listener.fileno())],
                pass_fds=[listener.fileno()], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env)
        process.log_path = log_path
        port = listener.getsockname()[1]
        listener.close()

        def end():
            if process.poll() is None:
                process.kill()
            process.wait()
        self.addCleanup(end)
        return port, process

    def run_program(self, *arguments, program=PROGRAM, **options):
        options.setdefault("timeout", 120)
        return subprocess.run([program, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False, **options)

    def fixture(self, name):
        """Returns the path of a fixture; if it is missing, skips the test, or fails if fixtures are required."""
        path = FIXTURES / name
        if path.exists():
            return path
        if os.environ.get("TICKSTACK_REQUIRE_FIXTURES") == "1":
            self.fail(f"no fixture {path}")
        raise unittest.SkipTest(f"no fixture {path} (TICKSTACK_FIXTURES names the folder)")


def main():
    if not os.access(PROGRAM, os.X_OK):
        sys.exit(f"{PROGRAM}: not there: `make build`, or set TICKSTACK_BIN")
    unittest.main(module="__main__", verbosity=2)

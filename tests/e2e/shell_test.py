#!/usr/bin/env python3
"""`tickstack query` as a shell on a terminal, with scripts, and with several servers."""

import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import stack  # noqa: E402

CONFIG = """
[tickerplant]
[[rdb]]
query_max_bytes = "1TiB"
[[rdb]]
name = "other"
"""
LONG_QUERY = "sum til 5000000;" * 200  # Seconds of work.


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, *command, history):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="xterm", TICKSTACK_HISTORY=str(history), PAGER="cat", COLUMNS="100")
            os.execv(command[0], command)
        self.seen = ""

    def type(self, text):
        os.write(self.terminal, text.encode())

    def expect(self, pattern, seconds=60):
        """Reads until the pattern matches, and drops everything up to its end."""
        end = time.monotonic() + seconds
        while (found := re.search(pattern, self.seen)) is None:
            if not select.select([self.terminal], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError(f"{pattern!r} did not come; seen: {self.seen!r}")
            try:
                self.seen += os.read(self.terminal, 65536).decode(errors="replace")
            except OSError as error:  # The program ended.
                raise AssertionError(f"{pattern!r} did not come; seen: {self.seen!r}") from error
        self.seen = self.seen[found.end():]
        return found

    def wait(self, keys, seconds=60):
        """Returns the exit code. Repeats the keys until it ends: a key typed before the editor has set the terminal is lost."""
        end = time.monotonic() + seconds
        for turn in range(10**9):
            if time.monotonic() > end:
                break
            if turn % 10 == 0:
                try:
                    self.type(keys)
                except OSError:
                    pass
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
            if select.select([self.terminal], [], [], 0.05)[0]:
                try:
                    os.read(self.terminal, 65536)
                except OSError:
                    time.sleep(0.05)
        raise AssertionError("it did not end")

    def close(self):
        try:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        os.close(self.terminal)


class ShellTest(stack.StackTest):
    def setUp(self):
        super().setUp()
        self.running = self.start_stack(CONFIG)
        self.address = f":{self.running.port('rdb')}"
        self.other = f":{self.running.port('other')}"
        self.history = self.running.folder / "state/history"

    def shell(self, *arguments):
        terminal = Terminal(stack.PROGRAM, "query", *(arguments or (self.address,)), history=self.history)
        self.addCleanup(terminal.close)
        terminal.expect(r"q\)")
        return terminal

    def ask(self, *arguments, **options):
        return subprocess.run([stack.PROGRAM, "query", *arguments], capture_output=True, text=True, timeout=60, **options)

    def test_lines_are_edited_completed_and_remembered(self):
        shell = self.shell()
        shell.type("cols tra\t\r")
        shell.expect(r"\r\n`time`sym`price`size`stop`cond`ex\r\n")
        shell.type("1+1\x01" + "10*\r")  # Ctrl-A moves to the start.
        shell.expect(r"\r\n20\r\n")
        shell.type("meta s\t\t")  # Several words match: the second Tab lists them.
        shell.expect(r"select  (\w+  )*size  (\w+  )*stop  (\w+  )*sum")
        shell.type("\x03")  # Ctrl-C drops the line.
        shell.expect(r"q\)")
        shell.type("(1;\r2)\r")  # An open bracket continues the line.
        shell.expect(r"\r\n1 2\r\n")
        shell.type("1+`a\r")
        shell.expect(r"\r\n'type\r\n")
        shell.type('count "\u00e9\u00e9"\r')  # Two letters, two bytes each.
        shell.expect(r"\r\n4\r\n")
        shell.type("\\t\r2+2\r")
        shell.expect(r"\r\n4\r\n\d+\.\d+ ms\r\n")
        shell.type("\\f json\rtables[]\r")
        shell.expect(r'\r\n\["quote","trade"\]\r\n')
        shell.type("\\m\r")
        shell.expect(r'\r\n\["quote","trade"\]\r\n')
        self.assertEqual(0, shell.wait("\x03\x04"))  # Ctrl-D, on an empty line.
        again = self.shell()
        again.type("\x1b[A\x1b[A\r")  # Up, twice.
        again.expect(r"\r\n`quote`trade\r\n")
        self.assertEqual(0, again.wait("\\q\r"))

    def test_functions_of_the_process_are_completed(self):
        shell = self.shell()
        shell.type("type .rdb.stat\t[]\r")
        shell.expect(r"s\[\]\r\n99h\r\n")
        shell.type("type .tier.st\t[]\r")
        shell.expect(r"ats\[\]\r\n98h\r\n")
        plant = self.shell(f":{self.running.port('tickerplant')}")
        plant.type("type .u.act\t[]\r")
        plant.expect(r"ivity\[\]\r\n99h\r\n")

    def test_a_long_query_is_interrupted_here_and_there(self):
        shell = self.shell()
        shell.type(LONG_QUERY + "\r")
        stats = lambda: self.running.ask("rdb", ".rdb.stats[]")  # noqa: E731
        stack.wait_until(lambda: stats()["queries_running"] == 2, 60, "the query")
        shell.type("\x03")
        shell.expect(r"interrupted\r\n")
        stack.wait_until(lambda: stats()["queries_cancelled"] == 1, 60, "its end at the server")
        shell.type("1+1\r")
        shell.expect(r"\r\n2\r\n")

    def test_a_server_that_comes_back_is_asked_again(self):
        shell = self.shell(self.other)
        shell.type("1+1\r")
        shell.expect(r"\r\n2\r\n")
        self.running.kill("other")
        self.running.port("other")  # The process is restarted on its port, and the shell reconnects.
        shell.type("1+2\r")
        shell.expect(r"q\)")
        shell.type("\\c " + self.address + "\r3+3\r")
        shell.expect(r"\r\n6\r\n")
        shell.type("\\c nowhere:nothing\r4+4\r")
        shell.expect(r"nowhere:nothing.*\r\n(.*\r\n)*8\r\n")

    def test_several_servers_are_asked_at_once(self):
        both = f"{self.address},{self.other}"
        self.assertEqual(f"{self.address}:\n2\n{self.other}:\n2\n", self.ask(both, "1+1").stdout)
        self.assertEqual({self.address: [0, 1], self.other: [0, 1]}, json.loads(self.ask(both, "til 2", "--json").stdout))
        wrong = self.ask(f"{self.address},:1", "1+1", "--json")
        self.assertEqual(1, wrong.returncode)
        answers = json.loads(wrong.stdout)
        self.assertEqual(2, answers[self.address])
        self.assertIn("refused", answers[":1"]["error"])
        self.assertEqual(1, self.ask(both, "1", "--csv").returncode)

    def test_what_a_server_sends_is_no_command_to_the_terminal(self):
        shell = self.shell()
        shell.type('`$"a\\033[2Jb"\r')
        shell.expect(r"\r\n`a\.\[2Jb\r\n")
        shell.type('\'"c\\033[2Jd"\r')
        shell.expect(r"'c\\x1b\[2Jd\r\n")
        self.assertEqual("'c\\x1b[2Jd\n", self.ask(self.address, '\'"c\\033[2Jd"').stderr)

    def test_scripts_end_at_the_first_error(self):
        script = self.running.folder / "script.q"
        script.write_text("/ counts\ncount trade\n(1;\n  2)\n1+`a\n3\n", encoding="utf-8")
        done = self.ask(self.address, "--file", str(script))
        self.assertEqual((1, "0\n1 2\n", f"{script}:5: 'type\n"), (done.returncode, done.stdout, done.stderr))
        done = self.ask(self.address, input="1+1\n2+2\n")
        self.assertEqual((0, "2\n4\n"), (done.returncode, done.stdout))
        for path in ("/no/file.q", "/", "/dev/zero"):
            self.assertEqual(1, self.ask(self.address, "--file", path).returncode, path)


if __name__ == "__main__":
    stack.main()

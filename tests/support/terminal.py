"""A program on a terminal of its own.

    window = Terminal(stack.PROGRAM, "top", ":5011", rows=24, columns=80)
    window.expect("tickerplant")
    window.type("q")
    window.wait()
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time


class Terminal:
    """`all` is everything that the program has written; `seen` what no `expect` has taken yet."""

    def __init__(self, *command, folder=None, rows=24, columns=100, environment=None):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.environ.update({"TERM": "xterm", **(environment or {})})
            if folder is not None:
                os.chdir(folder)
            os.execv(command[0], command)
        self.seen = self.all = ""
        self.code = None

    def resize(self, rows, columns):
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def echoes(self):
        """Whether the terminal shows what is typed."""
        return termios.tcgetattr(self.terminal)[3] & termios.ECHO != 0

    def type(self, text):
        os.write(self.terminal, text.encode())

    def read(self, seconds):
        """Reads what comes within that time; False if nothing came."""
        if not select.select([self.terminal], [], [], max(0, seconds))[0]:
            return False
        try:
            text = os.read(self.terminal, 65536).decode(errors="replace")
        except OSError:  # The program ended.
            return False
        self.seen += text
        self.all += text
        return text != ""

    def expect(self, pattern, seconds=60):
        """Reads until the pattern matches, and drops everything up to its end."""
        end = time.monotonic() + seconds
        while (found := re.search(pattern, self.seen)) is None:
            if not self.read(end - time.monotonic()):
                raise AssertionError(f"{pattern!r} did not come; seen: {self.seen!r}")
        self.seen = self.seen[found.end():]
        return found

    def wait(self, seconds=60):
        """Returns the exit code."""
        end = time.monotonic() + seconds
        while self.code is None:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                self.code = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > end:
                raise AssertionError(f"it did not end; seen: {self.seen!r}")
            elif not self.read(0.05):
                time.sleep(0.02)
        while self.read(0):
            pass
        return self.code

    def close(self):
        if self.code is None:
            try:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
            except (ProcessLookupError, ChildProcessError):
                pass
        os.close(self.terminal)

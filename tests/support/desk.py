"""A directory in which the commands of pages run, as on an engineer's machine: with the program in its PATH, and with
today's date and ports that the kernel chose instead of those on the pages."""

import datetime
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from tests.support import page_blocks, stack

PORTS = (*range(5010, 5016), 5020, 5021, *range(6010, 6013), 6020)
DATES = ("2020.03.09", "2020.03.10")  # Today and tomorrow on the pages.
PASSWORD = "a long password"
SERVERS = re.compile(r"tickstack (up|tickerplant|rdb|hdb(?= -)|aggengine|monitor|feed|process)\b(?!.*--exit-when-done)")
PATIENCE_S = 60
# A browser of its own, which loads the page.
BROWSER = '#!/bin/sh\nexec curl -sSf -o /dev/null "$1"\n'


def today_and_tomorrow():
    """Today, by UTC, is not over before a page has ended it."""
    now = datetime.datetime.now(datetime.timezone.utc)
    if now.hour == 23 and now.minute == 59:
        time.sleep(60 - now.second)
        now += datetime.timedelta(minutes=1)
    return [(now + datetime.timedelta(days=days)).strftime("%Y.%m.%d") for days in (0, 1)]


class Translation:
    """Ports, dates and paths of the pages, and of this machine. No other program gets the ports while they are open here: a
    socket that is bound but does not listen reserves its port, and programs may listen there by SO_REUSEADDR."""

    def __init__(self, paths):
        self.sockets = {}
        for port in PORTS:
            self.sockets[port] = socket.socket()
            self.sockets[port].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.sockets[port].bind(("127.0.0.1", 0))
        self.words = {str(port): str(self.port(port)) for port in PORTS} | dict(zip(DATES, today_and_tomorrow())) | paths
        self.shown = {here: shown for shown, here in self.words.items()}

    def port(self, port):
        return self.sockets[port].getsockname()[1]

    def close(self):
        for reserved in self.sockets.values():
            reserved.close()

    @staticmethod
    def _replace(words, text):
        return re.sub("|".join(rf"(?<!\d){re.escape(word)}(?!\d)" for word in words), lambda found: words[found[0]], text)

    def here(self, text):
        """Returns a text of a page as it is on this machine."""
        return self._replace(self.words, text)

    def on_the_page(self, text):
        """Returns a text of this machine as the page would show it."""
        return self._replace(self.shown, text)


class Server:
    """A command that runs until it is stopped, in a terminal of its own."""

    def __init__(self, desk, command):
        self.command = command
        self.names = desk.names
        self.path = desk.folder / f"terminal{len(desk.servers)}.log"
        self.role = SERVERS.match(command)[1]
        with open(self.path, "wb") as log:
            self.process = subprocess.Popen(["bash", "-c", f"exec {desk.names.here(command)}"], cwd=desk.folder,
                                            env=desk.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def said(self):
        return self.names.on_the_page(self.path.read_text(encoding="utf-8", errors="replace"))

    def wait_until(self, condition, what):
        def holds():
            if self.process.poll() not in (None, 0):
                raise AssertionError(f"{self.command}: exit code {self.process.returncode}: {self.said()}")
            return condition(self.said())
        try:
            stack.wait_until(holds, PATIENCE_S, what)
        except AssertionError as error:
            raise AssertionError(f"{self.command}: {error}\n{self.said()}") from None

    def wait_until_up(self):
        line = " I stack ready " if self.role == "up" else " up port="
        self.wait_until(lambda said: line in said, line)

    def interrupt(self):
        """Ctrl-C."""
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(PATIENCE_S)
        if code != 0:
            raise AssertionError(f"{self.command}: exit code {code} after Ctrl-C: {self.said()}")


class Desk:
    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tickstack-test-"))
        self.names = Translation({"/backup/today": str(self.folder / "backups/today")})
        self.servers = []  # Those that were started; the first one that runs is stopped first.
        tools = self.folder / ".bin"
        tools.mkdir()
        (tools / "tickstack").symlink_to(os.path.abspath(stack.PROGRAM))
        (tools / "xdg-open").write_text(BROWSER, encoding="ascii")
        (tools / "xdg-open").chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "HOME": str(self.folder),
                            "TMPDIR": str(self.folder), "LC_ALL": "C.UTF-8"}
        (self.folder / ".variables").touch()

    def close(self):
        for server in self.running():
            server.process.terminate()
        for server in self.servers:
            try:
                server.process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                server.process.kill()
                server.process.wait()
        self.names.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def running(self):
        return [server for server in self.servers if server.process.poll() is None]

    def fit_config(self):
        """Adapts stack.toml to this machine: ports that are free, and a disk that may be nearly full."""
        path = self.folder / "stack.toml"
        text = re.sub(r"(?m)^(#? ?port = )(\d+)", lambda line: line[1] + self.names.here(line[2]),
                      path.read_text(encoding="utf-8"))
        path.write_text(text + '[health]\ndisk_free = "1MiB"\n', encoding="utf-8")

    def start(self, command):
        server = Server(self, command)
        self.servers.append(server)
        return server

    def run(self, command):
        """Runs a command of a page to its end; returns its exit code and what it wrote. Variables that it sets are kept for
        the commands after it. A question is answered with the password."""
        script = f"source ./.variables; set -a\n{self.names.here(command)}\ncode=$?; export -p >.variables; exit $code"
        done = subprocess.run(["bash", "-c", script], cwd=self.folder, env=self.environment, input=f"{PASSWORD}\n",
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
                              timeout=PATIENCE_S, start_new_session=True)
        if command.startswith("tickstack init"):
            self.fit_config()
        return done.returncode, self.names.on_the_page(done.stdout)

    def check(self, command):
        """Runs a command of a page. Raises AssertionError if it fails, or does not write what the page shows."""
        if command.text == "^C":
            self.running()[0].interrupt()
        elif SERVERS.match(command.text):
            server = self.start(command.text)
            server.wait_until_up()
            server.wait_until(lambda said: page_blocks.begins_as_shown(f"...\n{command.shown or ''}", said), command.shown)
        else:
            self._check_output(command)

    def _check_output(self, command):
        # A query may be asked again until its answer has come: rows take a while, and engineers read between two commands.
        asks = re.match(r"(?:[A-Z_]+=\S+ )*(tickstack (query|top)|curl)\b", command.text) is not None
        last = []

        def is_right():
            last[:] = self.run(command.text)
            code, said = last
            fails = command.shown is not None and command.shown.startswith("'")  # An error of q.
            return code == int(fails) and (command.shown is None or page_blocks.is_shown(command.shown, said))
        try:
            stack.wait_until(is_right, PATIENCE_S if asks else 0, "the output that is shown")
        except AssertionError as error:
            raise AssertionError(f"$ {command.text}\n{error}: {command.shown}\nfound, with exit code {last[0]}:\n{last[1]}"
                                 ) from None

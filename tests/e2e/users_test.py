#!/usr/bin/env python3
"""A stack with a users file: each right allowed and denied over kdb+ IPC, HTTP basic, bearer tokens and WebSockets;
wrong passwords; a changed file; the stack's own processes through a whole day; no secret where others can read it."""

import base64
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import stat
import subprocess
import sys
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kdb_ipc, stack  # noqa: E402
from tests.support.web_socket import TEXT, WebSocket  # noqa: E402

CONFIG = """
[security]
users = "{users}"
[tickerplant]
batch_ms = 5
[[rdb]]
[hdb]
[aggengine]
[[monitor]]
query_ms = 200
[feed]
rate = 2000
[eod]
"""
PASSWORDS = {"reader": "read er:1", "desk": "desk-2", "feeder": "feed-3", "boss": "boss-4", "none": "none-5",
             "prometheus": "prom-6"}
RIGHTS = {
    "reader": ["--query", "trade"],
    "desk": ["--subscribe", "trade,quote", "--symbols", "A,B"],
    "feeder": ["--publish", "trade"],
    "prometheus": ["--metrics"],
    "boss": ["--query", "*", "--subscribe", "*", "--administer"],
    "none": [],
}


class UsersTest(stack.StackTest):

    def user(self, *arguments, password=None):
        return subprocess.run([stack.PROGRAM, "user", *arguments, "--users", str(self.users)],
                              input=None if password is None else password + "\n",
                              stdin=subprocess.DEVNULL if password is None else None,
                              capture_output=True, text=True, check=False, timeout=60)

    def setUp(self):
        super().setUp()
        self.users = self.folder / "users"
        for name, password in PASSWORDS.items():
            done = self.user("add", name, *RIGHTS[name], password=password)
            self.assertEqual((0, "", ""), (done.returncode, done.stdout, done.stderr), name)

    def replace_users(self, text):
        """As an editor does: a process never finds a part of the file."""
        new = self.users.with_name("users.new")
        new.touch(mode=0o600)
        new.write_text(text, encoding="utf-8")
        new.replace(self.users)

    def start(self, *flags, config=CONFIG):
        self.running = self.start_stack(config.format(users=self.users), *flags)
        return self.running

    def connect(self, process, user, password=None):
        try:
            return self.running.connect(process, user=user, password=PASSWORDS[user] if password is None else password)
        except kdb_ipc.Closed as error:
            log = self.running.data / "logs" / f"{process}.log"
            raise kdb_ipc.Closed(f"{error}; the log ends with {log.read_text(encoding='utf-8')[-2000:]}") from error

    def ask(self, process, user, query):
        """Returns the answer, or the error as `'text`."""
        try:
            with self.connect(process, user) as connection:
                return connection.call(query)
        except kdb_ipc.QError as error:
            return f"'{error}"

    def http(self, authorization, query, process="rdb"):
        return self.get(authorization, "/.json?" + urllib.parse.quote(query), process)

    def get(self, authorization, target, process="rdb"):
        connection = http.client.HTTPConnection("127.0.0.1", self.running.port(process), timeout=30)
        try:
            headers = {"Authorization": authorization} if authorization else {}
            connection.request("GET", target, headers=headers)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def audit(self, process):
        log = self.running.data / "logs" / f"{process}.log"
        return [line for line in log.read_text(encoding="utf-8").splitlines() if " audit " in line]

    @staticmethod
    def basic(user):
        return "Basic " + base64.b64encode(f"{user}:{PASSWORDS[user]}".encode()).decode()

    def test_metrics_have_a_right_of_their_own(self):
        self.start()
        processes = ("tickerplant", "rdb", "hdb", "aggengine", "monitor", "feed")
        for process in processes:
            self.assertEqual(401, self.get("", "/metrics", process)[0], process)
            status, text = self.get(self.basic("prometheus"), "/metrics", process)
            self.assertEqual(200, status, text)
            self.assertIn(f"tickstack_{process}_", text)
            self.assertEqual(200, self.get(self.basic("boss"), "/metrics", process)[0], process)
            status, text = self.get(self.basic("reader"), "/metrics", process)
            self.assertEqual(403, status, text)
            self.assertIn("access: reader may not read /metrics", text)
            denied = re.compile(r' audit denied user=reader .* what="read /metrics"')
            stack.wait_until(lambda p=process, d=denied: any(map(d.search, self.audit(p))), what=f"a line of {process}")
        self.assertEqual("'access: prometheus may not query trade", self.ask("rdb", "prometheus", "count trade"))
        self.assertIn("prometheus publish= subscribe= query= metrics\n", self.user("list").stdout)

    def test_each_right_over_ipc(self):
        self.start()
        stack.wait_until(lambda: self.ask("rdb", "boss", "count quote"), what="rows")
        self.assertGreaterEqual(self.ask("rdb", "reader", "count trade"), 0)
        self.assertEqual("'access: reader may not query quote", self.ask("rdb", "reader", "count quote"))
        self.assertEqual(["trade"], list(self.ask("rdb", "reader", "tables[]")))
        self.assertEqual("'access: none may not query trade", self.ask("rdb", "none", "select from trade"))
        self.assertEqual("'access: reader may not call .rdb.latency", self.ask("rdb", "reader", ".rdb.latency[`reset]"))
        self.assertEqual("'access: boss may not call .u.upd", self.ask("tickerplant", "boss", ".u.upd[`trade;()]"))
        row = '.u.upd[`trade;(0Np;`A;1.5;100i;0b;" ";"N")]'
        self.assertIsNone(self.ask("tickerplant", "feeder", row))
        self.assertEqual("'access: feeder may not publish to quote",
                         self.ask("tickerplant", "feeder", row.replace("trade", "quote")))
        self.assertEqual("'access: desk may not subscribe to all symbols of trade",
                         self.ask("tickerplant", "desk", ".u.sub[`trade;`]"))
        self.assertEqual("'access: desk may not subscribe to C of quote",
                         self.ask("tickerplant", "desk", ".u.sub[`quote;`C]"))
        self.assertNotIsInstance(self.ask("tickerplant", "desk", ".u.sub[`trade`quote;`A`B]"), str)
        self.assertEqual("'access: reader may not subscribe to trade",
                         self.ask("tickerplant", "reader", ".u.sub[`trade;`A]"))
        for process, call in (("tickerplant", ".u.endofday"), ("tickerplant", ".u.closer"), ("hdb", ".hdb.reload"),
                              ("feed", ".feed.start"), ("monitor", ".monitor.begin"), ("monitor", ".monitor.stats")):
            self.assertEqual(f"'access: reader may not call {call}",
                             self.ask(process, "reader", f"{call}[`x]"), process)
        self.assertEqual("'access: reader may not call system", self.ask("hdb", "reader", "\\l ."))
        self.assertIn("no such directory", self.ask("hdb", "boss", "\\l ."), "allowed, but there is no day yet")
        self.assertNotIsInstance(self.ask("monitor", "boss", ".monitor.stats[]"), str)
        denied = [line for line in self.audit("tickerplant") if " audit denied user=desk " in line]
        self.assertIn('what="subscribe to all symbols of trade"', denied[0])
        self.assertTrue(any(' audit act user=boss ' in line and 'what="system"' in line for line in self.audit("hdb")))

    def test_a_subscription_to_some_symbols_gets_only_those(self):
        self.start("--no-feed")
        with self.connect("tickerplant", "desk") as subscriber, self.connect("tickerplant", "feeder") as feeder:
            subscriber.call(".u.sub[`trade;`A]")
            for symbol in ("X", "A"):
                feeder.call(f'.u.upd[`trade;(0Np;`{symbol};1.5;100i;0b;" ";"N")]')
            rows = subscriber.next_async()[2]
            self.assertEqual(["A"], list(rows["sym"]))

    def test_http_and_web_sockets_ask_the_same_check(self):
        token = self.user("add", "script", "--query", "trade", "--token")
        self.assertEqual(0, token.returncode, token.stderr)
        self.start()
        stack.wait_until(lambda: self.ask("rdb", "boss", "count quote"), what="rows")
        bearer = "Bearer " + token.stdout.strip()
        for authorization in (self.basic("reader"), bearer):
            self.assertEqual(200, self.http(authorization, "count trade")[0])
            status, text = self.http(authorization, "count quote")
            self.assertEqual(403, status)
            self.assertIn("may not query quote", json.loads(text)["error"])
            self.assertEqual(403, self.http(authorization, ".u.endofday[]", "tickerplant")[0])
            with WebSocket(self.running.port("rdb"), [f"Authorization: {authorization}"]) as client:
                client.send(TEXT, b"count quote")
                self.assertIn(b"may not query quote", client.receive()[1])
                client.send(TEXT, b"0<=count trade")
                self.assertEqual((TEXT, b"true"), client.receive())
        basic = "Basic " + base64.b64encode(b"reader:wrong").decode()
        for wrong in (None, basic, "Bearer script.wrong", "Bearer script"):
            self.assertEqual(401, self.http(wrong, "1")[0], wrong)
            headers = [f"Authorization: {wrong}"] if wrong else []
            with WebSocket(self.running.port("rdb"), headers) as client:
                self.assertEqual(401, client.status)

    def test_wrong_passwords_wait_and_capture_goes_on(self):
        self.start()
        stack.wait_until(lambda: self.ask("rdb", "boss", "count quote"), what="rows")
        before = self.ask("rdb", "boss", "count quote")

        def refused(user, password):
            try:
                self.connect("rdb", user, password).close()
                return False
            except (kdb_ipc.Closed, OSError):
                return True

        def failures():
            return sum('refused user=reader ' in line and 'reason="wrong user or password"' in line
                       for line in self.audit("rdb"))

        def guess():
            time.sleep(0.2)  # The audit log withholds lines of a flood.
            self.assertTrue(refused("reader", "wrong"))
            return failures() >= 8
        stack.wait_until(guess, what="8 failures, after pauses of 1, 2 and 4 s")
        self.assertTrue(refused("reader", PASSWORDS["reader"]), "the right password waits, too")
        self.assertTrue(refused("", ""))
        self.assertTrue(refused("stack", "wrong"))
        self.assertGreater(stack.wait_until(lambda: self.ask("rdb", "boss", "count quote") - before), 0)
        stack.wait_until(lambda: not refused("reader", PASSWORDS["reader"]), 90, "the end of the pause")
        lines = self.audit("rdb")
        self.assertTrue(any("refused user=reader host=127.0.0.1:" in line and "too many failed logins" in line
                            for line in lines), lines)

    def test_a_changed_file_is_used_and_a_bad_one_is_not(self):
        self.start("--no-feed")
        connection = self.connect("rdb", "reader")
        other = self.connect("rdb", "boss")
        self.addCleanup(connection.close)
        self.addCleanup(other.close)
        self.assertEqual(0, self.user("passwd", "reader", password="changed").returncode)
        stack.wait_until(lambda: self.is_closed(connection), 30, "the end of the connection")
        self.assertEqual(1, other.call("1"), "other users keep theirs")
        with self.assertRaises((kdb_ipc.Closed, OSError)):
            self.connect("rdb", "reader")
        self.connect("rdb", "reader", "changed").close()
        text = self.users.read_text(encoding="utf-8")
        self.replace_users(text.replace("[users.none]", "[users.none]\nqurey = []"))
        log = self.running.data / "logs" / "rdb.log"
        wanted = "users.none.qurey: unknown key, did you mean query?"
        stack.wait_until(lambda: wanted in log.read_text(encoding="utf-8"), 30, wanted)
        self.connect("rdb", "reader", "changed").close()
        self.assertEqual(1, self.user("list").returncode)
        self.replace_users(text)
        self.assertEqual(0, self.user("remove", "boss").returncode)
        stack.wait_until(lambda: self.is_closed(other), 30, "the end of boss")

    @staticmethod
    def is_closed(connection):
        try:
            connection.call("1")
            return False
        except (kdb_ipc.Closed, OSError):
            return True

    def test_the_stacks_own_processes_work_for_a_whole_day(self):
        running = self.start("--date", "2013.10.07")
        stack.wait_until(lambda: self.ask("rdb", "boss", "count quote") > 500, what="rows")
        stack.wait_until(lambda: self.ask("rdb", "boss", "count quote_minute"), what="bars")
        stack.wait_until(lambda: self.ask("monitor", "boss", ".monitor.stats[]")["samples"] > 0, what="samples")
        old = running.pid("rdb")
        os.kill(old, signal.SIGKILL)
        stack.wait_until(lambda: running.pid("rdb") != old, what="a new rdb")
        stack.wait_until(lambda: self.ask("rdb", "boss", "count quote") > 500, what="rows after a restart")
        config = str(running.folder / "stack.toml")
        ended = self.run_program("eod", "--config", config, "--data", str(running.data),
                                 "--tickerplant", f"127.0.0.1:{running.port('tickerplant')}",
                                 "--rdb", f"127.0.0.1:{running.port('rdb')}")
        self.assertEqual(0, ended.returncode, ended.stderr)
        rows = stack.wait_until(lambda: self.ask("hdb", "boss", "exec count i from quote where date=2013.10.07"),
                                what="the day in the hdb")
        self.assertGreater(rows, 500)
        self.assertEqual("'access: reader may not query quote",
                         self.ask("hdb", "reader", "select from quote where date=2013.10.07"))
        query = self.run_program("query", f":{running.port('rdb')}", "1+1", "--credentials",
                                 str(running.data / "stack.credentials"))
        self.assertEqual(("2\n", 0), (query.stdout, query.returncode), query.stderr)
        self.assertEqual(0, running.stop())

    def test_no_secret_is_in_a_log_a_command_line_or_a_file_for_others(self):
        running = self.start()
        stack.wait_until(lambda: self.ask("rdb", "boss", "count quote"), what="rows")
        credentials = running.data / "stack.credentials"
        for path in (self.users, credentials):
            self.assertEqual(0o600, stat.S_IMODE(path.stat().st_mode), path)
        user, _, secret = credentials.read_text(encoding="ascii").strip().partition(":")
        self.assertEqual(("stack", 43), (user, len(secret)))
        with self.connect("rdb", "boss") as connection:
            connection.call("1")
        hidden = [secret, *PASSWORDS.values()]
        for process in running.processes().values():
            command = pathlib.Path(f"/proc/{process['pid']}/cmdline").read_bytes()
            environment = pathlib.Path(f"/proc/{process['pid']}/environ").read_bytes()
            for text in hidden:
                self.assertNotIn(text.encode(), command + environment)
        for log in [running.log_path, *(running.data / "logs").iterdir()]:
            text = log.read_text(encoding="utf-8", errors="replace")
            for word in hidden:
                self.assertNotIn(word, text, log)
        self.assertNotIn("boss-4", self.users.read_text(encoding="utf-8"))

    def test_the_users_command(self):
        listed = self.user("list")
        self.assertIn("desk publish= subscribe=quote(2 symbols),trade(2 symbols) query=\n", listed.stdout)
        self.assertIn("boss publish= subscribe=* query=* administer\n", listed.stdout)
        rows = [json.loads(line) for line in self.user("list", "--json").stdout.splitlines()]
        self.assertEqual(sorted(PASSWORDS), [row["user"] for row in rows])
        for arguments, password, wanted in (
                (["add", "boss"], "x", "the user boss exists"), (["add", "a b"], "x", "expected a name"),
                (["add", "stack"], "x", "the stack's own"), (["add", "x"], "", "expected a password"),
                (["remove", "nobody"], None, "there is no user nobody"),
                (["passwd", "nobody"], "x", "there is no user nobody")):
            done = self.user(*arguments, password=password)
            self.assertEqual(1, done.returncode, arguments)
            self.assertIn(wanted, done.stderr)
        os.chmod(self.users, 0o644)
        self.assertIn("mode 0644, expected 0600", self.user("list").stderr)

    def test_the_commands_of_the_page(self):
        page = (stack.ROOT / "docs/operating/security.md").read_text(encoding="utf-8")
        folder = self.folder / "page"
        (folder / "bin").mkdir(parents=True)
        (folder / "bin/tickstack").symlink_to(os.path.abspath(stack.PROGRAM))
        commands = re.search(r"## Begin\n\n```sh\n(.*?)```", page, re.S)[1]
        for line in commands.splitlines():
            ran = subprocess.run(["sh", "-ec", line], cwd=folder, input="alice-1\n", capture_output=True, text=True,
                                 env={"PATH": f"{folder}/bin:/usr/bin:/bin"}, check=False, timeout=60)
            self.assertEqual((0, ""), (ran.returncode, ran.stderr), line)
        self.assertEqual(["alice", "boss", "feed1"], [line.split()[0] for line in ran.stdout.splitlines()])
        example = re.search(r"```toml\n(\[groups.desk\].*?)```", page, re.S)[1]
        users = (folder / "users").read_text(encoding="utf-8")
        hashed = re.search(r'password = (".*?")', users)[1]
        (folder / "users").write_text(re.sub(r'password = ".*?"', lambda _: f"password = {hashed}", example),
                                      encoding="utf-8")
        listed = self.run_program("user", "list", "--users", str(folder / "users"))
        self.assertEqual("alice publish=orders subscribe=quote(2 symbols),trade(2 symbols) query=quote,trade\n",
                         listed.stdout, listed.stderr)

    def test_beyond_loopback_needs_users(self):
        config = '[tickerplant]\nhost = "0.0.0.0"\n'
        path = self.folder / "open.toml"
        path.write_text(config, encoding="utf-8")
        for command in (["up", str(path), "--data", str(self.folder / "d"), "--ports", "0"],
                        ["tickerplant", "--host", "0.0.0.0", "--port", "0", "--data", str(self.folder / "d")]):
            ended = self.run_program(*command, timeout=30)
            self.assertEqual(1, ended.returncode, ended.stderr)
            self.assertIn("other machines could connect, and everyone may log in", ended.stderr)
        listener = socket.create_server(("0.0.0.0", 0))
        with listener:
            ended = subprocess.run(
                [stack.PROGRAM, "tickerplant", "--data", str(self.folder / "d"), "--listen-fd", str(listener.fileno())],
                pass_fds=[listener.fileno()], capture_output=True, text=True, check=False, timeout=30)
        self.assertEqual(1, ended.returncode)
        self.assertIn("the inherited socket: other machines could connect", ended.stderr)
        for more in ("insecure = true", f'users = "{self.users}"'):
            running = self.start_stack(f"[security]\n{more}\n{config}", name="open-" + more.split()[0])
            self.assertEqual(0, running.stop())


if __name__ == "__main__":
    stack.main()

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
import threading
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
PASSWORDS = {"reader": "read on:1", "desk": "a table-2", "feeder": "oats/hay-3", "boss": "corner office-4",
             "none": "nowhere to be-5", "prometheus": "fire from above-6"}
RIGHTS = {
    "reader": ["--query", "trade"],
    "desk": ["--subscribe", "trade,quote", "--symbols", "A,B"],
    "feeder": ["--publish", "trade"],
    "prometheus": ["--metrics"],
    "boss": ["--query", "*", "--subscribe", "*", "--administer"],
    "none": [],
}


class ContainerRecipeTest(stack.StackTest):
    """The configuration with users that docs/operating/install.md gives for a container, and the health check of the
    Containerfile."""

    def health(self, running):
        text = (stack.ROOT / "packaging/container/Containerfile").read_text(encoding="utf-8")
        command = json.loads(re.search(r"(?s)^HEALTHCHECK .*?CMD (\[.*?\])$", text, re.MULTILINE)[1])
        command = [word.replace("/5011 ", f"/{running.port('rdb')} ") for word in command]
        return subprocess.run(command, capture_output=True, check=False, timeout=30).returncode

    def test_the_probe_works_with_users(self):
        page = (stack.ROOT / "docs/operating/install.md").read_text(encoding="utf-8")
        recipe = re.search(r"```toml\n(.*?)```", page.partition("## In a container")[2], re.DOTALL)[1]
        users = self.folder / "users"
        added = subprocess.run([stack.PROGRAM, "user", "add", "alice", "--users", str(users), "--query", "*"],
                               input="a long password\n", capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(0, added.returncode, added.stderr)
        recipe = recipe.replace("/var/lib/tickstack/users", str(users))
        running = self.start_stack(recipe)
        stack.wait_until(lambda: self.health(running) == 0, what="a healthy stack")
        without = self.start_stack(recipe.replace("http = true", ""), name="without")
        self.assertNotEqual(0, self.health(without))


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

    def wait_for_rows(self, more_than=0, table="quote"):
        """Waits for rows in the rdb. While it lacks the table, the answer is an error."""
        def are_there():
            rows = self.ask("rdb", "boss", f"count {table}")
            return isinstance(rows, int) and rows > more_than
        stack.wait_until(are_there, what=f"more than {more_than} rows of {table}")

    def http(self, authorization, query, process="rdb"):
        return self.get(authorization, "/.json?" + urllib.parse.quote(query), process)

    def get(self, authorization, target, process="rdb"):
        connection = http.client.HTTPConnection("127.0.0.1", self.running.port(process), timeout=60)
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
        self.wait_for_rows()
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
        # No function of any process names a table that the user may not know, and other users see it.
        for process, call in (("rdb", ".tier.of[]"), ("tickerplant", ".u.activity[]"), ("tickerplant", ".u.t"),
                              ("feed", ".feed.stats[]"), ("tickerplant", "tables[]")):
            with self.subTest(call=call):
                self.assertIn("quote", str(self.ask(process, "boss", call)))
                told = str(self.ask(process, "reader", call))
                self.assertNotIn("quote", told)
                self.assertIn("trade", told)
        denied = stack.wait_until(lambda: [line for line in self.audit("tickerplant") if " audit denied user=desk " in line], what="a denial")
        self.assertIn('what="subscribe to all symbols of trade"', denied[0])
        stack.wait_until(lambda: any(' audit act user=boss ' in line and 'what="system"' in line for line in self.audit("hdb")),
                         what="the reload")

    def test_a_subscription_to_some_symbols_gets_only_those(self):
        self.start("--no-feed")
        with self.connect("tickerplant", "desk") as subscriber, self.connect("tickerplant", "feeder") as feeder:
            subscriber.call(".u.sub[`trade;`A]")
            for symbol in ("X", "A"):
                feeder.call(f'.u.upd[`trade;(0Np;`{symbol};1.5;100i;0b;" ";"N")]')
            rows = subscriber.next_async()[2]
            self.assertEqual(["A"], list(rows["sym"]))

    def test_a_feeds_name_stays_its_users_while_neither_it_nor_the_tickerplant_runs(self):
        rivals_password = "another-7-one"
        done = self.user("add", "rival", "--publish", "trade", password=rivals_password)
        self.assertEqual(0, done.returncode, done.stderr)
        self.start("--no-feed")
        row = '.u.updn[`mine;{};`trade;(0Np;`A;1.5;100i;0b;" ";"N")]'

        def refusals():
            with self.connect("tickerplant", "rival", rivals_password) as rival:
                for text in (".u.feed[`mine;`x]", ".u.feed[`mine;`x;`takeover]", row.format(1), row.format(0)):
                    with self.assertRaises(kdb_ipc.QError) as refused:
                        rival.call(text)
                    yield str(refused.exception)

        with self.connect("tickerplant", "feeder") as feeder:
            self.assertEqual(0, feeder.call(".u.feed[`mine;`x]")["trade"])
            feeder.call(row.format(0))
        for restarts in (False, True):
            if restarts:
                old = self.running.pid("tickerplant")
                os.kill(old, signal.SIGKILL)
                stack.wait_until(lambda: self.running.pid("tickerplant") not in (old, None), what="a new tickerplant")
            self.assertEqual({"access: rival may not claim feed mine, which feeder owns"}, set(refusals()))
        with self.connect("tickerplant", "feeder") as feeder:
            self.assertEqual(1, feeder.call(".u.feed[`mine;`y]")["trade"])
            feeder.call(row.format(1))
            self.assertEqual(2, feeder.call(".u.feed[`mine]")["trade"])

    def test_http_and_web_sockets_ask_the_same_check(self):
        token = self.user("add", "script", "--query", "trade", "--token")
        self.assertEqual(0, token.returncode, token.stderr)
        self.start()
        self.wait_for_rows()
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
        self.wait_for_rows()
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
        self.assertEqual(0, self.user("passwd", "reader", password="changed since").returncode)
        stack.wait_until(lambda: self.is_closed(connection), what="the end of the connection")
        self.assertEqual(1, other.call("1"), "other users keep theirs")
        with self.assertRaises((kdb_ipc.Closed, OSError)):
            self.connect("rdb", "reader")
        self.connect("rdb", "reader", "changed since").close()
        text = self.users.read_text(encoding="utf-8")
        self.replace_users(text.replace("[users.none]", "[users.none]\nqurey = []"))
        log = self.running.data / "logs" / "rdb.log"
        wanted = "users.none.qurey: unknown key, did you mean query?"
        stack.wait_until(lambda: wanted in log.read_text(encoding="utf-8"), what=wanted)
        self.connect("rdb", "reader", "changed since").close()
        self.assertEqual(1, self.user("list").returncode)
        self.replace_users(text)
        self.assertEqual(0, self.user("remove", "boss").returncode)
        stack.wait_until(lambda: self.is_closed(other), what="the end of boss")

    @staticmethod
    def is_closed(connection):
        try:
            connection.call("1")
            return False
        except (kdb_ipc.Closed, OSError):
            return True

    def test_the_stacks_own_processes_work_for_a_whole_day(self):
        running = self.start("--date", "2013.10.07")
        self.wait_for_rows(500)
        self.wait_for_rows(table="quote_minute")
        stack.wait_until(lambda: self.ask("monitor", "boss", ".monitor.stats[]")["samples"] > 0, what="samples")
        old = running.pid("rdb")
        os.kill(old, signal.SIGKILL)
        stack.wait_until(lambda: running.pid("rdb") != old, what="a new rdb")
        self.wait_for_rows(500)
        config = str(running.folder / "stack.toml")
        ended = self.run_program("eod", "--config", config, "--data", str(running.data),
                                 "--tickerplant", f"127.0.0.1:{running.port('tickerplant')}",
                                 "--rdb", f"127.0.0.1:{running.port('rdb')}")
        self.assertEqual(0, ended.returncode, ended.stderr)

        def has_the_day():
            rows = self.ask("hdb", "boss", "exec count i from quote where date=2013.10.07")
            return isinstance(rows, int) and rows > 500
        stack.wait_until(has_the_day, what="the day in the hdb")
        self.assertEqual("'access: reader may not query quote",
                         self.ask("hdb", "reader", "select from quote where date=2013.10.07"))
        query = self.run_program("query", f":{running.port('rdb')}", "1+1", "--credentials",
                                 str(running.data / "stack.credentials"))
        self.assertEqual(("2\n", 0), (query.stdout, query.returncode), query.stderr)
        self.assertEqual(0, running.stop())

    def test_no_secret_is_in_a_log_a_command_line_or_a_file_for_others(self):
        running = self.start()
        self.wait_for_rows()
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
                (["add", "boss"], "not a weak one", "the user boss exists"), (["add", "a b"], "x", "expected a name"),
                (["add", "stack"], "not a weak one", "the stack's own"), (["add", "x"], "", "expected a password"),
                (["remove", "nobody"], None, "there is no user nobody"),
                (["passwd", "nobody"], "x", "there is no user nobody"),
                (["add", "new"], "abc", "weak password: expected at least 8 characters, found 3"),
                (["passwd", "boss"], "abc", "weak password: expected at least 8 characters, found 3"),
                (["add", "new"], "Password1!", "weak password: it is one of the most common ones"),
                (["passwd", "boss"], "boss-2026", "weak password: it has little beside the name"),
                (["add", "new"], "qwertyuiop", "weak password: it repeats, counts or follows the keyboard")):
            done = self.user(*arguments, password=password)
            self.assertEqual(1, done.returncode, arguments)
            self.assertIn(wanted, done.stderr)
        self.assertNotIn("new ", self.user("list").stdout)
        os.chmod(self.users, 0o644)
        self.assertIn("mode 0644, expected 0600", self.user("list").stderr)

    def test_the_commands_of_the_page(self):
        page = (stack.ROOT / "docs/operating/security.md").read_text(encoding="utf-8")
        folder = self.folder / "page"
        (folder / "bin").mkdir(parents=True)
        (folder / "bin/tickstack").symlink_to(os.path.abspath(stack.PROGRAM))
        commands = re.search(r"## Begin\n\n```sh\n(.*?)```", page, re.S)[1]
        for line in commands.splitlines():
            ran = subprocess.run(["sh", "-ec", line], cwd=folder, input="a long password\n", capture_output=True, text=True,
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
            ended = self.run_program(*command)
            self.assertEqual(1, ended.returncode, ended.stderr)
            self.assertIn("other machines could connect, and everyone may log in", ended.stderr)
        listener = socket.create_server(("0.0.0.0", 0))
        with listener:
            ended = subprocess.run(
                [stack.PROGRAM, "tickerplant", "--data", str(self.folder / "d"), "--listen-fd", str(listener.fileno())],
                pass_fds=[listener.fileno()], capture_output=True, text=True, check=False, timeout=120)
        self.assertEqual(1, ended.returncode)
        self.assertIn("the inherited socket: other machines could connect", ended.stderr)
        for more in ("insecure = true", f'users = "{self.users}"'):
            running = self.start_stack(f"[security]\n{more}\n{config}", name="open-" + more.split()[0])
            self.assertEqual(0, running.stop())

    def refused(self, process, what):
        """Returns the number of refused clients from the metrics of a process."""
        text = self.get(self.basic("prometheus"), "/metrics", process)[1]
        return int(re.search(rf'^tickstack_connections_refused_total{{reason="{what}"}} (\d+)$', text, re.M)[1])

    def test_clients_without_rights_keep_nobody_out(self):
        self.start(config='[security]\nusers = "{users}"\n[tickerplant]\nmax_connections = 60\n[[rdb]]\n')
        opened = []
        self.addCleanup(lambda: [client.close() for client in opened])

        def check_others(process):
            for page in ("/healthz", "/readyz"):
                self.assertEqual(200, self.get("", page, process)[0], page)
            self.assertEqual((200, "2\n"), self.http(self.basic("boss"), "1+1", process))
            for user in ("reader", "boss"):
                self.assertEqual(2, self.ask(process, user, b"1+1"), user)

        # Connections that are kept, after a page without a login and after a refusal.
        port = self.running.port("rdb")
        for page in [b"/healthz"] * 280 + [b"/?1"] * 10 + [b"/healthz"] * 20:
            client = socket.create_connection(("127.0.0.1", port), 30)
            opened.append(client)
            client.sendall(b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % page)
            self.assertIn(client.recv(12), (b"HTTP/1.1 200", b"HTTP/1.1 401"))
        check_others("rdb")
        # WebSockets.
        statuses = []
        for _ in range(300):
            client = WebSocket(port, [f"Authorization: {self.basic('none')}"])
            opened.append(client.socket)
            statuses.append(client.status)
        self.assertEqual({101, 503}, set(statuses))
        self.assertLessEqual(statuses.count(101), 64)
        check_others("rdb")
        # Connections of kdb+'s own protocol.
        accepted = 0
        for _ in range(120):
            try:
                opened.append(self.connect("tickerplant", "none").socket)
                accepted += 1
            except kdb_ipc.Closed:
                pass
        self.assertEqual(15, accepted)
        self.assertGreaterEqual(self.refused("tickerplant", "no_place"), 105)
        for user in ("reader", "desk", "feeder"):  # All of the others' places.
            for _ in range(20):
                try:
                    opened.append(self.connect("tickerplant", user).socket)
                except kdb_ipc.Closed:
                    pass
        self.assertEqual(2, self.ask("tickerplant", "boss", b"1+1"))
        killed = self.running.pid("rdb")
        os.kill(killed, signal.SIGKILL)
        stack.wait_until(lambda: self.running.pid("rdb") != killed, 60, "another rdb")
        stack.wait_until(lambda: self.get("", "/readyz")[0] == 200, 60, "the rdb, which has a place at the tickerplant")
        self.assertEqual(0, self.running.stop(), self.running.log_text())

    def test_a_user_without_rights_holds_no_memory(self):
        self.start(config='[security]\nusers = "{users}"\n[tickerplant]\n[[rdb]]\n')
        for process in ("tickerplant", "rdb"):
            before = stack.rss_bytes(self.running.pid(process))
            held = []
            for kind in (kdb_ipc.ASYNC, kdb_ipc.SYNC):
                for _ in range(8):
                    client = self.connect(process, "none").socket
                    held.append(client)
                    size = 100_000_000 if process == "tickerplant" else 15_000_000
                    client.settimeout(1)
                    try:
                        client.sendall(bytes([1, kind, 0, 0]) + size.to_bytes(4, "little") + bytes(size - 1000))
                    except OSError:
                        pass  # It was closed, or nothing is read any more.
            self.assertLess(stack.rss_bytes(self.running.pid(process)) - before, 64 << 20)
            with self.connect(process, "none") as client:
                with self.assertRaisesRegex(kdb_ipc.QError, "limit: .* of 2000014 bytes, at most 1048576"):
                    client.call(b"x" * 2_000_000)
                self.assertEqual(2, client.call(b"1+1"))
            for client in held:
                client.close()
        rows = [b"x" * 2_000_000]
        with self.connect("tickerplant", "feeder") as client:
            with self.assertRaisesRegex(kdb_ipc.QError, "^(?!limit)"):
                client.call([b".u.upd", "trade", rows])
        self.assertEqual(0, self.running.stop(), self.running.log_text())

    def test_wrong_logins_do_not_refuse_right_ones(self):
        self.start(config='[security]\nusers = "{users}"\n[tickerplant]\n[[rdb]]\n')
        port = self.running.port("rdb")
        ends = threading.Event()
        tried = []

        def guess(number):
            attempt = 0
            while not ends.is_set():
                attempt += 1
                user = f"u{number}_{attempt}" if number % 5 == 0 else "none"
                try:
                    kdb_ipc.Connection(port, user=user, password=f"wrong{number}.{attempt}", timeout=60).close()
                except (kdb_ipc.Closed, OSError):
                    tried.append(user)
        threads = [threading.Thread(target=guess, args=(number,)) for number in range(30)]
        for thread in threads:
            thread.start()
        try:
            stack.wait_until(lambda: len(tried) > 5, 60, "wrong logins")
            for user in ("reader", "boss"):
                self.assertEqual(2, self.ask("rdb", user, b"1+1"), user)
            self.assertEqual((200, "2\n"), self.http(self.basic("prometheus"), "1+1"))
        finally:
            ends.set()
            for thread in threads:
                thread.join()
        self.assertEqual(0, self.running.stop(), self.running.log_text())


if __name__ == "__main__":
    stack.main()

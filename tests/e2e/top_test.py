#!/usr/bin/env python3
"""`tickstack top`: as text, as JSON, and on a terminal."""

import json
import os
import pathlib
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import stack, terminal  # noqa: E402
from tests.support.certificates import Certificates  # noqa: E402

CONFIG = """
[tickerplant]
[[rdb]]
[feed]
rate = 2000
seconds = 0
symbols = 20
[hdb]
[aggengine]
[monitor]
"""
PASSWORD = "a long password"
NAMES = ["tickerplant", "rdb", "feed", "hdb", "monitor", "aggengine"]
FIGURES = (("tickerplant", "rows_in_per_s"), ("rdb", "rows_in_per_s"), ("feed", "rows_out_per_s"), ("rdb", "memory_bytes"),
           ("rdb", "p99_ms"), ("aggengine", "rows_out_per_s"), ("tickerplant", "clients"))  # That are not 0.
TAKEN, RESTORED = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"


class TopTest(stack.StackTest):
    def start(self, config=CONFIG):
        running = self.start_stack(config)
        stack.wait_until(lambda: running.count("quote") > 0, what="the first rows")
        return running

    def config_of(self, running, before=""):
        """Writes a configuration with the ports that the kernel chose."""
        path = self.folder / "watched.toml"
        text = before
        for process in running.processes().values():
            head = f"[[{process['role']}]]" if process["role"] in ("rdb", "feed", "monitor") else f"[{process['role']}]"
            text += f"{head}\nname = \"{process['name']}\"\nport = {process['port']}\n"
        path.write_text(text, encoding="utf-8")
        return path

    def addresses(self, running):
        return ",".join(f":{running.port(name)}" for name in NAMES)

    def top(self, *arguments, **options):
        return self.run_program("top", *map(str, arguments), **options)

    def open(self, *arguments, **options):
        options.setdefault("columns", 180)
        window = terminal.Terminal(stack.PROGRAM, "top", *map(str, arguments), **options)
        self.addCleanup(window.close)
        return window

    def test_json_has_figures_of_each_process(self):
        running = self.start()
        for target in (self.config_of(running), self.addresses(running)):
            def figures(target=target):
                """Rates are those of a second, in which a process may have had no rows."""
                done = self.top(target, "--json")
                self.assertEqual((0, ""), (done.returncode, done.stderr))
                found = json.loads(done.stdout)
                by_role = {process["role"]: process for process in found["processes"]}
                self.assertEqual(set(NAMES), set(by_role))
                last[:] = [found, by_role]
                return all((by_role[role][key] or 0) > 0 for role, key in FIGURES)
            last = []
            try:
                stack.wait_until(figures, what="figures")
            except AssertionError as error:
                raise AssertionError(f"{error}: {last}") from None
            found, by_role = last
            self.assertEqual(running.ask("tickerplant", "string .u.d").decode(), found["day"])
            self.assertEqual(("live", "publishing"), (by_role["rdb"]["state"], by_role["feed"]["state"]))
            self.assertIn("dram", [tier["tier"] for tier in found["tiers"]])

    def test_an_idle_rdb_has_no_waiting_queries(self):
        """The questions of `top` itself are not among them."""
        running = self.start_stack("[tickerplant]\n[[rdb]]\n")
        for _ in range(10):
            found = json.loads(self.top(f":{running.port('rdb')}", "--json").stdout)
            self.assertEqual(0, found["processes"][0]["queries_waiting"])

    def test_text_without_a_terminal_shows_a_process_that_is_down(self):
        running = self.start(CONFIG + "[stack]\nrestart = false\n")
        path = self.config_of(running)
        done = self.top(path)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertIn("6 of 6 processes answer", done.stdout)
        self.assertNotIn("\x1b", done.stdout)
        running.stop()
        done = self.top(path, "--once")
        self.assertEqual(1, done.returncode)
        self.assertIn("0 of 6 processes answer", done.stdout)
        self.assertRegex(done.stdout, r"rdb +rdb +down")
        self.assertIn("Connection refused", done.stdout)

    def test_wrong_targets_are_errors(self):
        for target, code, error in (("/no/stack.toml", 1, "/no/stack.toml"), (":x", 2, ":x"), ("stack.toml", 1, "stack.toml")):
            done = self.top(target, cwd=self.folder)
            self.assertEqual((code, ""), (done.returncode, done.stdout))
            self.assertIn(error, done.stderr)

    def test_the_screen_is_refreshed_sorted_and_paused(self):
        running = self.start()
        window = self.open(self.config_of(running))
        window.expect("6 of 6 processes answer")
        window.expect(r"tickerplant +tickerplant +live +[0-9,]+ ")
        self.assertIn(TAKEN, window.all)
        for key, order in (("s", "NAME"), ("\x1b[C", "ROLE"), ("\x1b[B", "STATE"), ("\x1b[D", "ROLE"), ("\x1bOA", "NAME")):
            window.type(key)
            window.expect(f"sort by {order} ")
        window.type("p")
        window.expect(r"continue \(paused\)")
        window.type("p")
        window.expect("p pause")
        window.expect("6 of 6 processes answer")
        window.type("q")
        self.assertEqual(0, window.wait())
        self.assertTrue(window.all.endswith(RESTORED), window.all[-100:])

    def test_it_survives_deaths_and_small_windows(self):
        running = self.start()
        window = self.open(self.config_of(running))
        window.expect("6 of 6 processes answer")
        os.kill(running.pid("hdb"), signal.SIGSTOP)
        try:
            window.expect(r"hdb +hdb +silent")
        finally:
            os.kill(running.pid("hdb"), signal.SIGCONT)
        window.expect("6 of 6 processes answer")
        for rows, columns in ((1, 1), (3, 20), (50, 200)):
            window.resize(rows, columns)
            window.expect("\x1b\\[H")
        window.expect("CLIENTS")
        running.kill("rdb")
        window.seen = ""
        window.expect("6 of 6 processes answer")  # top has connected again.
        running.stop()
        window.expect("0 of 6 processes answer")
        window.type("q")
        self.assertEqual(0, window.wait())

    def test_signals_restore_the_terminal(self):
        running = self.start()
        for number in (signal.SIGINT, signal.SIGTERM):
            window = self.open(f":{running.port('rdb')}")
            window.expect("1 of 1 processes answer")
            os.kill(window.pid, number)
            self.assertEqual(0, window.wait())
            self.assertTrue(window.all.endswith(RESTORED), window.all[-100:])

    def security(self, *names):
        """Adds users, and returns the section of a configuration with them."""
        users = self.folder / "users"
        for name in names:
            subprocess.run([stack.PROGRAM, "user", "add", name, "--users", str(users)], input=f"{PASSWORD}\n",
                           capture_output=True, text=True, check=True)
        return f'[security]\nusers = "{users}"\n'

    def test_users_log_in(self):
        security = self.security("alice", "bob")
        running = self.start_stack(security + "[tickerplant]\n[[rdb]]\n")
        address = f":{running.port('tickerplant')},:{running.port('rdb')}"
        self.assertEqual(1, self.top(address, "--once").returncode)
        done = self.top(address, "--json", "--user", "alice", env={**os.environ, "TICKSTACK_PASSWORD": PASSWORD})
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertEqual(["tickerplant", "rdb"], [process["role"] for process in json.loads(done.stdout)["processes"]])
        # Without a user, the stack's own credentials.
        path = self.config_of(running, security + f'credentials = "{running.data}/stack.credentials"\n')
        done = self.top(path, "--once")
        self.assertEqual((0, ""), (done.returncode, done.stderr))

    def test_over_tls_with_a_user(self):
        certificates = Certificates(self.folder)
        certificates.issue_root("other_ca")
        ca, files = self.folder / "ca.pem", f'certificate = "{self.folder}/server.pem"\nkey = "{self.folder}/server.key"\n'
        protected = self.security("alice") + f'[tls]\nlisten = "required"\n{files}ca = "{ca}"\n'
        running = self.start_stack(protected + "[tickerplant]\n[[rdb]]\n")
        ports = [running.port(name) for name in ("tickerplant", "rdb")]
        addresses = ",".join(f"tcps://localhost:{port}" for port in ports)
        alice = {"TICKSTACK_PASSWORD": PASSWORD}

        def once(target, *flags, password=PASSWORD):
            return self.top(target, "--json", "--user", "alice", *flags, env={**os.environ, "TICKSTACK_PASSWORD": password})
        done = once(addresses, "--ca", ca)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        found = json.loads(done.stdout)["processes"]
        self.assertEqual([("tickerplant", True), ("rdb", True)], [(one["role"], one["answers"]) for one in found])
        # What is wrong is said by name, for each process.
        for target, flags, password, error in (
                (addresses, ("--ca", ca), "another password", "refused, wrong user or password?"),
                (addresses, ("--ca", self.folder / "other_ca.pem"), PASSWORD, "certificate"),
                (addresses, (), PASSWORD, "certificate"),
                (addresses.replace("tcps://", ""), (), PASSWORD, "handshake refused: the port requires TLS")):
            with self.subTest(flags=flags, password=password, error=error):
                done = once(target, *flags, password=password)
                self.assertEqual(1, done.returncode, done.stdout)
                found = json.loads(done.stdout)
                self.assertEqual([False, False], [one["answers"] for one in found["processes"]])
                self.assertEqual(2, sum(error in problem for problem in found["problems"]), found["problems"])
        window = self.open(addresses, "--ca", ca, "--user", "alice", environment=alice)
        window.expect("2 of 2 processes answer")
        window.type("q")
        self.assertEqual(0, window.wait())
        # The stack's configuration has the certificate that top trusts, and names the stack's own credentials.
        credentials = f'users = "{self.folder}/users"\ncredentials = "{running.data}/stack.credentials"\n'
        path = self.config_of(running, protected.replace(f'users = "{self.folder}/users"\n', credentials))
        done = self.top(path, "--json")
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertEqual([True, True], [one["answers"] for one in json.loads(done.stdout)["processes"]])


if __name__ == "__main__":
    stack.main()

#!/usr/bin/env python3
"""`tickstack init`: what it writes passes `tickstack check`, and `tickstack up` captures rows with it."""

import itertools
import os
import pathlib
import re
import stat
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import stack, terminal  # noqa: E402


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def without_space(text):
    """Removes the free space of disks, which other programs change."""
    return re.sub(r", [\d.]+ \w+ free\n", "\n", text)


class InitTest(stack.StackTest):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "stack.toml"

    def init(self, *flags):
        return self.run_program("init", str(self.path), *flags, cwd=self.folder)

    def add_user(self, name="users"):
        done = subprocess.run([stack.PROGRAM, "user", "add", "alice", "--users", str(self.folder / name), "--query", "*"],
                              input="a long password\n", capture_output=True, text=True, check=False)
        self.assertEqual(0, done.returncode, done.stderr)

    def make_certificate(self):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-days", "2", "-subj", "/CN=capture", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout",
                        self.folder / "server.key", "-out", self.folder / "server.pem"], check=True, capture_output=True)

    def test_every_combination_passes_the_check(self):
        self.add_user()
        self.make_certificate()
        ticks = self.folder / "ticks" / "aig"
        ticks.mkdir(parents=True)
        (ticks / "20131007_trade.zip").touch()
        feeds = (["--feed", "sim"], ["--feed", "lean", "--ticks", "ticks"], ["--feed", "none"])
        columns = (["--columns", "dram"], ["--tier-path", str(self.folder), "--tier-size", "16MiB"])
        clients = ([], ["--users", "users"], ["--clients", "others"])
        tls = ([], ["--certificate", "server.pem", "--key", "server.key", "--ca", "server.pem"])
        for flags in itertools.product(feeds, columns, clients, tls):
            with self.subTest(flags=flags):
                done = self.init("--force", *itertools.chain(*flags))
                self.assertEqual((0, ""), (done.returncode, done.stderr))
                self.assertIn("stack.toml: no errors", done.stdout)
                self.assertIn("tickstack up ", done.stdout)
                checked = self.run_program("check", str(self.path), cwd=self.folder)
                self.assertEqual((0, ""), (checked.returncode, checked.stderr))
                self.assertTrue(without_space(done.stdout).startswith(without_space(checked.stdout)))
                secret = flags[2] != [] or flags[3] != []
                self.assertEqual(0o600 if secret else 0o644, mode_of(self.path))

    def test_up_captures_rows_with_it(self):
        done = self.init("--data", str(self.folder / "data"), "--yes")
        self.assertEqual(0, done.returncode, done.stderr)
        running = self.start_stack(self.path.read_text(encoding="utf-8"))
        stack.wait_until(lambda: running.count("quote") > 0, what="the first rows")
        self.assertEqual(0, running.stop())

    def test_a_file_that_exists_is_kept(self):
        self.path.write_text("# mine\n", encoding="utf-8")
        done = self.init("--yes")
        self.assertEqual(1, done.returncode)
        self.assertIn("the file exists", done.stderr)
        self.assertEqual("# mine\n", self.path.read_text(encoding="utf-8"))
        self.assertEqual(0, self.init("--yes", "--force").returncode)
        self.assertIn("[tickerplant]", self.path.read_text(encoding="utf-8"))
        self.assertEqual(["stack.toml"], [entry.name for entry in self.folder.iterdir()])

    def test_what_would_not_start_is_not_written(self):
        (self.folder / "file").touch()
        self.make_certificate()
        (self.folder / "wrong.key").write_text("no key", encoding="utf-8")
        for flags, error in ((["--data", "file/data"], "is not a directory"),
                             (["--clients", "others"], "users: there is no users file"),
                             (["--port", "70000"], "--port: expected a port"),
                             (["--certificate", "server.pem", "--key", "wrong.key"], "wrong.key"),
                             (["--data", "a\nb"], "control character")):
            with self.subTest(flags=flags):
                done = self.init(*flags)
                self.assertEqual((1, ""), (done.returncode, done.stdout))
                self.assertIn(error, done.stderr)
                self.assertFalse(self.path.exists())

    def test_check_refuses_what_up_refuses(self):
        for text, error in (('[tickerplant]\nport = 0\nhost = "0.0.0.0"\n', "tickerplant: 0.0.0.0: other machines could connect"),
                            ('[security]\nusers = "/no/users"\n[tickerplant]\nport = 0\n', "/no/users"),
                            ('[tls]\nlisten = "required"\ncertificate = "/no/c"\nkey = "/no/k"\n[tickerplant]\nport = 0\n', "/no/c")):
            with self.subTest(error=error):
                self.path.write_text(text, encoding="utf-8")
                done = self.run_program("check", str(self.path), cwd=self.folder)
                self.assertEqual(1, done.returncode)
                self.assertIn("would not start: ", done.stderr)
                self.assertIn(error, done.stderr)


class InitQuestionsTest(stack.StackTest):
    def open(self, *flags):
        window = terminal.Terminal(stack.PROGRAM, "init", *flags, folder=self.folder)
        self.addCleanup(window.close)
        return window

    def test_empty_lines_take_the_defaults(self):
        window = self.open()
        for question in ("1. Directory", "2. Where do rows", "3. Where are", "4. Who connects", "5. First of 6 ports"):
            window.expect(question)
            window.expect(r"\]: ")
            window.type("\n")
        window.expect("tickstack up stack.toml")
        self.assertEqual(0, window.wait())
        text = (self.folder / "stack.toml").read_text(encoding="utf-8")
        for line in ('data = "data"', 'source = "sim"', "port = 5010"):
            self.assertIn(line, text)

    def test_a_wrong_answer_is_asked_for_again_and_flags_are_not_asked_for(self):
        window = self.open("--data", "d", "--feed", "none", "--columns", "dram", "--clients", "local")
        for answer in ("high", "0"):
            window.expect(r"5\. First[^\[]*\[5010\]: ")
            window.type(f"{answer}\n")
            window.expect(f"expected a port from 1 to 65530, found {answer}")
        window.expect(r"\[5010\]: ")
        window.type("7010\n")
        window.expect("no errors")
        self.assertEqual(0, window.wait())
        self.assertNotIn("1. Directory", window.all)
        self.assertIn("port = 7010", (self.folder / "stack.toml").read_text(encoding="utf-8"))

    def test_the_first_user_is_added(self):
        window = self.open("--data", "d", "--feed", "none", "--columns", "dram", "--port", "7010")
        window.expect("4. Who connects.*: ")
        window.type("others\n")
        window.expect(r"Users file \[users\]: ")
        window.type("\n")
        window.expect("Certificate.*: ")
        window.type("\n")
        window.expect(r"first user.*\[admin\]: ")
        window.type("root\n")
        for prompt in ("Password: ", "Once more: "):
            window.expect(prompt)
            self.assertFalse(window.echoes())  # From the prompt on, so that nothing typed is shown or lost.
            window.type("a long password\n")
        window.expect("no errors")
        self.assertTrue(window.echoes())
        self.assertEqual(0, window.wait())
        self.assertNotIn("a long password", window.all)
        listed = self.run_program("user", "list", "--users", str(self.folder / "users"))
        self.assertEqual("root publish=* subscribe=* query=* administer\n", listed.stdout)
        self.assertEqual(0o600, mode_of(self.folder / "stack.toml"))

    def test_two_passwords_that_are_typed_at_once_are_both_read(self):
        window = terminal.Terminal(stack.PROGRAM, "user", "add", "alice", "--users", str(self.folder / "users"),
                                   "--query", "*", folder=self.folder)
        self.addCleanup(window.close)
        window.expect("Password: ")
        window.type("a long password\na long password\n")
        self.assertEqual(0, window.wait())
        self.assertNotIn("a long password", window.all)

    def test_a_weak_password_is_asked_for_again(self):
        window = terminal.Terminal(stack.PROGRAM, "user", "add", "alice", "--users", str(self.folder / "users"),
                                   "--query", "*", folder=self.folder)
        self.addCleanup(window.close)
        for answer in ("abc\n", "alice2026\n"):
            window.expect("Password: ")
            window.type(answer)
            window.expect("weak password: ")
        for prompt in ("Password: ", "Once more: "):
            window.expect(prompt)
            window.type("a long password\n")
        self.assertEqual(0, window.wait())

    def test_the_end_of_input_writes_nothing(self):
        window = self.open()
        window.expect(r"1\. Directory[^\[]*\[data\]: ")
        window.type("\x04")
        window.expect("stack.toml was not written")
        self.assertEqual(1, window.wait())
        self.assertEqual([], os.listdir(self.folder))


if __name__ == "__main__":
    stack.main()

#!/usr/bin/env python3
"""A stack whose ports require TLS: its own processes, kdb+ clients, pages and tools work over it, and who does not speak
it, or shows the wrong certificate, is refused while capture goes on."""

import json
import pathlib
import socket
import ssl
import sys
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kdb_ipc, stack  # noqa: E402
from tests.support.certificates import Certificates  # noqa: E402

DATE = "2020.03.09"
ROWS = 20_000
CONFIG = """
[tls]
listen = "{listen}"
certificate = "{folder}/server.pem"
key = "{folder}/server.key"
ca = "{folder}/ca.pem"
{more}
[tickerplant]
batch_ms = 10
[[rdb]]
[aggengine]
[hdb]
[eod]
retry_s = 0.1
[monitor]
query_ms = 50
progress_s = 0
[feed]
rate = 0
rows = {rows}
"""


class TlsTest(stack.StackTest):
    def setUp(self):
        super().setUp()
        self.certificates = Certificates(self.folder)
        self.trusting = self.certificates.context()

    def up(self, listen, more="", rows=ROWS):
        return self.start_stack(CONFIG.format(listen=listen, folder=self.folder, more=more, rows=rows), "--date", DATE)

    def ask(self, running, name, query, tls):
        with kdb_ipc.Connection(running.port(name), tls=tls) as connection:
            return connection.call(query)

    def rows(self, running, tls):
        try:
            return self.ask(running, "rdb", "count[trade]+count quote", tls)
        except kdb_ipc.QError:
            return 0  # It has no tables yet.

    def test_a_day_over_tls(self):
        running = self.up("required")
        stack.wait_until(lambda: self.rows(running, self.trusting) == ROWS, 60, "the rows")
        stack.wait_until(lambda: self.ask(running, "rdb", "count trade_daily", self.trusting) > 0, 60, "bars")
        for port in (running.port("rdb"), running.port("tickerplant")):
            self.assertPlainIsRefused(port)
        # A page, and the command line.
        page = urllib.request.urlopen(f"https://localhost:{running.port('rdb')}/?count%20trade", context=self.trusting)
        self.assertIn("trade", page.read().decode() + page.url)
        address = f"tcps://localhost:{running.port('rdb')}"
        done = self.run_program("query", address, "1+1", "--ca", str(self.folder / "ca.pem"))
        self.assertEqual((0, "2"), (done.returncode, done.stdout.strip()), done.stderr)
        done = self.run_program("query", address, "1+1")
        self.assertEqual(1, done.returncode)
        self.assertIn("certificate", done.stderr)
        # The end of the day: tickerplant, rdb, hdb and eod all use TLS.
        config = (running.folder / "stack.toml").read_text().replace("[tickerplant]", f"[tickerplant]\nport = "
                                                                     f"{running.port('tickerplant')}")
        config = config.replace("[[rdb]]", f"[[rdb]]\nport = {running.port('rdb')}")
        (running.folder / "ports.toml").write_text(config)
        done = self.run_program("eod", "--config", str(running.folder / "ports.toml"))
        self.assertEqual(0, done.returncode, done.stderr)
        counts = self.ask(running, "hdb", f"{{[t] exec count i from t where date={DATE}}} each `quote`trade", self.trusting)
        self.assertEqual(ROWS, sum(counts))
        self.assertEqual(0, running.stop(), running.log_text())
        self.assertRegex(self.log_of(running, "rdb"), r"audit refused user=- host=127\.0\.0\.1:\d+ "
                                                      r'reason="the client does not use TLS, which is required"')

    def log_of(self, running, name):
        return (running.data / "logs" / f"{name}.log").read_text()

    def assertPlainIsRefused(self, port):
        refusal = "handshake refused: the port requires TLS"
        with kdb_ipc.Connection(port) as plain, self.assertRaisesRegex(kdb_ipc.QError, refusal):
            plain.call(b"1+1")
        asked = self.run_program("query", f":{port}", "1+1")
        self.assertEqual(1, asked.returncode)
        self.assertIn(refusal, asked.stderr)
        for sent in (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"PING\r\n", b"SSH-2.0-x\r\n"):
            with socket.create_connection(("127.0.0.1", port), 60) as plain:
                plain.sendall(sent)
                received = b""
                while part := plain.recv(1000):
                    received += part
                self.assertIn(refusal.encode(), received)

    def test_clients_show_certificates_if_they_must(self):
        running = self.up("required", more=f'client_ca = "{self.folder}/ca.pem"')
        self.certificates.issue("client", "DNS:client")
        self.certificates.issue_root("other_ca")
        self.certificates.issue("stranger", "DNS:stranger", ca="other_ca")
        known, stranger = self.certificates.context("client"), self.certificates.context("stranger")
        # The stack's own processes show theirs.
        stack.wait_until(lambda: self.rows(running, known) == ROWS, 60, "the rows")
        for wrong in (stranger, self.trusting):
            with self.assertRaises((ssl.SSLError, OSError, kdb_ipc.Closed)):
                self.rows(running, wrong)
        self.assertEqual(ROWS, self.rows(running, known))
        self.assertEqual(0, running.stop(), running.log_text())
        self.assertRegex(self.log_of(running, "rdb"), r"audit refused user=- host=127\.0\.0\.1:\d+ reason=")

    def test_a_port_for_both(self):
        running = self.up("optional")
        stack.wait_until(lambda: running.count("trade") + running.count("quote") == ROWS, 60, "the rows")
        self.assertEqual(ROWS, self.rows(running, self.trusting))
        self.assertEqual(0, running.stop(), running.log_text())

    def test_wrong_files_and_keys_are_named(self):
        (self.folder / "server.key").write_text("no key")
        config = self.folder / "wrong.toml"
        config.write_text(CONFIG.format(listen="required", folder=self.folder, more="", rows=1))
        done = self.run_program("up", str(config), "--data", str(self.folder / "data"), "--ports", "0")
        self.assertEqual(1, done.returncode)
        self.assertIn("server.key: expected the private key", done.stderr)
        config.write_text('[tls]\nlisten = "required"\n[tickerplant]\n')
        found = json.loads(self.run_program("check", str(config), "--json").stdout)["errors"]
        self.assertEqual([f"{config}:2:10: tls.listen: needs a certificate and its key, found none"], found)


if __name__ == "__main__":
    stack.main()

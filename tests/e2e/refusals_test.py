#!/usr/bin/env python3
"""A stack that requires TLS, certificates and passwords refuses everybody else by name in its log, while a feed
publishes: clients without TLS, with an old version of it, without a certificate, with one of another issuer or an expired
one, with wrong users and passwords, without rights, and those that send too much or too slowly, or do not read. In the end
each row is there, once."""

import pathlib
import re
import socket
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kdb_ipc, stack  # noqa: E402
from tests.support.kdb_ipc import SYNC, Typed, encode, message  # noqa: E402
from tests.support.secured import PASSWORD, SecuredTest  # noqa: E402

CONFIG = "[tickerplant]\nbatch_ms = 10\n[[rdb]]\nquery_unread_timeout_s = 1\n"
BATCH_ROWS = 20


class Feed(threading.Thread):
    """Publishes trades with their number as size, and waits for each batch, until it is told to stop."""

    def __init__(self, connection):
        super().__init__()
        self.connection, self.rows, self.error, self.stopping = connection, 0, None, threading.Event()

    def run(self):
        try:
            while not self.stopping.is_set():
                n = BATCH_ROWS
                sizes = Typed("i", list(range(self.rows, self.rows + n)))
                columns = [Typed("p", [0] * n), ["A"] * n, [1.5] * n, sizes, [False] * n, b" " * n, b"N" * n]
                self.connection.call([".u.updn", "probe", self.rows, "trade", columns])
                self.rows += n
                self.stopping.wait(0.005)
        except (OSError, kdb_ipc.Closed, kdb_ipc.QError) as error:
            self.error = error


class RefusalsTest(SecuredTest):
    def setUp(self):
        super().setUp()
        self.running = self.start_secured(CONFIG, users=True, tls=True, more=f'client_ca = "{self.folder}/ca.pem"\n')
        self.certificates.issue("client", "DNS:client")
        self.certificates.issue("expired", "DNS:expired", days=-1)
        self.certificates.issue_root("other_ca")
        self.certificates.issue("stranger", "DNS:stranger", ca="other_ca")
        self.known = self.certificates.context("client")

    def connect(self, process, user, password=PASSWORD, **options):
        return self.running.connect(process, user=user, password=password, tls=self.known, **options)

    def ask(self, process, query):
        with self.connect(process, "client") as connection:
            return connection.call(query)

    def log(self, process):
        return (self.running.data / "logs" / f"{process}.log").read_text(encoding="utf-8", errors="replace")

    def count(self):
        try:
            return self.ask("rdb", "count trade")
        except kdb_ipc.QError:
            return 0  # It has no tables yet.

    def check_refused(self, process, wanted, attempt):
        """Makes the attempt until the process has logged it, as what comes within a second of another line is only
        counted; and then waits until rows that were published later are in the RDB."""
        seen = len(self.log(process))

        def is_logged():
            attempt()
            return re.search(wanted, self.log(process)[seen:])
        with self.subTest(wanted=wanted):
            stack.wait_until(is_logged, 60, f"a line of the {process}: {wanted}")
            before = self.feed.rows
            stack.wait_until(lambda: self.count() > before or self.feed.error, 60, "rows after it")
            self.assertIsNone(self.feed.error)

    def s_client(self, *options):
        done = subprocess.run(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{self.running.port('tickerplant')}", "-CAfile",
             self.certificates.path("ca.pem"), *options],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60)
        return done.stdout + done.stderr

    def shows(self, name):
        return lambda: self.s_client("-cert", self.certificates.path(f"{name}.pem"), "-key",
                                     self.certificates.path(f"{name}.key"))

    def logs_in(self, user, password):
        def attempt():
            with self.assertRaises((kdb_ipc.Closed, OSError)):
                self.connect("tickerplant", user, password)
        return attempt

    def sends(self, data):
        """Sends over TLS in place of a login, and waits for the end of the connection."""
        def attempt():
            with socket.create_connection(("127.0.0.1", self.running.port("tickerplant")), 30) as plain:
                with self.known.wrap_socket(plain, server_hostname="127.0.0.1") as client:
                    try:
                        client.sendall(data)
                        self.assertEqual(b"", client.recv(1))
                    except OSError:
                        pass  # It was closed with bytes unread.
        return attempt

    def sends_plain(self, data):
        def attempt():
            with socket.create_connection(("127.0.0.1", self.running.port("tickerplant")), 30) as client:
                client.sendall(data)
                received = b""
                while part := client.recv(1000):
                    received += part
                self.assertIn(b"handshake refused: the port requires TLS", received)
        return attempt

    def publishes_without_the_right(self):
        with self.connect("tickerplant", "reader") as connection:
            with self.assertRaisesRegex(kdb_ipc.QError, "access: reader may not publish to trade"):
                connection.call([".u.upd", "trade", [["A"]]])

    def asks_too_much(self):
        with self.connect("rdb", "client") as connection:
            connection.socket.sendall(message(SYNC, encode(b" " * (17 << 20))))
            with self.assertRaisesRegex(kdb_ipc.QError, "limit: request of"):
                kdb_ipc.decode(connection.receive()[1])

    def does_not_read(self):
        connection = self.connect("rdb", "client")
        self.addCleanup(connection.close)
        connection.socket.sendall(message(SYNC, encode(b"til 3000000")))
        line = "client cut off, it does not read"
        stack.wait_until(lambda: line in self.log("rdb"), 60, line)

    def test_others_are_refused_by_name_and_no_row_is_lost(self):
        self.assertIn("Verify return code: 0 (ok)", self.shows("client")(), "openssl itself may connect")
        deaf = self.connect("tickerplant", "client")
        self.addCleanup(deaf.close)
        deaf.call([".u.sub", "", ""])
        with self.connect("tickerplant", "client") as connection:
            self.feed = Feed(connection)
            self.feed.start()
            try:
                self.check_all_refusals()
            finally:
                self.feed.stopping.set()
                self.feed.join()
        self.assertIsNone(self.feed.error)
        rows = self.feed.rows
        self.assertEqual(rows, self.ask("tickerplant", ".u.feed[`probe]")["trade"])
        stack.wait_until(lambda: self.count() >= rows, 60, "all rows")
        self.assertTrue(self.ask("rdb", f"(til {rows})~`long$exec size from trade"))
        self.assertEqual(0, self.running.stop(), self.running.log_text())

    def check_all_refusals(self):
        nobody = r"audit refused user=- host=\S+ reason="
        wrong = r'host=127\.0\.0\.1:\d+ reason="wrong user or password"'
        for wanted, attempt in (
                (nobody + '"peer did not return a certificate"', self.s_client),
                (nobody + '"unable to get local issuer certificate"', self.shows("stranger")),
                (nobody + '"certificate has expired"', self.shows("expired")),
                (nobody + '"unsupported protocol"', lambda: self.s_client("-tls1_1", "-cipher", "ALL@SECLEVEL=0")),
                (nobody + '"the client does not use TLS, which is required"', self.sends_plain(b"client:x\x03\x00")),
                (nobody + '"a login of more than 4096 bytes"', self.sends(b"a" * 5000)),
                (nobody + '"no login within 3000 ms"', self.sends(b"slow")),
                (nobody + '"no login within 3000 ms"', self.sends_plain(b"")),
                ("audit refused user=eve " + wrong, self.logs_in("eve", PASSWORD)),
                ("audit refused user=client " + wrong, self.logs_in("client", "guess")),
                ("audit refused user=- " + wrong, self.logs_in("", "")),
                (r'audit denied user=reader host=\S+ what="publish to trade"', self.publishes_without_the_right)):
            self.check_refused("tickerplant", wanted, attempt)
        self.check_refused("rdb", r"request refused host=\S+ bytes=\d+ bound=16777216", self.asks_too_much)
        self.check_refused("rdb", r"client cut off, it does not read host=\S+ unread_bytes=\d+", self.does_not_read)


if __name__ == "__main__":
    stack.main()

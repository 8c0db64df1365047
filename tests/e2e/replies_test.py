#!/usr/bin/env python3
"""Requests that send messages to the client that asked, and answers that are deferred."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kdb_ipc, stack  # noqa: E402
from tests.support.kdb_ipc import ASYNC, RESPONSE, SYNC, Closed, QError, Table, Typed, decode, encode, message  # noqa: E402

CONFIG = """
[tickerplant]
batch_ms = 5
[[rdb]]
query_threads = 2
query_max_bytes = "64MiB"
query_unread_bytes = "20MiB"
query_unread_timeout_s = 1
[feed]
rate = 1000
start = true
"""
PROCESSES = ("rdb", "tickerplant", "feed", "aggengine")


def encode_call(text, *arguments):
    """Encodes a list of a lambda and its arguments, as a q client sends `(neg h)({...};x)`."""
    function = b"\x64\0" + encode(text.encode())
    return b"\0\0" + (1 + len(arguments)).to_bytes(4, "little") + function + b"".join(map(encode, arguments))


class RepliesTest(stack.StackTest):
    def setUp(self):
        super().setUp()
        self.running = self.start_stack(CONFIG)
        names = [name for name in PROCESSES if name in self.running.processes()]
        self.assertIn("tickerplant", names)
        self.names = names

    def connect(self, name="rdb", **options):
        connection = self.running.connect(name, **options)
        self.addCleanup(connection.close)
        return connection

    def each_process(self):
        return [self.connect(name) for name in self.names]

    def test_an_async_request_is_answered_by_a_message(self):
        for client in self.each_process():
            text = "{(neg .z.w)(`cb;value x)}"
            client.socket.sendall(message(ASYNC, encode_call(text, b"1+2")))
            self.assertEqual(["cb", 3], client.next_async())
            client.send(b"neg[.z.w] \"text\";neg[.z.w][]")
            self.assertEqual(b"text", client.next_async())

    def test_tables_come_back_whole(self):
        client = self.connect()
        client.socket.sendall(message(ASYNC, encode_call("{(neg .z.w)(`cb;value x)}", b"([]a:til 100000)")))
        name, table = client.next_async()
        self.assertEqual(("cb", Table(a=list(range(100000)))), (name, table))

    def test_messages_leave_in_order_before_the_answer(self):
        for client in self.each_process():
            # Three requests at once: the messages of each one come before its own answer.
            for i in range(3):
                text = f"(neg .z.w) each {10 * i}+til 3;{i}".encode()
                client.socket.sendall(message(SYNC, encode(text)))
            for i in range(3):
                got = [client.receive() for _ in range(4)]
                self.assertEqual([ASYNC] * 3 + [RESPONSE], [kind for kind, _ in got])
                self.assertEqual([10 * i, 10 * i + 1, 10 * i + 2, i], [decode(body) for _, body in got])

    def test_they_leave_although_the_request_fails(self):
        for client in self.each_process():
            with self.assertRaisesRegex(QError, "oops"):
                client.call("(neg .z.w)`before;'oops")
            self.assertEqual("before", client.next_async())

    def test_the_handle_is_the_connection_s_own(self):
        for name in self.names:
            with self.subTest(process=name):
                first, second = self.connect(name, user="ann"), self.connect(name, user="bob")
                handles = [first.call(".z.w"), second.call(".z.w")]
                self.assertTrue(all(handle > 0 for handle in handles), handles)
                self.assertNotEqual(*handles)
                self.assertEqual(["ann", "bob"], [first.call(".z.u"), second.call(".z.u")])
                self.assertEqual(0x7F000001, first.call(".z.a"))
                with self.assertRaisesRegex(QError, "type"):
                    first.call(f"{{x y}}[-{handles[1]}i;`hello]")
                with self.assertRaisesRegex(QError, r"nyi: \.z\.w"):
                    first.call(".z.w \"1+1\"")

    def test_a_client_that_has_left_costs_nothing(self):
        for name in self.names:
            with self.subTest(process=name):
                client = self.connect(name)
                client.send(b"(neg .z.w) each til 100")
                client.close()
                self.assertEqual(2, self.connect(name).call("1+1"))

    def test_more_messages_than_a_request_may_send_are_an_error(self):
        client = self.connect()
        with self.assertRaisesRegex(QError, "limit"):
            client.call("(neg .z.w) each til 50001")
        self.assertEqual(list(range(50_000)), [client.next_async() for _ in range(50_000)])

    def test_what_is_not_read_is_bounded(self):
        client = self.connect()
        with self.assertRaisesRegex(QError, "limit: message of .* bytes are unread"):
            client.call("(neg .z.w) til 3000000")
        self.assertEqual([], client.pending)
        # Each message fits, but the client does not read them and loses its connection.
        for _ in range(20):
            client.send(b"(neg .z.w) til 1000000")
        stack.wait_until(lambda: self.running.ask("rdb", ".rdb.stats[]`clients_cut_off"), 60, "the end of the client")
        with self.assertRaises((Closed, OSError)):
            while True:
                client.next_async()

    def test_a_deferred_request_is_answered_by_its_handle(self):
        for client in self.each_process():
            self.assertEqual([1, 2], client.call("-30!(::);-30!(.z.w;0b;1 2);`ignored"))
            with self.assertRaisesRegex(QError, "busy"):
                client.call("-30!(::);-30!(.z.w;1b;\"busy\")")
            with self.assertRaisesRegex(QError, "deferred"):
                client.call("-30!(::)")
            self.assertEqual(2, client.call("1+1"))


if __name__ == "__main__":
    stack.main()

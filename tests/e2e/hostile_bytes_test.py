#!/usr/bin/env python3
"""Bytes that no client should send, on every port of a stack, result in an error or a closed connection; memory stays
bounded, and other clients are not affected. The printed seed suffices to repeat a run."""

import pathlib
import random
import socket
import struct
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kdb_ipc, stack  # noqa: E402
from tests.support.kdb_ipc import SYNC, encode, message  # noqa: E402

CONFIG = """
[stack]
restart = false
[tickerplant]
batch_ms = 10
[[rdb]]
[feed]
rate = 1000
seconds = 0
[monitor]
query_ms = 100
progress_s = 0
"""
NAMES = ("tickerplant", "rdb", "feed", "monitor")
MOST_BYTES = 600 << 20  # Resident, including a sanitizer's shadow; far below what the messages declare.


def header(kind, length, endian=1, compressed=0, high=0):
    return struct.pack("<BBBBI" if endian == 1 else ">BBBBI", endian, kind, compressed, high, length)


def vector_of(code, count, data=b""):
    return struct.pack("<bBi", code, 0, count) + data


def bomb(total):
    """Returns a compressed message that declares `total` bytes and consists of matches of maximum length."""
    body = struct.pack("<I", total) + b"\x00" + bytes(8) + (b"\xff" + b"\x00\xff" * 8) * 20_000
    return header(SYNC, 8 + len(body), compressed=1) + body


def hostile_messages():
    """Yields (description, bytes after the handshake)."""
    yield "a length below the header's", header(SYNC, 0)
    yield "a length of 7", header(SYNC, 7)
    yield "4 GB declared, little sent", header(SYNC, 0xFFFFFFFF) + b"\x00" * 100
    yield "a length with its high byte set", header(SYNC, 16, high=255) + b"\x00" * 100
    yield "half a header", b"\x01\x01\x00"
    yield "an unknown endianness", b"\x07" + header(SYNC, 9)[1:] + b"\x00"
    yield "an unknown kind", header(9, 10) + b"\x65\x00"
    yield "a response that nobody asked for", message(kdb_ipc.RESPONSE, encode(1))
    yield "an empty body", header(SYNC, 8)
    for code in (0, *range(1, 20)):
        yield f"2^31-1 elements of type {code}", message(SYNC, vector_of(code, 0x7FFFFFFF, b"\x00" * 64))
        yield f"a negative count of type {code}", message(SYNC, vector_of(code, -1, b"\x00" * 64))
    yield "a count one too high", message(SYNC, vector_of(7, 3, bytes(16)))
    yield "bytes after the value", message(SYNC, encode(1) + b"\x00")
    yield "a symbol without its end", message(SYNC, b"\xf5abc")
    yield "an unknown type", message(SYNC, b"\x3f" + bytes(32))
    yield "an error as a request", message(SYNC, b"\x80type\x00")
    yield "100,000 nested lists", message(SYNC, vector_of(0, 1) * 100_000 + encode(1))
    yield "100,000 nested dictionaries", message(SYNC, b"\x63" * 100_000)
    yield "100,000 nested tables", message(SYNC, b"\x62\x00" * 100_000)
    yield "a list of 2^28 lists", message(SYNC, vector_of(0, 1 << 28, vector_of(0, 1 << 28)))
    yield "a dictionary whose sides differ", message(SYNC, b"\x63" + encode(["a", "b"]) + encode([1]))
    yield "a table of columns that differ", message(
        SYNC, b"\x62\x00\x63" + encode(["a", "b"]) + vector_of(0, 2) + encode([1, 2]) + encode([1]))
    yield "a table that is none", message(SYNC, b"\x62\x00" + encode(5))
    yield "a bomb of 2 GB", bomb((1 << 31) - 1)
    yield "a bomb of 100 MB", bomb(100 << 20)
    yield "a compressed length below its header", bomb(4)
    yield "a deep query", message(SYNC, encode(b"(" * 100_000 + b"1" + b")" * 100_000))
    yield "a deep query of operators", message(SYNC, encode(b"-" * 100_000 + b"1"))
    yield "a long query", message(SYNC, encode(b"1+" * 500_000 + b"1"))
    yield "a query that asks for memory", message(SYNC, encode(b"til 100000000000"))
    yield "a query of no text", message(SYNC, encode(bytes(range(256))))
    yield "big-endian nonsense", header(SYNC, 14, endian=0) + b"\x00\x00\x7f\xff\xff\xff"
    for verb in (".u.upd", ".u.updn", ".u.sub", ".u.subx", ".u.log", ".u.feed", ".u.end", "upd",
                 ".feed.start", ".rdb.latency"):
        for arguments in ([], [None], [1, 2], ["trade"], ["trade", [1]], ["trade", [[1], ["a"]]],
                          ["trade", [[]]], [[], []], ["", -1, "trade", [1]], [-1, -1],
                          ["quote", [None] * 8], ["trade", [b""] * 7]):
            if verb in (".u.end",):
                continue  # Any client may end a day, as in kdb+tick.
            yield f"{verb} of {arguments}", message(SYNC, encode([verb, *arguments]))


class HostileBytesTest(stack.StackTest):
    def setUp(self):
        super().setUp()
        self.stack = self.start_stack(CONFIG, program=stack.SANITIZED_PROGRAM)
        self.first_pids = {name: self.stack.pid(name) for name in NAMES}

    def throw(self, name, data, handshake=b"x:y\x03\x00"):
        """Sends, waits briefly for an answer, and disconnects."""
        with socket.create_connection(("127.0.0.1", self.stack.port(name)), 60) as connection:
            connection.settimeout(0.05)
            try:
                connection.sendall(handshake + data)
                while connection.recv(65536):
                    pass
            except OSError:
                pass  # No more bytes, or a closed connection: both are fine.

    def check_all_well(self, what):
        for name, pid in self.first_pids.items():
            self.assertTrue(stack.is_alive(pid), f"{name} died of {what}\n{self.stack.log_text()}")
            self.assertLess(stack.rss_bytes(pid), MOST_BYTES, f"{name} after {what}")
            with self.stack.connect(name, timeout=60) as connection:
                self.assertEqual(2, connection.call("1+1"), f"{name} after {what}")

    def check_flow(self):
        """Checks that rows still pass through the stack."""
        before = self.stack.count("quote")
        stack.wait_until(lambda: self.stack.count("quote") > before, 60, "a new quote")

    def test_hostile_messages_on_every_port(self):
        for name in NAMES:
            for what, data in hostile_messages():
                self.throw(name, data)
            self.check_all_well(f"hostile messages on {name}")
        self.check_flow()
        self.assertEqual(0, self.stack.stop(), self.stack.log_text())

    def test_hostile_handshakes_on_every_port(self):
        for name in NAMES:
            for handshake in (b"", b"\x00", b"\xff" * 100_000, b"a" * 10_000_000, b"GET / HTTP/1.1\r\n\r\n",
                              b"\x16\x03\x01\x02\x00\x01", b"user:pw", b"user:pw\xff\x00", b":\x03"):
                self.throw(name, b"", handshake)
            self.check_all_well(f"hostile handshakes on {name}")
        self.check_flow()

    def test_random_bytes_on_every_port(self):
        seed = random.SystemRandom().randrange(1 << 32)
        print(f"seed {seed}", file=sys.stderr)
        rng = random.Random(seed)
        valid = [data for _, data in hostile_messages() if len(data) < 4096]
        for name in NAMES:
            for _ in range(100):
                data = bytearray(rng.choice(valid) if rng.random() < 0.7 else rng.randbytes(rng.randrange(200)))
                for _ in range(rng.randrange(4)):
                    if data:
                        data[rng.randrange(len(data))] = rng.randrange(256)
                self.throw(name, bytes(data[:rng.randrange(len(data) + 1)] if rng.random() < 0.2 else data))
            self.check_all_well(f"random bytes on {name}, seed {seed}")
        self.check_flow()

    def test_many_silent_connections_do_not_keep_others_out(self):
        silent = []
        try:
            for name in NAMES:
                for _ in range(100):
                    silent.append(socket.create_connection(("127.0.0.1", self.stack.port(name)), 60))
            self.check_all_well("silent connections")
        finally:
            for connection in silent:
                connection.close()

    def test_a_subscriber_that_does_not_read_disturbs_nobody(self):
        with self.stack.connect("tickerplant") as deaf:
            deaf.call([b".u.sub", "", ""])
            time.sleep(1)
            self.check_flow()
        self.check_all_well("a deaf subscriber")


if __name__ == "__main__":
    stack.main()

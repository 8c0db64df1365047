"""A minimal client of the kdb+ IPC protocol, standard library only: what the end-to-end tests need to
talk to a process as any q client would, and to send it what no client should.

Python value -> q: bool b, int j, float f, str symbol, bytes string, None `::`, list of one of these a
vector, any other list a general list, Table a table, KeyedTable one with a key, Dict a dictionary,
Typed anything else.
q -> Python: the same, times as ints since 2000-01-01 in their type's unit, null integers as None, a
table with a key as a Table.
"""

import socket
import struct
import time

ASYNC, SYNC, RESPONSE = 0, 1, 2

# Type code: (struct letter, null).
NUMBERS = {
    1: ("?", None), 4: ("B", None), 5: ("h", -(1 << 15)), 6: ("i", -(1 << 31)), 7: ("q", -(1 << 63)),
    8: ("f", None), 9: ("d", None), 12: ("q", -(1 << 63)), 13: ("i", -(1 << 31)), 14: ("i", -(1 << 31)),
    15: ("d", None), 16: ("q", -(1 << 63)), 17: ("i", -(1 << 31)), 18: ("i", -(1 << 31)),
    19: ("i", -(1 << 31)),
}
LETTERS = dict(zip("bxhijefpmdznuvt", (1, 4, 5, 6, 7, 8, 9, 12, 13, 14, 15, 16, 17, 18, 19)))


class QError(Exception):
    """The other side answered with an error; its text is args[0]."""


class Closed(Exception):
    """The other side closed the connection."""


class Typed:
    """A value with its q type: Typed("p", 5) an atom, Typed("p", [5]) a vector. Letters as in q, c for
    chars, s for symbols, g for a list of guids, each 16 bytes. In a symbol's text, U+DC80 to U+DCFF are the
    bytes 0x80 to 0xff."""

    def __init__(self, letter, value):
        self.letter, self.value = letter, value


class Table(dict):
    """Column name -> list."""


class KeyedTable:
    """A Table of the key's columns and one of the others."""

    def __init__(self, keys, values):
        self.keys, self.values = keys, values


class Dict(dict):
    pass


def encode(value):
    """Returns the bytes of a value as in a message's body."""
    if value is None:
        return b"\x65\x00"
    if isinstance(value, Typed):
        return _encode_typed(value.letter, value.value)
    if isinstance(value, bool):
        return _encode_typed("b", value)
    if isinstance(value, int):
        return _encode_typed("j", value)
    if isinstance(value, float):
        return _encode_typed("f", value)
    if isinstance(value, str):
        return _encode_typed("s", value)
    if isinstance(value, bytes):
        return _vector_head(10, len(value)) + value
    if isinstance(value, Table):
        columns = b"".join(encode(column) for column in value.values())
        return b"\x62\x00\x63" + encode(Typed("s", list(value))) + _vector_head(0, len(value)) + columns
    if isinstance(value, KeyedTable):
        return b"\x63" + encode(value.keys) + encode(value.values)
    if isinstance(value, Dict):
        return b"\x63" + encode(list(value.keys())) + encode(list(value.values()))
    kinds = {type(item) for item in value}
    for kind, letter in ((bool, "b"), (int, "j"), (float, "f"), (str, "s")):
        if kinds == {kind}:
            return _encode_typed(letter, value)
    return _vector_head(0, len(value)) + b"".join(encode(item) for item in value)


def _vector_head(code, count):
    return struct.pack("<bBi", code, 0, count)


def _encode_typed(letter, value):
    if letter == "s":
        if isinstance(value, str):
            return b"\xf5" + value.encode("utf-8", "surrogateescape") + b"\0"
        names = (name.encode("utf-8", "surrogateescape") for name in value)
        return _vector_head(11, len(value)) + b"".join(name + b"\0" for name in names)
    if letter == "g":
        return _vector_head(2, len(value)) + b"".join(value)
    if letter == "c":
        text = value if isinstance(value, bytes) else value.encode()
        return b"\xf6" + text if len(text) == 1 else _vector_head(10, len(text)) + text
    code = LETTERS[letter]
    form, null = NUMBERS[code]
    if not isinstance(value, (list, tuple)):
        return struct.pack("<b" + form, -code, null if value is None else value)
    items = [null if item is None else item for item in value]
    return _vector_head(code, len(items)) + struct.pack(f"<{len(items)}{form}", *items)


class _Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values

    def text(self):
        end = self.data.index(b"\0", self.at)
        text = self.data[self.at:end].decode("utf-8", "replace")
        self.at = end + 1
        return text

    def value(self):
        (code,) = self.take("b")
        if code == -128:
            raise QError(self.text())
        if code == -11:
            return self.text()
        if code == -10:
            return bytes(self.take("B"))
        if code == -2:
            return bytes(self.take("16B"))
        if code < 0:
            form, null = NUMBERS[-code]
            (number,) = self.take(form)
            return None if null is not None and number == null else number
        if code in (99, 127):
            keys, values = self.value(), self.value()
            if isinstance(keys, Table):
                return Table({**keys, **values})
            return Dict(zip(keys, values))
        if code == 98:
            self.take("B")
            (kind,) = self.take("b")
            if kind != 99:
                raise ValueError(f"a table holds type {kind}, not a dictionary")
            names = self.value()
            return Table(zip(names, self.value()))
        if code == 101:
            (number,) = self.take("B")
            return None if number == 0 else f"<unary {number}>"
        if code == 100:
            self.text()
            return self.value().decode()
        if code > 19:
            raise ValueError(f"type {code} is not one that these tests read")
        _, count = self.take("Bi")
        if code == 0:
            return [self.value() for _ in range(count)]
        if code == 11:
            return [self.text() for _ in range(count)]
        if code == 10:
            return bytes(self.take(f"{count}B"))
        if code == 2:
            return [bytes(self.take("16B")) for _ in range(count)]
        form, null = NUMBERS[code]
        numbers = self.take(f"{count}{form}")
        return [None if null is not None and n == null else n for n in numbers]


def decode(body):
    """Returns the value of a message's body. Raises QError if it is an error."""
    return _Reader(body).value()


def decode_all(data):
    """Yields values that follow one another, such as the messages of a tickerplant log after its 8 bytes of header."""
    reader = _Reader(data)
    while reader.at < len(data):
        yield reader.value()


def message(kind, body):
    """Returns a whole message with this body, including the header."""
    return struct.pack("<BBBBI", 1, kind, 0, 0, 8 + len(body)) + body


class Connection:
    """A connection past its handshake. Threads: one at a time."""

    def __init__(self, port, host="127.0.0.1", user="test", password="", capability=3, timeout=60.0, tls=None):
        """`tls`: an ssl.SSLContext to connect with."""
        self.socket = socket.create_connection((host, port), timeout)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_hostname=host)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(f"{user}:{password}".encode() + bytes([capability, 0]))
        try:
            answer = self.socket.recv(1)
        except OSError:
            self.socket.close()
            raise
        if len(answer) != 1:
            self.socket.close()
            raise Closed("refused in the handshake")
        self.capability = answer[0]
        self.pending = []  # Async messages that arrived before an awaited response.

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _exactly(self, count):
        data = bytearray()
        while len(data) < count:
            part = self.socket.recv(min(count - len(data), 1 << 20))
            if not part:
                raise Closed(f"closed after {len(data)} of {count} bytes")
            data += part
        return bytes(data)

    def receive(self):
        """Returns (kind, body) of the next message."""
        endian, kind, compressed, _, length = struct.unpack("<BBBBI", self._exactly(8))
        if endian != 1 or compressed:
            raise ValueError("the tests expect little-endian, uncompressed messages on loopback")
        return kind, self._exactly(length - 8)

    def send(self, value):
        """Sends an async message."""
        self.socket.sendall(message(ASYNC, encode(value)))

    def call(self, value):
        """Returns the answer to a request: a q expression as bytes or str, or a list that calls a function."""
        return decode(self.call_for_bytes(value))

    def call_for_bytes(self, value):
        """Returns the answer to a request as it was encoded."""
        if isinstance(value, str):
            value = value.encode()
        self.socket.sendall(message(SYNC, encode(value)))
        while True:
            kind, body = self.receive()
            if kind == RESPONSE:
                return body
            self.pending.append(body)

    def next_async(self, timeout=60.0):
        """Returns the value of the next async message."""
        if self.pending:
            return decode(self.pending.pop(0))
        self.socket.settimeout(timeout)
        kind, body = self.receive()
        if kind != ASYNC:
            raise ValueError(f"expected an async message, found kind {kind}")
        return decode(body)


def connect_within(port, seconds=60.0, **options):
    """Returns a connection to a process that may still be starting."""
    give_up = time.monotonic() + seconds
    while True:
        try:
            return Connection(port, **options)
        except (OSError, Closed):
            if time.monotonic() > give_up:
                raise
            time.sleep(0.05)

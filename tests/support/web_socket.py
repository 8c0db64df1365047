"""A WebSocket client for tests: RFC 6455 without extensions, and without sending fragments."""

import base64
import os
import socket
import struct

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


class WebSocket:
    def __init__(self, port, headers=(), timeout=60.0):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout)
        key = base64.b64encode(os.urandom(16)).decode()
        lines = ["GET / HTTP/1.1", f"Host: 127.0.0.1:{port}", "Upgrade: websocket", "Connection: Upgrade",
                 f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13", *headers]
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        head = b""
        while b"\r\n\r\n" not in head:
            received = self.socket.recv(1)
            if not received:
                break
            head += received
        self.status = int(head.split()[1]) if head else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, kind, payload):
        mask = os.urandom(4)
        size = len(payload)
        if size < 126:
            head = struct.pack(">BB", 0x80 | kind, 0x80 | size)
        elif size < 65536:
            head = struct.pack(">BBH", 0x80 | kind, 0x80 | 126, size)
        else:
            head = struct.pack(">BBQ", 0x80 | kind, 0x80 | 127, size)
        masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))
        self.socket.sendall(head + mask + masked)

    def _exactly(self, count):
        data = b""
        while len(data) < count:
            received = self.socket.recv(count - len(data))
            if not received:
                raise ConnectionError("closed")
            data += received
        return data

    def receive(self):
        """Returns (kind, payload) of the next message that is no ping, with its fragments joined."""
        kind, payload = None, b""
        while True:
            first, second = self._exactly(2)
            size = second & 0x7F
            if size == 126:
                size = struct.unpack(">H", self._exactly(2))[0]
            elif size == 127:
                size = struct.unpack(">Q", self._exactly(8))[0]
            data = self._exactly(size)
            opcode = first & 0x0F
            if opcode in (PING, PONG):
                continue
            kind = opcode or kind
            payload += data
            if first & 0x80:
                return kind, payload

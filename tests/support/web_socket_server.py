"""An exchange for tests: a WebSocket server (RFC 6455, standard library only) on 127.0.0.1 that runs a script for each
connection, and answers GET requests. It can also be slow, silent, late, cut connections, or send what does not fit.

    def script(peer):              # In a thread of the connection; the connection ends when it returns.
        peer.receive()             # A message of the client.
        peer.send("text")

    with Server(script) as server: ...   # server.port, server.address("/path")
"""

import base64
import hashlib
import socket
import ssl
import struct
import threading
import time
import zlib

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Gone(Exception):
    """The client has closed its side, or the server was closed."""


class Peer:
    """A client whose connection was upgraded."""

    def __init__(self, sock, head, deflates):
        self.socket = sock
        self.path = head[0].split()[1]
        self.headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        self.deflate = self.inflate = None
        extensions = ""
        if deflates and "permessage-deflate" in self.headers.get("sec-websocket-extensions", ""):
            self.deflate, self.inflate = zlib.compressobj(wbits=-15), zlib.decompressobj(wbits=-15)
            extensions = "Sec-WebSocket-Extensions: permessage-deflate\r\n"
        accept = base64.b64encode(hashlib.sha1((self.headers["sec-websocket-key"] + GUID).encode()).digest()).decode()
        self.send_bytes(f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n{extensions}"
                        f"Sec-WebSocket-Accept: {accept}\r\n\r\n".encode())

    def send_bytes(self, data):
        try:
            self.socket.sendall(data)
        except OSError as error:
            raise Gone from error

    @staticmethod
    def frame(kind, payload, final=True, compressed=False):
        size = len(payload)
        first = (0x80 if final else 0) | (0x40 if compressed else 0) | kind
        if size < 126:
            return struct.pack(">BB", first, size) + payload
        if size < 65536:
            return struct.pack(">BBH", first, 126, size) + payload
        return struct.pack(">BBQ", first, 127, size) + payload

    def frames(self, text, kind=TEXT, fragments=1):
        """The bytes of a message, in so many frames."""
        data = text if isinstance(text, bytes) else text.encode()
        compressed = self.deflate is not None
        if compressed:
            data = (self.deflate.compress(data) + self.deflate.flush(zlib.Z_SYNC_FLUSH))[:-4]
        step = max(1, -(-len(data) // fragments))
        parts = [data[at:at + step] for at in range(0, len(data), step)] or [b""]
        return b"".join(self.frame(kind if number == 0 else CONTINUATION, part, number + 1 == len(parts),
                                   compressed and number == 0) for number, part in enumerate(parts))

    def send(self, text, kind=TEXT, fragments=1):
        self.send_bytes(self.frames(text, kind, fragments))

    def _exactly(self, count):
        data = b""
        while len(data) < count:
            try:
                received = self.socket.recv(count - len(data))
            except OSError as error:
                raise Gone from error
            if not received:
                raise Gone
            data += received
        return data

    def receive_frame(self):
        """(kind, payload) of the client's next frame, whatever it is."""
        first, second = self._exactly(2)
        assert second & 0x80, "a client masks its frames"
        size = second & 0x7F
        if size == 126:
            size = struct.unpack(">H", self._exactly(2))[0]
        elif size == 127:
            size = struct.unpack(">Q", self._exactly(8))[0]
        mask = self._exactly(4)
        data = bytes(byte ^ mask[at % 4] for at, byte in enumerate(self._exactly(size)))
        if self.deflate is not None and first & 0x40:
            data = self.inflate.decompress(data + b"\x00\x00\xff\xff")
        return first & 0x0F, data

    def receive(self):
        """The client's next message, as text; answers pings."""
        while True:
            kind, data = self.receive_frame()
            if kind == PING:
                self.send_bytes(self.frame(PONG, data))
            elif kind in (TEXT, BINARY):
                return data.decode()
            elif kind == CLOSE:
                raise Gone

    def serve_pings(self):
        """Reads until the client has gone."""
        try:
            while True:
                self.receive()
        except Gone:
            pass

    def hang_up(self):
        """Ends the connection after everything that was sent, without a close frame."""
        try:
            self.socket.shutdown(socket.SHUT_WR)  # From here on, what TLS receives are plain bytes.
            while self.socket.recv(1 << 16):
                pass
        except OSError:
            pass


class Server:
    """`answer(path)`: (status, body) of a GET without an upgrade. `context`: of TLS. `deflates`: compresses messages."""

    def __init__(self, script, answer=None, context=None, port=0, deflates=False):
        self.script, self.answer, self.context, self.deflates = script, answer, context, deflates
        self.listener = socket.create_server(("127.0.0.1", port))
        self.port = self.listener.getsockname()[1]
        self.sockets, self.threads, self.errors, self.connects = [], [], [], 0
        self.lock = threading.Lock()
        self.is_closed = False
        self.refusal = None  # (status, body) in place of an upgrade.
        self._start(self._accept)

    def _start(self, function, *arguments):
        thread = threading.Thread(target=function, args=arguments, daemon=True)
        self.threads.append(thread)
        thread.start()

    def address(self, path="/", http=False):
        scheme = ("https" if http else "wss") if self.context else ("http" if http else "ws")
        return f"{scheme}://127.0.0.1:{self.port}{path}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.is_closed = True
        for each in [self.listener, *self.sockets]:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            each.close()
        for thread in self.threads:
            thread.join(10)
        if self.errors:
            raise self.errors[0]

    def _accept(self):
        while not self.is_closed:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._start(self._serve, client)

    def _serve(self, client):
        try:
            self.sockets.append(client)
            if self.context:
                client.settimeout(10)
                client = self.context.wrap_socket(client, server_side=True)
                client.settimeout(None)
                self.sockets.append(client)
            self._serve_request(client)
        except (Gone, OSError, ssl.SSLError):
            pass
        except Exception as error:  # pylint: disable=broad-except
            if not self.is_closed:
                self.errors.append(error)
        finally:
            try:
                client.close()
            except OSError:
                pass

    def _serve_request(self, client):
        head = b""
        while b"\r\n\r\n" not in head:
            received = client.recv(1)
            if not received:
                return
            head += received
        lines = head.decode().split("\r\n")[:-2]
        if any(line.lower().startswith("upgrade: websocket") for line in lines):
            with self.lock:
                self.connects += 1
            if self.refusal:
                self._send_page(client, *self.refusal)
                return
            peer = Peer(client, lines, self.deflates)
            self.script(peer)
            peer.hang_up()
            return
        self._send_page(client, *self.answer(lines[0].split()[1]))

    @staticmethod
    def _send_page(client, status, body):
        data = body.encode()
        client.sendall(f"HTTP/1.1 {status} X\r\nContent-Length: {len(data)}\r\nConnection: close\r\n\r\n".encode() + data)


def slowly(peer, data, each_s=0.0005):
    """Sends byte after byte."""
    for at in range(len(data)):
        peer.send_bytes(data[at:at + 1])
        time.sleep(each_s)

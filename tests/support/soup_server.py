"""A SoupBinTCP server on 127.0.0.1, written from the protocol's description, that can cut, lie, be slow or silent.

    server = SoupServer(self, "DAY1", messages)     # listens on server.address, `soup:127.0.0.1:PORT`
    server.behaviours = [Behaviour(cut_after=100)]  # of the next connections; later ones are as they should be
    server.publish(500)                             # it has the first 500 messages
"""

import collections
import dataclasses
import select
import socket
import struct
import threading
import time


def packet(kind, payload=b""):
    return struct.pack(">Hc", 1 + len(payload), kind.encode()) + payload


@dataclasses.dataclass
class Behaviour:
    """Of one connection."""
    reject: str = ""             # The reason of a rejected login.
    cut_after: int | None = None  # Closes after this number of bytes that follow the login.
    wrong: bytes = b""           # Sent at cut_after, before it closes.
    slow_bytes: int = 0          # Bytes after the login that are sent one by one.
    silent_after: int = 0        # Sends nothing after this number of a message, and does not close.
    accept_at: int | None = None  # The number of the login, whatever was wanted.


@dataclasses.dataclass
class Login:
    user: str
    password: str
    session: str
    seq: int
    at: float = dataclasses.field(default_factory=time.monotonic)
    packets: collections.Counter = dataclasses.field(default_factory=collections.Counter)  # That follow it, by type.


class SoupServer:
    HEARTBEAT_S = 1.0

    def __init__(self, test, session, messages, available=None, user="me", password="secret", first=1, port=0):
        self.session, self.messages, self.user, self.password = session, messages, user, password
        self.first = first  # The server has no earlier messages.
        self.available = len(messages) if available is None else available
        self.ended = False
        self.behaviours = []
        self.logins = []
        self.stopping = False
        self.changed = threading.Condition()
        self.listener = socket.create_server(("127.0.0.1", port))
        self.port = self.listener.getsockname()[1]
        self.address = f"soup:127.0.0.1:{self.port}"
        self.threads = [threading.Thread(target=self._accept)]
        self.threads[0].start()
        test.addCleanup(self.stop)

    def publish(self, available):
        with self.changed:
            self.available = available
            self.changed.notify_all()

    def end(self):
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def begin(self, session, messages):
        """Another session is the current one."""
        with self.changed:
            self.session, self.messages, self.available, self.ended = session, messages, len(messages), False
            self.changed.notify_all()

    def stop(self):
        with self.changed:
            if self.stopping:
                return
            self.stopping = True
            self.changed.notify_all()
        with socket.socket() as wake:
            wake.connect(("127.0.0.1", self.port))
        for thread in self.threads:
            thread.join()
        self.listener.close()

    def _accept(self):
        while True:
            connection, _ = self.listener.accept()
            if self.stopping:
                connection.close()
                return
            thread = threading.Thread(target=self._serve, args=(connection,))
            self.threads.append(thread)
            thread.start()

    def _serve(self, connection):
        with connection:
            try:
                _Connection(self, connection).run()
            except OSError:
                pass  # The client is gone.


class _Connection:
    def __init__(self, server, connection):
        self.server, self.socket = server, connection
        self.received = b""
        self.sent = 0  # Bytes after the login.
        with server.changed:
            self.behaviour = server.behaviours.pop(0) if server.behaviours else Behaviour()

    def run(self):
        server, behaviour = self.server, self.behaviour
        login = self._login()
        if login is None:
            return
        known = login.session in ("", server.session)
        reject = behaviour.reject or ("A" if (login.user, login.password) != (server.user, server.password) else "" if known else "S")
        if reject:
            self.socket.sendall(packet("J", reject.encode()))
            return
        seq = behaviour.accept_at or max(login.seq, server.first) or server.available + 1
        session = server.session
        self.socket.sendall(packet("+", b"welcome") + packet("A", f"{session:>10}{seq:>20}".encode()))
        heartbeat = time.monotonic()
        while not server.stopping and self._is_there(login):
            if behaviour.silent_after and seq > behaviour.silent_after:
                time.sleep(0.05)
                continue
            with server.changed:
                over = server.ended or server.session != session
                end = min(seq + 500, server.available + 1, 1 + (behaviour.silent_after or server.available))
                some = server.messages[seq - 1:end - 1] if not over or server.session == session else []
                if not some and not over:
                    server.changed.wait(0.05)
            if some and not self._send(b"".join(packet("S", message) for message in some)):
                return
            seq += len(some)
            if not some and over:
                self._send(packet("Z"))
                return
            if some:
                heartbeat = time.monotonic()
            elif time.monotonic() - heartbeat >= server.HEARTBEAT_S:
                heartbeat = time.monotonic()
                if not self._send(packet("H")):
                    return

    def _login(self):
        while len(self.received) < 49:
            if not select.select([self.socket], [], [], 10)[0]:
                return None
            more = self.socket.recv(1000)
            if not more:
                return None
            self.received += more
        head, self.received = self.received[:49], self.received[49:]
        length, kind, user, password, session, seq = struct.unpack(">Hc6s10s10s20s", head)
        assert (length, kind) == (47, b"L"), head
        login = Login(user.decode().rstrip(), password.decode().rstrip(), session.decode().lstrip(), int(seq))
        self.server.logins.append(login)
        return login

    def _is_there(self, login):
        """Counts the packets of the client. False if it has closed."""
        closed = False
        while not closed and select.select([self.socket], [], [], 0)[0]:
            more = self.socket.recv(1000)
            closed = not more
            self.received += more
        while len(self.received) >= 3:
            length = int.from_bytes(self.received[:2], "big")
            login.packets[chr(self.received[2])] += 1
            self.received = self.received[2 + length:]
        return not closed

    def _send(self, data):
        """False if it has cut the connection."""
        behaviour = self.behaviour
        cut = behaviour.cut_after is not None and self.sent + len(data) >= behaviour.cut_after
        if cut:
            data = data[:behaviour.cut_after - self.sent] + behaviour.wrong
        slow = max(0, min(len(data), behaviour.slow_bytes - self.sent))
        for at in range(slow):
            self.socket.sendall(data[at:at + 1])
            time.sleep(0.0005)
        self.socket.sendall(data[slow:])
        self.sent += len(data)
        if cut and behaviour.wrong:
            time.sleep(0.2)  # It is the client that closes.
        return not cut

"""What tests of standby tickerplants share: an etcd, and a feed that knows what it was told is logged.

TICKSTACK_ETCD is the etcd program; tests/e2e/run_standby_test.sh finds one.
"""

import hashlib
import os
import socket
import subprocess
import threading
import time

from tests.support import kdb_ipc, stack

ETCD = os.environ.get("TICKSTACK_ETCD", "")


def free_port(host="127.0.0.1"):
    with socket.create_server((host, 0)) as listener:
        return listener.getsockname()[1]


class Etcd:
    """A running etcd with one member."""

    def __init__(self, folder, host="127.0.0.1"):
        client, peer = free_port(host), free_port()
        self.url = f"http://{host}:{client}"
        self.log = open(folder / "etcd.log", "ab")
        self.process = subprocess.Popen(
            [ETCD, "--data-dir", str(folder / "etcd"), "--listen-client-urls", self.url,
             "--advertise-client-urls", self.url, "--listen-peer-urls", f"http://127.0.0.1:{peer}",
             "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}",
             "--initial-cluster", f"default=http://127.0.0.1:{peer}", "--unsafe-no-fsync"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        stack.wait_until(self.answers, 30, "etcd")

    def answers(self):
        try:
            with socket.create_connection(self.url[len("http://"):].split(":"), 1):
                return True
        except OSError:
            return False

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.log.close()


class Feed(threading.Thread):
    """Sends numbered rows, a few at a time, and remembers how many it was told are logged. It knows all members and
    goes on to the next one when one does not answer. `addresses` returns their hosts and ports."""

    def __init__(self, addresses, name="nyse"):
        super().__init__(daemon=True)
        self.addresses, self.name = addresses, name
        self.accepted = 0
        self.last_error = None
        self.stopping = threading.Event()
        self.longest = 0.0  # Longest time without an acknowledgement, in seconds.
        self.error = None

    def run(self):
        at, last = 0, time.monotonic()
        while not self.stopping.is_set():
            addresses = self.addresses()
            try:
                host, port = addresses[at]
                with kdb_ipc.Connection(port, host, timeout=0.3) as tickerplant:
                    logged = tickerplant.call([b".u.feed", self.name, self.name + "1"])["trade"]
                    if logged < self.accepted:
                        self.error = f"{logged} rows are logged, {self.accepted} were accepted"
                        return
                    self.accepted = logged
                    while not self.stopping.is_set():
                        rows = [kdb_ipc.Typed("n", [1, 2]), ["A", "B"], [1.5, 2.5],
                                kdb_ipc.Typed("j", [self.accepted, self.accepted + 1])]
                        tickerplant.call([".u.updn", self.name, self.accepted, "trade", rows])
                        self.accepted += 2
                        self.longest = max(self.longest, time.monotonic() - last)
                        last = time.monotonic()
                        time.sleep(0.001)
            except (OSError, kdb_ipc.Closed, kdb_ipc.QError) as error:
                self.last_error = error
                at = (at + 1) % len(addresses)
                time.sleep(0.01)

    def stop(self):
        self.stopping.set()
        self.join(30)


def numbers_of(log):
    """The numbers of a feed's rows in a log, in its order."""
    return [number for message in kdb_ipc.decode_all(log.read_bytes()[8:]) for number in message[2][3]]


def are_equal(paths):
    return len({hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}) == 1

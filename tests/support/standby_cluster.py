"""What tests of standby tickerplants share: an etcd, and a feed that knows what it was told is logged.

TICKSTACK_ETCD is the etcd program; tests/e2e/run_standby_test.sh finds one.
"""

import base64
import hashlib
import json
import os
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request

from tests.support import kdb_ipc, stack

ETCD = os.environ.get("TICKSTACK_ETCD", "")
DATE = "2020.03.09"
MEMBERS = ("tickerplant", "second", "third")

STACK = """
[replication]
etcd = {etcd}
{keys}
cluster = "{cluster}"
first_leader = "tickerplant"
acknowledge = {acknowledge}
[tickerplant]
batch_ms = 5
{advertise[0]}
[[standby]]
name = "second"
port = 5031
batch_ms = 5
{advertise[1]}
[[standby]]
name = "third"
port = 5032
batch_ms = 5
{advertise[2]}
{more}
"""


def free_port(host="127.0.0.1"):
    with socket.create_server((host, 0)) as listener:
        return listener.getsockname()[1]


class Etcd:
    """A running etcd with one member."""

    def __init__(self, folder, host="127.0.0.1"):
        client, peer = free_port(host), free_port()
        self.url = f"http://{host}:{client}"
        self.urls = [self.url]
        self.log = open(folder / "etcd.log", "ab")
        self.process = subprocess.Popen(
            [ETCD, "--data-dir", str(folder / "etcd"), "--listen-client-urls", self.url,
             "--advertise-client-urls", self.url, "--listen-peer-urls", f"http://127.0.0.1:{peer}",
             "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}",
             "--initial-cluster", f"default=http://127.0.0.1:{peer}", "--unsafe-no-fsync"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        stack.wait_until(self.answers, 60, "etcd")

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


def free_ports(count):
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [listener.getsockname()[1] for listener in listeners]
    for listener in listeners:
        listener.close()
    return ports


def as_base64(text):
    return base64.b64encode(text.encode()).decode()


class SecuredEtcd:
    """Three members of etcd that require TLS, a client's certificate and a login. `certificates` has those of the
    members, `server`, and of a client, `client`. A token expires a second after its last use at a member."""

    ROOT = "password of root"

    def __init__(self, folder, certificates):
        self.folder, self.certificates = folder, certificates
        self.context = certificates.context("client")
        ports = free_ports(6)
        self.urls = [f"https://127.0.0.1:{port}" for port in ports[:3]]
        self.peers = [f"http://127.0.0.1:{port}" for port in ports[3:]]
        self.processes = {}
        for member in range(3):
            self.start(member)
        stack.wait_until(lambda: self.leader() is not None, 60, "etcd")
        for path, body in (
                ("user/add", {"name": "root", "password": self.ROOT}), ("role/add", {"name": "root"}),
                ("user/grant", {"user": "root", "role": "root"}), ("role/add", {"name": "leadership"}),
                ("role/grant", {"name": "leadership", "perm": {
                    "permType": "READWRITE", "key": as_base64("/tickstack/"), "range_end": as_base64("/tickstack0")}})):
            self.post(0, f"auth/{path}", body)
        self.post(0, "auth/enable", {})

    def start(self, member):
        cluster = ",".join(f"member{at}={url}" for at, url in enumerate(self.peers))
        with open(self.folder / f"etcd{member}.log", "ab") as log:
            self.processes[member] = subprocess.Popen(
                [ETCD, "--name", f"member{member}", "--data-dir", str(self.folder / f"etcd{member}"),
                 "--listen-client-urls", self.urls[member], "--advertise-client-urls", self.urls[member],
                 "--listen-peer-urls", self.peers[member], "--initial-advertise-peer-urls", self.peers[member],
                 "--initial-cluster", cluster, "--unsafe-no-fsync", "--auth-token-ttl", "1",
                 "--bcrypt-cost", "4",
                 "--cert-file", self.certificates.path("server.pem"),
                 "--key-file", self.certificates.path("server.key"),
                 "--client-cert-auth", "--trusted-ca-file", self.certificates.path("ca.pem")],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def kill(self, member):
        process = self.processes.pop(member)
        process.kill()
        process.wait()

    def stop(self):
        for member in list(self.processes):
            self.kill(member)

    def post(self, member, path, body, token=None):
        request = urllib.request.Request(f"{self.urls[member]}/v3/{path}", json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        if token is not None:
            request.add_header("Authorization", token)
        with urllib.request.urlopen(request, timeout=10, context=self.context) as answer:
            return json.load(answer)

    def post_as_root(self, path, body):
        member = next(iter(self.processes))
        token = self.post(member, "auth/authenticate", {"name": "root", "password": self.ROOT})["token"]
        return self.post(member, path, body, token)

    def leader(self):
        """The member that leads etcd, or None."""
        for member in self.processes:
            try:
                status = self.post(member, "maintenance/status", {})
            except (OSError, urllib.error.URLError, ssl.SSLError):
                continue
            if status.get("leader", "0") == status["header"]["member_id"]:
                return member
        return None


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


class StandbyStackTest(stack.StackTest):
    """Tests of a stack with three members. `etcd` has the URL of what elects the leader."""

    TABLES = '[tables]\ntrade = "time n, sym s, price f, size j"\n'
    KEYS = ""  # More keys of [replication].
    etcd = None

    def start(self, acknowledge=1, more="", links=None):
        """`links`: a Link for each member, between it and the others."""
        advertise = [f'advertise = "{links[member].address}"' if links else "" for member in MEMBERS]
        cluster = self.id().split(".")[-1]
        config = self.TABLES + STACK.format(etcd=json.dumps(self.etcd.urls), keys=self.KEYS, cluster=cluster,
                                            acknowledge=acknowledge, more=more, advertise=advertise)
        return self.start_stack(config, "--date", DATE)

    @staticmethod
    def replica(running, member):
        """The member's `.u.replica[]`; an empty one while it does not answer."""
        try:
            with kdb_ipc.Connection(running.port(member), timeout=1.0) as connection:
                return connection.call(".u.replica[]")
        except (OSError, kdb_ipc.Closed, kdb_ipc.QError):
            return {"role": "", "epoch": 0}

    def leader(self, running):
        """The member that leads with the highest epoch, or None."""
        said = {member: self.replica(running, member) for member in MEMBERS}
        leaders = [member for member in MEMBERS if said[member]["role"] == "leader" and said[member]["settled"]]
        return max(leaders, key=lambda member: said[member]["epoch"]) if leaders else None

    def wait_for_leader(self, running, standbys=2):
        def ready():
            leader = self.leader(running)
            return leader is not None and self.replica(running, leader).get("in_sync") == standbys
        stack.wait_until(ready, 60, "a leader with its standbys")
        return self.leader(running)

    def start_feed(self, running):
        feed = Feed(lambda: [("127.0.0.1", running.port(member)) for member in MEMBERS])
        feed.start()
        self.addCleanup(feed.stop)
        stack.wait_until(lambda: feed.accepted > 50 or feed.error, 60, "rows")
        return feed

    def log_path(self, running, member, date=DATE):
        name = "sym" if member == "tickerplant" else member
        return running.data / "tplog" / f"{name}{date}"

    def check_logs(self, running, feed, date=DATE):
        """All logs have the same bytes, with each accepted row once."""
        feed.stop()
        self.assertIsNone(feed.error)
        self.wait_for_leader(running)

        logs = [self.log_path(running, member, date) for member in MEMBERS]
        stack.wait_until(lambda: are_equal(logs), 60, "equal logs")
        numbers = numbers_of(logs[1])
        self.assertEqual(numbers, list(range(len(numbers))), "a row is missing or there twice")
        self.assertGreaterEqual(len(numbers), feed.accepted)

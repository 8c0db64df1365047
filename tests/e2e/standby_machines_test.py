#!/usr/bin/env python3
"""Three tickerplants on three hosts, a real etcd, and a network that fails: at random, members are killed and stopped,
hosts lose their cable, pairs of hosts lose each other, and etcd hangs. No row may be lost that the feed was told is
logged, none may be there twice, and the logs of all members must have the same bytes.

The hosts are network namespaces behind a bridge. They exist as long as this test, which needs root; without it the
test is skipped, or fails if TICKSTACK_REQUIRE_ETCD is 1.

TICKSTACK_FAULTS is the number of faults, TICKSTACK_SEED the seed, which is printed. At the end it prints how long the
feed waited when a leader was replaced.
"""

import collections
import json
import os
import pathlib
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
OWN_NETWORK = "TICKSTACK_OWN_NETWORK"  # Set once this process is in a network of its own.


def may_have_networks():
    return os.geteuid() == 0 and shutil.which("ip") and shutil.which("nsenter") and \
        subprocess.run(["unshare", "--net", "true"], check=False, stderr=subprocess.DEVNULL).returncode == 0


if __name__ == "__main__" and OWN_NETWORK not in os.environ and os.environ.get("TICKSTACK_ETCD") and may_have_networks():
    os.environ[OWN_NETWORK] = "1"
    os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv])

from tests.support import kdb_ipc, stack  # noqa: E402
from tests.support.standby_cluster import ETCD, Etcd, Feed, are_equal, numbers_of  # noqa: E402

FAULTS = int(os.environ.get("TICKSTACK_FAULTS", "20"))
SEED = int(os.environ.get("TICKSTACK_SEED", str(random.randrange(1 << 31))))
DATE = "2020.03.09"
PORT = 5010
FEED_HOST, ETCD_HOST = "10.77.0.1", "10.77.0.2"

STACK = """
[tables]
trade = "time n, sym s, price f, size j"
[security]
insecure = true
[replication]
etcd = ["{etcd}"]
cluster = "machines"
first_leader = "m0"
[tickerplant]
name = "{name}"
host = "{host}"
port = {port}
batch_ms = 5
"""


def run(*command):
    subprocess.run(command, check=True)


class Machine:
    """A host with a tickerplant, at the end of a cable."""

    def __init__(self, number, folder):
        self.name, self.cable, self.host = f"m{number}", f"cable{number}", f"10.77.0.{10 + number}"
        self.folder = folder / self.name
        self.folder.mkdir()
        self.anchor = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        stack.wait_until(self.has_network, 60, "a network")
        run("ip", "link", "add", self.cable, "type", "veth", "peer", "name", "eth0", "netns", str(self.anchor.pid))
        run("ip", "link", "set", self.cable, "master", "bridge", "up")
        for command in (f"addr add {self.host}/24 dev eth0", "link set eth0 up", "link set lo up"):
            self.inside("ip", *command.split())
        self.process = self.log = None
        self.lost = collections.Counter()  # By host, how many faults keep packets from it.

    def has_network(self):
        own, other = (os.readlink(f"/proc/{pid}/ns/net") for pid in ("self", self.anchor.pid))
        return own != other

    def command(self, *command):
        return ["nsenter", f"--net=/proc/{self.anchor.pid}/ns/net", *command]

    def inside(self, *command):
        run(*self.command(*command))

    def start(self, etcd):
        config = self.folder / "stack.toml"
        config.write_text(STACK.format(etcd=etcd, name=self.name, host=self.host, port=PORT), encoding="utf-8")
        self.log = open(self.folder / "up.log", "ab")
        self.process = subprocess.Popen(
            self.command(stack.PROGRAM, "up", str(config), "--data", str(self.folder / "data"), "--date", DATE,
                         "--ready-file", str(self.folder / "ready.json")),
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def pid(self):
        ready = json.loads((self.folder / "ready.json").read_text(encoding="utf-8"))
        return ready["processes"][0]["pid"]

    def signal(self, number):
        try:
            os.kill(self.pid(), number)
        except ProcessLookupError:
            pass  # A leader that was replaced has just ended.

    def set_cable(self, state):
        run("ip", "link", "set", self.cable, state)

    def lose(self, host):
        self.lost[host] += 1
        if self.lost[host] == 1:
            self.inside("ip", "route", "add", "blackhole", f"{host}/32")

    def find(self, host):
        self.lost[host] -= 1
        if self.lost[host] == 0:
            self.inside("ip", "route", "del", "blackhole", f"{host}/32")

    def replica(self):
        """The member's `.u.replica[]`; an empty one while it does not answer."""
        try:
            with kdb_ipc.Connection(PORT, self.host, timeout=0.5) as connection:
                return connection.call(".u.replica[]")
        except (OSError, kdb_ipc.Closed, kdb_ipc.QError):
            return {"role": "", "epoch": 0}

    def log_text(self):
        return (self.folder / "up.log").read_text(encoding="utf-8", errors="replace")[-5000:]

    def tplog(self):
        return self.folder / "data" / "tplog" / f"sym{DATE}"

    def stop(self):
        if self.process is not None:
            if self.process.poll() is None:
                self.process.terminate()
                try:
                    self.process.wait(60)
                except subprocess.TimeoutExpired:
                    self.process.kill()
                    self.process.wait()
            self.log.close()
        self.anchor.kill()
        self.anchor.wait()


@unittest.skipUnless(ETCD, "no etcd: run_standby_test.sh finds one")
class StandbyMachinesTest(unittest.TestCase):
    def setUp(self):
        if OWN_NETWORK not in os.environ:
            if os.environ.get("TICKSTACK_REQUIRE_ETCD") == "1":
                self.fail("no network namespaces: needs root, and the programs ip, unshare and nsenter")
            self.skipTest("no network namespaces: needs root, and the programs ip, unshare and nsenter")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tickstack-machines-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "bridge", "type", "bridge")
        self.addCleanup(run, "ip", "link", "del", "bridge")
        for host in (FEED_HOST, ETCD_HOST):
            run("ip", "addr", "add", f"{host}/24", "dev", "bridge")
        run("ip", "link", "set", "bridge", "up")
        self.etcd = Etcd(self.folder, ETCD_HOST)
        self.addCleanup(self.etcd.stop)
        self.machines = []
        for number in range(3):
            self.machines.append(Machine(number, self.folder))
            self.addCleanup(self.machines[-1].stop)
        for machine in self.machines:
            machine.start(self.etcd.url)

    def leader(self):
        """The machine that leads with the highest epoch, or None, and its answer."""
        said = [(machine, machine.replica()) for machine in self.machines]
        leaders = [(machine, answer) for machine, answer in said if answer["role"] == "leader" and answer["settled"]]
        return max(leaders, key=lambda each: each[1]["epoch"], default=(None, {"epoch": 0, "in_sync": 0}))

    def wait_until_in_sync(self):
        def in_sync():
            for machine in self.machines:
                self.assertIsNone(machine.process.poll(), f"{machine.name} ended:\n{machine.log_text()}")
            return self.leader()[1]["in_sync"] == 2
        stack.wait_until(in_sync, 60, "a leader with two standbys")
        return self.leader()

    # ---- faults: each returns a function that ends it

    def kill(self, machine):
        machine.signal(signal.SIGKILL)
        return lambda: None

    def pause(self, machine):
        machine.signal(signal.SIGSTOP)
        pid = machine.pid()

        def go_on():
            if stack.is_alive(pid):
                os.kill(pid, signal.SIGCONT)
        return go_on

    def pull_cable(self, machine):
        machine.set_cable("down")
        return lambda: machine.set_cable("up")

    def lose_pair(self, machine):
        """Two members lose each other; both still reach etcd, the third one and the feed."""
        other = self.rng.choice([each for each in self.machines if each is not machine])
        machine.lose(other.host)
        other.lose(machine.host)

        def find():
            machine.find(other.host)
            other.find(machine.host)
        return find

    def lose_one_way(self, machine):
        other = self.rng.choice([each for each in self.machines if each is not machine])
        machine.lose(other.host)
        return lambda: machine.find(other.host)

    def lose_etcd(self, machine):
        machine.lose(ETCD_HOST)
        return lambda: machine.find(ETCD_HOST)

    def pause_etcd(self, _machine):
        os.kill(self.etcd.process.pid, signal.SIGSTOP)
        return lambda: os.kill(self.etcd.process.pid, signal.SIGCONT)

    # ----

    def test_faults_at_random(self):
        print(f"TICKSTACK_SEED={SEED}", flush=True)
        self.rng = random.Random(SEED)
        rng = self.rng
        self.wait_until_in_sync()
        feed = Feed(lambda: [(machine.host, PORT) for machine in self.machines])
        feed.start()
        self.addCleanup(feed.stop)
        stack.wait_until(lambda: feed.accepted > 50 or feed.error, 60, "rows")
        faults = (self.kill, self.pause, self.pull_cable, self.lose_pair, self.lose_one_way, self.lose_etcd,
                  self.pause_etcd)
        waits, counts = collections.defaultdict(list), collections.Counter()
        switches = 0
        begin = time.monotonic()
        while sum(counts.values()) < FAULTS:
            # Half of the faults hit the leader of members that are all well; the others come as they like.
            alone = rng.random() < 0.5
            leader, before = self.wait_until_in_sync() if alone else self.leader()
            hit = [leader] if alone else rng.sample(self.machines, rng.choice((1, 2)))
            feed.longest = 0.0
            ends = []
            for machine in hit:
                fault = rng.choice(faults[:3] if alone else faults)
                counts[fault.__name__] += 1
                ends.append(fault(machine))
                if fault == self.pause_etcd:
                    break  # Once is enough.
            try:
                if alone:
                    accepted = feed.accepted
                    stack.wait_until(lambda at=accepted: feed.accepted > at + 20 or feed.error, 60, "rows after a fault")
                else:
                    time.sleep(rng.uniform(0, 1.5))
            finally:
                for end in ends:
                    end()
            accepted = feed.accepted
            stack.wait_until(lambda at=accepted: feed.accepted > at or feed.error, 60, "rows after all faults")
            self.assertIsNone(feed.error)
            after = self.leader()[1]["epoch"]
            switches += after > before["epoch"]
            if alone and after > before["epoch"]:
                waits[fault.__name__].append(feed.longest)
        seconds = time.monotonic() - begin
        feed.stop()
        self.assertIsNone(feed.error)
        self.wait_until_in_sync()
        logs = [machine.tplog() for machine in self.machines]
        stack.wait_until(lambda: are_equal(logs), 60, "equal logs")
        numbers = numbers_of(logs[0])
        self.assertEqual(numbers, list(range(len(numbers))), "a row is missing or there twice")
        self.assertGreaterEqual(len(numbers), feed.accepted)
        print(f"{dict(counts)} in {seconds:.0f} s: {switches} rounds with another leader, {feed.accepted} rows accepted,"
              f" {len(numbers)} logged, equal sha256", flush=True)
        for fault, seconds in sorted(waits.items()):
            print(f"{fault}: {len(seconds)} switches, the feed waited {min(seconds) * 1e3:.0f} to {max(seconds) * 1e3:.0f} ms,"
                  f" median {statistics.median(seconds) * 1e3:.0f}", flush=True)


if __name__ == "__main__":
    stack.main()

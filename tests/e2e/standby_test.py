#!/usr/bin/env python3
"""Standby tickerplants with a real etcd: whichever member dies, stops or is started again, no row is lost that a feed
was told is logged, none is there twice, and the logs of all members have the same bytes.

TICKSTACK_ETCD is the etcd program; run_standby_test.sh finds one. TICKSTACK_KILLS is the number of members that the
random test kills or stops, TICKSTACK_SEED its seed, which it prints.
"""

import json
import os
import pathlib
import random
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kdb_ipc, stack  # noqa: E402
from tests.support.standby_cluster import (  # noqa: E402
    DATE, ETCD, MEMBERS, STACK, Etcd, StandbyStackTest, are_equal, numbers_of)

KILLS = int(os.environ.get("TICKSTACK_KILLS", "10"))
SEED = int(os.environ.get("TICKSTACK_SEED", str(random.randrange(1 << 31))))
NEXT = "2020.03.10"


class Link:
    """A port at which the other members find one member. Once it is cut, bytes go nowhere and nobody learns it, as in
    a network that lost a cable."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.target = None
        self.is_cut = False
        self.sockets = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.sockets.append(client)
            if self.is_cut or self.target is None:
                continue
            try:
                server = socket.create_connection(("127.0.0.1", self.target()), 5)
            except OSError:
                client.close()
                continue
            self.sockets.append(server)
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self.pump, args=(source, sink), daemon=True).start()

    def pump(self, source, sink):
        data = True
        while data:
            try:
                data = source.recv(1 << 16)
                if self.is_cut:
                    return
                if data:
                    sink.sendall(data)
            except OSError:
                break
        self.end([source, sink])

    @staticmethod
    def end(sockets):
        for each in sockets:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            each.close()

    def cut(self):
        self.is_cut = True

    def heal(self):
        """New connections work again. Those that were cut stay dead, and nobody is told."""
        self.is_cut = False

    def close(self):
        self.end([*self.sockets, self.listener])


@unittest.skipUnless(ETCD, "no etcd: run_standby_test.sh finds one")
class StandbyTest(StandbyStackTest):
    @classmethod
    def setUpClass(cls):
        cls.shared = pathlib.Path(tempfile.mkdtemp(prefix="tickstack-etcd-"))
        cls.etcd = Etcd(cls.shared)

    @classmethod
    def tearDownClass(cls):
        cls.etcd.stop()
        shutil.rmtree(cls.shared, ignore_errors=True)

    def test_a_killed_leader_is_replaced_without_a_loss(self):
        running = self.start()
        first = self.wait_for_leader(running)
        epoch = self.replica(running, first)["epoch"]
        feed = self.start_feed(running)
        feed.longest = 0
        os.kill(running.pid(first), signal.SIGKILL)
        accepted = feed.accepted
        stack.wait_until(lambda: feed.accepted > accepted + 100 or feed.error, 60, "rows after the failover")
        print(f"killed leader: {feed.longest * 1e3:.0f} ms without an acknowledgement", flush=True)
        self.assertLess(feed.longest, 2.0)
        # The killed member has every row, too, and may be back before another one leads.
        self.assertGreater(self.replica(running, self.wait_for_leader(running))["epoch"], epoch)
        self.check_logs(running, feed)
        self.assertEqual(running.stop(), 0)

    def test_a_stopped_leader_is_replaced_and_learns_it(self):
        running = self.start()
        first = self.wait_for_leader(running)
        feed = self.start_feed(running)
        pid = running.pid(first)
        feed.longest = 0
        os.kill(pid, signal.SIGSTOP)
        try:
            accepted = feed.accepted
            stack.wait_until(lambda: feed.accepted > accepted + 100 or feed.error, 60, "rows after the failover")
        finally:
            os.kill(pid, signal.SIGCONT)
        print(f"stopped leader: {feed.longest * 1e3:.0f} ms without an acknowledgement", flush=True)
        stack.wait_until(lambda: running.pid(first) != pid, 60, "the old leader's end")
        self.check_logs(running, feed)

    def test_a_leader_that_stops_in_order_resigns(self):
        running = self.start()
        first = self.wait_for_leader(running)
        feed = self.start_feed(running)
        feed.longest = 0
        os.kill(running.pid(first), signal.SIGTERM)
        stack.wait_until(lambda: self.leader(running) not in (None, first), 60, "another leader")
        accepted = feed.accepted
        stack.wait_until(lambda: feed.accepted > accepted + 100 or feed.error, 60, "rows after the failover")
        print(f"leader that resigned: {feed.longest * 1e3:.0f} ms without an acknowledgement", flush=True)
        self.check_logs(running, feed)

    def test_a_lost_standby_does_not_stop_capture_and_catches_up(self):
        running = self.start()
        first = self.wait_for_leader(running)
        feed = self.start_feed(running)
        other = next(member for member in MEMBERS if member != first)
        pid = running.pid(other)
        os.kill(pid, signal.SIGSTOP)
        try:
            accepted = feed.accepted
            stack.wait_until(lambda: feed.accepted > accepted + 300 or feed.error, 60, "rows without a standby")
            self.assertEqual(self.leader(running), first)
        finally:
            os.kill(pid, signal.SIGCONT)
        self.check_logs(running, feed)
        running.kill(other)
        self.assertEqual(self.wait_for_leader(running), first)

    def test_feeds_are_paused_while_too_few_standbys_are_in_sync(self):
        running = self.start(acknowledge=2)
        first = self.wait_for_leader(running)
        feed = self.start_feed(running)
        other = next(member for member in MEMBERS if member != first)
        pid = running.pid(other)
        os.kill(pid, signal.SIGSTOP)
        try:
            time.sleep(1.5)
            accepted = feed.accepted
            time.sleep(1.0)
            self.assertEqual(feed.accepted, accepted)
        finally:
            os.kill(pid, signal.SIGCONT)
        stack.wait_until(lambda: feed.accepted > accepted + 100 or feed.error, 60, "rows again")
        self.check_logs(running, feed)

    def test_a_day_ends_at_all_members(self):
        running = self.start()
        first = self.wait_for_leader(running)
        feed = self.start_feed(running)
        feed.stop()
        before = feed.accepted
        with running.connect(first) as leader:
            leader.call(".u.endofday[]")
        stack.wait_until(lambda: all(self.log_path(running, member, NEXT).exists() for member in MEMBERS), 30,
                         "the next day's logs")
        again = self.start_feed(running)
        self.assertGreaterEqual(again.accepted, before)
        again.stop()
        self.assertIsNone(again.error)
        for date in (DATE, NEXT):
            stack.wait_until(lambda day=date: len({self.log_path(running, member, day).read_bytes()
                                                   for member in MEMBERS}) == 1, 60, f"equal logs of {date}")

    def start_with_links(self, acknowledge):
        links = {member: Link() for member in MEMBERS}
        for link in links.values():
            self.addCleanup(link.close)
        running = self.start(acknowledge, links=links)
        for member, link in links.items():
            link.target = lambda who=member: running.port(who)
        return running, links

    def test_a_leader_that_is_cut_off_from_its_standbys_waits_for_one(self):
        running, links = self.start_with_links(acknowledge=1)
        first = self.wait_for_leader(running)
        feed = self.start_feed(running)
        links[first].cut()
        time.sleep(2.0)  # Longer than the timeout of standbys.
        accepted = feed.accepted
        time.sleep(1.0)
        self.assertEqual(feed.accepted, accepted)
        links[first].heal()
        stack.wait_until(lambda: feed.accepted > accepted + 100 or feed.error, 60, "rows again")
        self.check_logs(running, feed)

    def test_a_leader_that_may_continue_alone_does(self):
        running, links = self.start_with_links(acknowledge=0)
        first = self.wait_for_leader(running)
        feed = self.start_feed(running)
        links[first].cut()
        accepted = feed.accepted
        stack.wait_until(lambda: feed.accepted > accepted + 300 or feed.error, 60, "rows of a leader alone")
        self.assertEqual(self.replica(running, first)["in_sync"], 0)
        links[first].heal()
        self.check_logs(running, feed)

    def test_capture_continues_while_etcd_is_down(self):
        running = self.start()
        first = self.wait_for_leader(running)
        feed = self.start_feed(running)
        self.etcd.process.send_signal(signal.SIGSTOP)
        try:
            time.sleep(2.0)  # Longer than the lease.
            accepted = feed.accepted
            stack.wait_until(lambda: feed.accepted > accepted + 100 or feed.error, 60, "rows without etcd")
            self.assertEqual(self.leader(running), first)
        finally:
            self.etcd.process.send_signal(signal.SIGCONT)
        self.check_logs(running, feed)

    def test_a_standby_refuses_by_name(self):
        running = self.start()
        first = self.wait_for_leader(running)
        other = next(member for member in MEMBERS if member != first)
        with running.connect(other) as standby:
            with self.assertRaisesRegex(kdb_ipc.QError, f"standby: .*:{running.port(first)} leads"):
                standby.call("1+1")

    def test_random_kills_and_stops(self):
        print(f"TICKSTACK_SEED={SEED}", flush=True)
        rng = random.Random(SEED)
        running = self.start()
        self.wait_for_leader(running)
        feed = self.start_feed(running)
        for _ in range(KILLS):
            member = rng.choice(MEMBERS)
            # A leader that was replaced ends, and its successor has another number.
            stack.wait_until(lambda who=member: stack.is_alive(running.pid(who)), 60, f"a new {member}")
            pid = running.pid(member)
            try:
                if rng.random() < 0.5:
                    os.kill(pid, signal.SIGKILL)
                else:
                    os.kill(pid, signal.SIGSTOP)
                    time.sleep(rng.uniform(0, 2))
                    os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                pass  # It has just ended.
            accepted = feed.accepted
            stack.wait_until(lambda at=accepted: feed.accepted > at or feed.error, 60, "rows after a fault")
            time.sleep(rng.uniform(0, 1.5))
        self.check_logs(running, feed)

    def test_rows_reach_the_rdb_across_a_failover(self):
        running = self.start(more="[[rdb]]\n")
        first = self.wait_for_leader(running)
        feed = self.start_feed(running)
        stack.wait_until(lambda: running.count("trade") > 0, 60, "rows in the rdb")
        os.kill(running.pid(first), signal.SIGKILL)
        accepted = feed.accepted
        stack.wait_until(lambda: feed.accepted > accepted + 100 or feed.error, 60, "rows after the failover")
        feed.stop()
        self.assertIsNone(feed.error)
        stack.wait_until(lambda: running.count("trade") >= feed.accepted, 60, "all rows in the rdb")
        sizes = running.ask("rdb", "asc exec size from trade")
        self.assertEqual(list(sizes), list(range(len(sizes))))

    def stop_until_replaced(self, running, leader):
        """The leader hangs: its connections stay open, and nobody answers."""
        pid = running.pid(leader)
        os.kill(pid, signal.SIGSTOP)
        try:
            stack.wait_until(lambda: self.leader(running) not in (None, leader), 60, "another leader")
            before = running.count("quote")
            stack.wait_until(lambda: running.count("quote") > before, 60, "rows from another leader")
        finally:
            os.kill(pid, signal.SIGCONT)

    def test_every_process_of_a_stack_goes_on_with_the_next_leader(self):
        rows = 200_000
        config = STACK.format(etcd=json.dumps(self.etcd.urls), keys="", cluster=self.id().split(".")[-1],
                              acknowledge=1, advertise=[""] * 3, more=f"""
[[rdb]]
[aggengine]
[[chained]]
name = "copy"
port = 5040
[[rdb]]
name = "far"
port = 5041
tickerplant = "copy"
[feed]
rate = 20000
rows = {rows}
""")
        running = self.start_stack(config, "--date", DATE)

        def counts():
            return [running.count("quote", rdb) + running.count("trade", rdb) for rdb in ("rdb", "far")]
        for at in (30_000, 80_000, 130_000):
            stack.wait_until(lambda least=at: counts()[0] >= least, 120, f"{at} rows")
            leader = stack.wait_until(lambda: self.leader(running), 60, "a leader")
            if at == 80_000:
                self.stop_until_replaced(running, leader)
            else:
                running.kill(leader)
        stack.wait_until(lambda: counts() == [rows, rows], 120, f"all rows: {counts()}")
        time.sleep(1)
        self.assertEqual([rows, rows], counts(), "a row is there twice")
        checksums = {table: running.ask("rdb", f".rdb.checksum[`{table}]") for table in ("trade", "quote")}
        for table, checksum in checksums.items():
            self.assertEqual(checksum, running.ask("far", f".rdb.checksum[`{table}]"), table)
        trades = running.ask("rdb", "exec sum size from trade")
        stack.wait_until(lambda: running.ask("rdb", "exec sum volume from trade_daily") == trades, 60, "the day's bars")


if __name__ == "__main__":
    stack.main()

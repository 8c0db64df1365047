#!/usr/bin/env python3
"""Clients that query an RDB while it takes rows: long queries, clients that leave or do not read, configured bounds."""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kdb_ipc, stack  # noqa: E402
from tests.support.kdb_ipc import SYNC, QError, encode, message  # noqa: E402

CONFIG = """
[tickerplant]
batch_ms = 5
[[rdb]]
query_threads = 2
query_helpers = 1
query_nice = 7
query_slow_ms = 100
query_max_bytes = "64MiB"
query_unread_bytes = "80MiB"
query_unread_timeout_s = 1
[feed]
rate = 2000
start = true
"""
# A minute of work in steps of one ms; what it builds adds up to 480 GB.
LONG_QUERY = b"sum til 1000000;" * 60_000
# Far below the rest of that work, and far above one step with a sanitizer plus a tick of the kernel's accounting.
CANCELLED_CPU_S = 5
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def threads(pid):
    """Returns (nice value, CPU seconds) of each thread, starting with the first, whose number may not be the lowest."""
    found = []
    for task in sorted(os.listdir(f"/proc/{pid}/task"), key=lambda task: int(task) != pid):
        with open(f"/proc/{pid}/task/{task}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        found.append((int(fields[16]), (int(fields[11]) + int(fields[12])) / TICKS_PER_S))
    return found


def query_cpu_s(pid):
    """Returns the CPU seconds of the threads that evaluate: only they have the configured nice value."""
    return sum(cpu for nice, cpu in threads(pid) if nice == 7)


def request(connection, text):
    """Sends a request without waiting for the answer."""
    connection.socket.sendall(message(SYNC, encode(text)))


class QueriesTest(stack.StackTest):
    def setUp(self):
        super().setUp()
        config = CONFIG.replace('"64MiB"', '"1TiB"') if "long_query" in self.id() else CONFIG
        self.running = self.start_stack(config)

    def stats(self):
        return self.running.ask("rdb", ".rdb.stats[]")

    def wait_for(self, what, holds):
        return stack.wait_until(lambda: (stats := self.stats()) and holds(stats) and stats, 60, what)

    def test_a_long_query_ends_when_its_client_leaves_and_holds_up_nobody(self):
        pid = self.running.pid("rdb")
        rows = self.stats()["rows"]
        client = self.running.connect("rdb")
        request(client, LONG_QUERY)
        # The other thread answers meanwhile, and rows arrive.
        self.wait_for("the query", lambda stats: stats["queries_running"] == 2)
        self.wait_for("rows", lambda stats: stats["rows"] > rows + 500)
        begin = query_cpu_s(pid)
        stack.wait_until(lambda: query_cpu_s(pid) > begin + 0.5, 60, "its work")
        begin = query_cpu_s(pid)
        client.close()
        # A query is counted as cancelled just before its thread is free. The one that runs is the question itself.
        ended = lambda stats: stats["queries_cancelled"] == 1 and stats["queries_running"] == 1
        stats = self.wait_for("its end", ended)
        self.assertLess(query_cpu_s(pid) - begin, CANCELLED_CPU_S)
        self.assertEqual((0, 0), (stats["queries_waiting"], stats["queries_stopped"]))
        # It is logged after it is counted, and by way of the supervisor.
        self.running.wait_for_log("slow query ms=")
        self.running.wait_for_log('text="sum til 1000000;sum til')

    def test_threads_of_queries_stand_back_for_the_one_that_takes_rows(self):
        pid = self.running.pid("rdb")
        # Two threads that evaluate, one that helps, one that frees memory: each sets its value when it first runs.
        own = os.nice(0)
        stack.wait_until(lambda: sum(nice == 7 for nice, _ in threads(pid)) == 4, 60, "niceness")
        self.assertEqual(own, threads(pid)[0][0])

    def test_a_request_that_is_too_large_is_answered_and_skipped(self):
        with self.running.connect("rdb") as client:
            with self.assertRaisesRegex(QError, "limit: request of 18000014 bytes, at most 16777216"):
                client.call(b" " * 18_000_000)
            self.assertEqual(2, client.call(b"1+1"))

    def test_bounds_are_those_of_the_configuration(self):
        with self.running.connect("rdb") as client:
            with self.assertRaisesRegex(QError, "limit: 80000000 more bytes after 0, at most 67108864 for a query"):
                client.call(b"til 10000000")
            lazy = self.running.connect("rdb")
            request(lazy, b"til 6000000")
            self.wait_for("an answer", lambda stats: stats["unread_bytes"] > 48_000_000)
            with self.assertRaisesRegex(QError, "limit: answer of 48000014 bytes, .* unread, at most 83886080"):
                client.call(b"til 6000000")
            stats = self.wait_for("the end", lambda stats: stats["clients_cut_off"] == 1 and not stats["unread_bytes"])
            self.assertEqual(2, stats["queries_failed"])
            self.assertEqual(6_000_000, len(client.call(b"til 6000000")))
            lazy.close()
        self.running.wait_for_log("client cut off, it does not read")

    def test_many_clients_that_come_and_go_in_the_middle_of_answers_leave_nothing(self):
        before = stack.rss_bytes(self.running.pid("rdb"))
        for _ in range(30):
            client = self.running.connect("rdb")
            request(client, b"til 4000000")
            request(client, b"til 4000000")
            client.socket.recv(1000)
            client.close()
        self.wait_for("their end", lambda stats: stats["clients"] <= 3 and not stats["unread_bytes"])
        stack.wait_until(lambda: stack.rss_bytes(self.running.pid("rdb")) < before + (200 << 20), 60, "memory")
        self.assertEqual(0, self.running.stop(), self.running.log_text())


if __name__ == "__main__":
    stack.main()

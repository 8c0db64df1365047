#!/usr/bin/env python3
"""Thousands of connections: 1,000 idle ones, 1,000 that come and go, 2,000 that come at once, and more than are allowed.
Capture goes on beside them, and nothing of them is left."""

import os
import pathlib
import re
import resource
import socket
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kdb_ipc, stack  # noqa: E402
from tests.support.kdb_ipc import SYNC, encode, message  # noqa: E402

ROWS = 40_000
MIB = 1 << 20

CONFIG = f"""
[tickerplant]
batch_ms = 10
max_connections = 3000
[[rdb]]
[feed]
rate = 10000
rows = {ROWS}
[monitor]
query_ms = 100
progress_s = 0
"""


def raise_descriptor_limit(needed):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise unittest.SkipTest(f"{hard} descriptors are allowed, {needed} needed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, needed), hard))


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def connected(port):
    """Returns a socket that has sent its login and a request, and waits for neither."""
    client = socket.create_connection(("127.0.0.1", port), timeout=60)
    client.sendall(b"many:\x03\x00" + message(SYNC, encode(b"1+1")))
    return client


def answers(client):
    """Returns whether the login and the request are answered; False if the connection ends."""
    try:
        data = b""
        while len(data) < 1 + 17:
            part = client.recv(64)
            if not part:
                return False
            data += part
        return data[9:] == encode(2)
    except OSError:
        return False


class ManyConnectionsTest(stack.StackTest):
    def setUp(self):
        super().setUp()
        raise_descriptor_limit(6000)

    def churn(self, port, count):
        for _ in range(count):
            try:
                with kdb_ipc.Connection(port, timeout=60) as connection:
                    self.assertEqual(2, connection.call(b"1+1"))
            except BaseException as error:  # pylint: disable=broad-except
                self.errors.append(error)
                raise

    def test_capture_goes_on_beside_them(self):
        running = self.start_stack(CONFIG)
        names = ("tickerplant", "rdb")
        before = {name: descriptors(running.pid(name)) for name in names}
        self.errors = []
        idle = [kdb_ipc.Connection(running.port(name), timeout=60) for _ in range(500) for name in names]
        threads = [threading.Thread(target=self.churn, args=(running.port(name), 125)) for _ in range(4) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        self.assertEqual([], self.errors)
        memory = {name: stack.rss_bytes(running.pid(name)) for name in names}
        at_once = [connected(running.port("tickerplant")) for _ in range(2000)]
        self.assertTrue(all(answers(client) for client in at_once))
        for name in names:
            grown = stack.rss_bytes(running.pid(name)) - memory[name]
            print(f"{name}: {grown // MIB} MiB more with 2,000 connections", file=sys.stderr)
            self.assertLess(grown, 400 * MIB)
        self.assertTrue(all(connection.call(b"1+1") == 2 for connection in idle[:20] + idle[-20:]))
        for client in (*at_once, *(connection.socket for connection in idle)):
            client.close()
        for name in names:
            stack.wait_until(lambda name=name: descriptors(running.pid(name)) <= before[name] + 2, 60, f"the end of {name}'s connections")
        stack.wait_until(lambda: running.count("trade") + running.count("quote") == ROWS, 60, "the rows")
        self.assertEqual(0, running.stop(), running.log_text())

    def test_too_many_are_refused_and_the_others_are_served(self):
        running = self.start_stack("[tickerplant]\nmax_connections = 40\n[[rdb]]\n")
        port = running.port("tickerplant")
        clients = [connected(port) for _ in range(100)]
        served = [client for client in clients if answers(client)]
        self.assertLessEqual(len(served), 40)
        self.assertGreaterEqual(len(served), 35)  # The rdb has one, others may have been about to end.
        running.wait_for_log(re.compile(r'connection refused .* reason="40 connections, the bound is 40"'))
        for client in clients:
            client.close()

        def has_place():
            with connected(port) as client:
                return answers(client)
        stack.wait_until(has_place, 60, "a place")
        self.assertEqual(0, running.stop(), running.log_text())


if __name__ == "__main__":
    unittest.main()

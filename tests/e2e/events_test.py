#!/usr/bin/env python3
"""Server-sent events at /events, which live pages show: every process sends its statistics about once a second, the
monitor those of the whole stack; listeners are bounded, log in, lose their events with their rights, and cost nothing
when they do not read."""

import base64
import http.client
import json
import pathlib
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import stack  # noqa: E402

CONFIG = """
[tickerplant]
batch_ms = 5
[[rdb]]
[hdb]
[aggengine]
[feed]
rate = 2000
[monitor]
query_ms = 100
"""
LISTENERS_MAX = 32
SOURCES = {"tickerplant": ".u.stats", "rdb": ".rdb.stats", "hdb": ".hdb.stats", "feed": ".feed.stats",
           "aggengine": ".agg.stats", "monitor": ".monitor.stats"}


class Events:
    """A listener: the response's status and headers, and one event after the other."""

    def __init__(self, port, headers=None, timeout=30):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
        self.connection.request("GET", "/events", headers=headers or {})
        self.response = self.connection.getresponse()
        self.status = self.response.status

    def next(self):
        """Returns the data of the next event; None at the end."""
        data = None
        while True:
            line = self.response.readline().decode()
            if line == "":
                return None
            if line == "\n":
                return json.loads(data)
            if line.startswith("data: "):
                data = line[len("data: "):]

    def close(self):
        self.connection.close()
        self.response.close()


class EventsTest(stack.StackTest):
    def listen(self, port, **options):
        events = Events(port, **options)
        self.addCleanup(events.close)
        return events

    def test_every_process_sends_its_statistics(self):
        running = self.start_stack(CONFIG)
        for role, source in SOURCES.items():
            events = self.listen(running.port(role))
            self.assertEqual((200, "text/event-stream", "no-store"),
                             (events.status, events.response.headers["Content-Type"],
                              events.response.headers["Cache-Control"]))
            first, second = events.next(), events.next()
            for event in (first, second):
                self.assertEqual((role, role), (event["role"], event["name"]))
                self.assertIn(source, event["facts"])
                self.assertGreater(event["resident_bytes"], 1_000_000)
            self.assertGreater(second["ms"], first["ms"])
            events.close()

    def test_the_monitor_sends_what_the_stack_says_and_the_last_minutes(self):
        running = self.start_stack(CONFIG)
        stack.wait_until(lambda: running.ask("monitor", ".monitor.stats[]")["samples"] > 30, 60, "samples")
        events = self.listen(running.port("monitor"))
        history = events.next()["latency"]
        self.assertEqual(["trade_lag", "quote_lag"], history["names"][:2])
        self.assertEqual(["asof", "query"], history["names"][-2:])
        self.assertGreaterEqual(len(history["seconds"]), 2)

        def whole():
            event = events.next()
            return event if all(one["connected"] and one["ms"] for one in event["stack"]) else None
        event = stack.wait_until(whole, 60, "answers of all processes")
        self.assertLessEqual(len(event["latency"]["seconds"]), 3)
        self.assertEqual(["feed", "tickerplant", "rdb", "aggengine", "hdb"], [one["role"] for one in event["stack"]])
        for one in event["stack"]:
            self.assertEqual(running.port(one["name"]), one["port"])
            self.assertIn(SOURCES[one["role"]], one["facts"])
            self.assertEqual("", one["error"])
        # The rows in an event are those that the process had at that time.
        before = running.ask("tickerplant", ".u.stats[]")["rows"]
        # Earlier events may be waiting.
        rows = []

        def is_later():
            rows.append(events.next()["stack"][1]["facts"][".u.stats"]["rows"])
            return rows[-1] > before
        stack.wait_until(is_later, 60, "an event of later rows")
        self.assertEqual(sorted(rows), rows)

    def test_the_monitor_asks_nobody_while_nobody_looks(self):
        running = self.start_stack(CONFIG)
        stack.wait_until(lambda: running.count("trade") > 0, 60, "trades")
        clients = lambda: running.ask("hdb", ".hdb.stats[]")["clients"]  # noqa: E731
        idle = clients()
        events = self.listen(running.port("monitor"))
        stack.wait_until(lambda: clients() > idle, 60, "a question to the hdb")
        events.close()
        stack.wait_until(lambda: clients() == idle, 60, "its end")

    def test_listeners_are_bounded(self):
        running = self.start_stack(CONFIG)
        port = running.port("rdb")
        listeners = [self.listen(port) for _ in range(LISTENERS_MAX)]
        for events in listeners:
            self.assertEqual(200, events.status)
            events.next()
        refused = self.listen(port)
        self.assertEqual(503, refused.status)
        self.assertIn(str(LISTENERS_MAX), refused.response.read().decode())
        listeners[0].close()
        stack.wait_until(lambda: self.listen(port).status == 200, 60, "the place of one that left")

    def test_a_listener_that_does_not_read_costs_nothing(self):
        running = self.start_stack(CONFIG)
        port, pid = running.port("tickerplant"), running.pid("tickerplant")
        reader = self.listen(port)
        reader.next()
        sockets = []
        for _ in range(LISTENERS_MAX - 1):
            deaf = socket.socket()
            self.addCleanup(deaf.close)
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.connect(("127.0.0.1", port))
            deaf.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            sockets.append(deaf)
        for _ in range(3):
            reader.next()
        before, rows = stack.rss_bytes(pid), running.ask("tickerplant", ".u.stats[]")["rows"]
        begin = time.monotonic()
        for _ in range(10):
            self.assertIsNotNone(reader.next())
        self.assertGreaterEqual(time.monotonic() - begin, 8)
        self.assertLess(stack.rss_bytes(pid) - before, 32 << 20)
        self.assertGreater(running.ask("tickerplant", ".u.stats[]")["rows"], rows)

    def test_the_end_of_the_process_ends_the_events(self):
        running = self.start_stack(CONFIG)
        events = self.listen(running.port("rdb"))
        events.next()
        running.stop()
        while events.next() is not None:
            pass

    def test_events_need_a_login_and_end_with_the_user(self):
        users = self.folder / "users"

        def user(*arguments, password=None):
            subprocess.run([stack.PROGRAM, "user", *arguments, "--users", str(users)], check=True, timeout=60,
                           input=password, text=True, stdout=subprocess.DEVNULL)
        user("add", "boss", "--query", "*", "--administer", password="corner office-4\n")
        user("add", "reader", "--metrics", password="reads on-5\n")
        user("add", "asker", "--query", "*", password="why so-6\n")
        running = self.start_stack(f'[security]\nusers = "{users}"\n' + CONFIG)
        port = running.port("rdb")
        refused = self.listen(port)
        self.assertEqual((401, True), (refused.status, "Basic" in refused.response.headers["WWW-Authenticate"]))

        def login(text):
            return {"Authorization": "Basic " + base64.b64encode(text.encode()).decode()}
        self.assertEqual(401, self.listen(port, headers=login("reader:wrong")).status)
        self.assertEqual(403, self.listen(port, headers=login("asker:why so-6")).status)
        reader, boss = (self.listen(port, headers=login(text)) for text in ("reader:reads on-5", "boss:corner office-4"))
        self.assertEqual((200, 200), (reader.status, boss.status))
        reader.next()
        user("remove", "reader")
        while reader.next() is not None:
            pass
        self.assertIsNotNone(boss.next())
        # The monitor logs in at the others as a process of the stack.
        events = self.listen(running.port("monitor"), headers=login("boss:corner office-4"))
        stack.wait_until(lambda: all(one["ms"] for one in events.next()["stack"]) or None, 60, "answers")

    def test_other_methods_and_pages_of_other_sites_are_refused(self):
        running = self.start_stack(CONFIG)
        connection = http.client.HTTPConnection("127.0.0.1", running.port("rdb"), timeout=30)
        connection.request("POST", "/events", body="")
        self.assertEqual(405, connection.getresponse().status)
        connection.close()
        self.assertEqual(403, self.listen(running.port("rdb"), headers={"Origin": "https://evil.example"}).status)


if __name__ == "__main__":
    stack.main()

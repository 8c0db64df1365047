#!/usr/bin/env python3
"""Browsers, curl and WebSockets on the port of a process: the same answers as over kdb+ IPC."""

import csv
import http.client
import io
import json
import pathlib
import resource
import shutil
import socket
import subprocess
import sys
import time
import urllib.parse
from xml.etree import ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kdb_ipc, stack  # noqa: E402
from tests.support.kdb_ipc import ASYNC, SYNC, encode, message  # noqa: E402
from tests.support.web_socket import BINARY, CLOSE, TEXT, WebSocket  # noqa: E402

CONFIG = """
[tickerplant]
batch_ms = 5
[[rdb]]
query_threads = 2
http_origins = ["https://grafana.example"]
[[rdb]]
name = "silent"
http = false
[feed]
rate = 2000
start = true
"""
TABLE = '([]sym:`a`b`;px:1.5 0n 2;note:("<b>";"x,y";"\\"q\\""))'
SHEET = "{urn:schemas-microsoft-com:office:spreadsheet}"
LONG_QUERY = "sum til 1000000;" * 60_000


class HttpTest(stack.StackTest):

    def setUp(self):
        super().setUp()
        # As on many machines: a soft limit that browsers and notebooks reach, and a much higher hard limit.
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, limits[0]), limits[1]))
        try:
            self.running = self.start_stack(CONFIG)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        self.port = self.running.port("rdb")

    def ask(self, target, method="GET", body=None, headers=None, port=None):
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=30)
        try:
            connection.request(method, target, body=body, headers=headers or {})
            response = connection.getresponse()
            return response.status, response, response.read().decode()
        finally:
            connection.close()

    def query(self, suffix, text, **options):
        return self.ask(f"/{suffix}?{urllib.parse.quote(text)}", **options)

    def test_a_table_is_the_same_in_every_form(self):
        status, response, text = self.query(".csv", TABLE)
        self.assertEqual((200, "text/csv; charset=utf-8"), (status, response.headers["Content-Type"]))
        self.assertEqual([["sym", "px", "note"], ["a", "1.5", "<b>"], ["b", "", "x,y"], ["", "2", '"q"']],
                         list(csv.reader(io.StringIO(text))))
        status, response, text = self.query("day.json", TABLE)
        self.assertEqual((200, "application/json"), (status, response.headers["Content-Type"]))
        self.assertEqual('attachment; filename="day.json"', response.headers["Content-Disposition"])
        self.assertEqual([{"sym": "a", "px": 1.5, "note": "<b>"}, {"sym": "b", "px": None, "note": "x,y"},
                          {"sym": None, "px": 2, "note": '"q"'}], json.loads(text))
        status, _, text = self.query(".txt", TABLE)
        self.assertEqual((200, ["sym px  note", '---------------', 'a   1.5 "<b>"']), (status, text.splitlines()[:3]))
        status, response, text = self.query(".xml", TABLE)
        self.assertEqual((200, "text/xml; charset=utf-8"), (status, response.headers["Content-Type"]))
        self.assertEqual([["a", "1.5", "<b>"], ["b", None, "x,y"], [None, "2", '"q"']],
                         [[cell.text for cell in row] for row in ElementTree.fromstring(text)])
        status, response, text = self.query("day.xls", TABLE)
        self.assertEqual((200, "application/vnd.ms-excel"), (status, response.headers["Content-Type"]))
        cells = [["".join(cell.itertext()) for cell in row]
                 for row in ElementTree.fromstring(text).iter(SHEET + "Row")]
        self.assertEqual([["sym", "px", "note"], ["a", "1.5", "<b>"], ["b", "", "x,y"], ["", "2", '"q"']], cells)
        status, response, text = self.query("", TABLE)
        self.assertEqual((200, "text/html; charset=utf-8"), (status, response.headers["Content-Type"]))
        self.assertIn('<td class="n">1.5</td><td>&quot;&lt;b&gt;&quot;</td>', text)
        self.assertEqual("no-store", response.headers["Cache-Control"])
        self.assertEqual("nosniff", response.headers["X-Content-Type-Options"])
        status, response, text = self.query("", TABLE, method="HEAD")
        self.assertEqual((200, ""), (status, text))
        self.assertGreater(int(response.headers["Content-Length"]), 500)
        self.assertEqual((200, "[0,1,2]\n"), self.ask("/.json", "POST", "til 3")[::2])

    def test_pages_lead_to_what_is_there(self):
        # The rdb answers before it has subscribed, and has its tables only from then on.
        stack.wait_until(lambda: self.running.count("trade") > 0, 60, "trades")
        status, response, text = self.ask("/")
        self.assertEqual((200, "text/html; charset=utf-8"), (status, response.headers["Content-Type"]))
        self.assertIn("script-src 'self'; style-src 'self'; connect-src 'self'", response.headers["Content-Security-Policy"])
        self.assertIn('<noscript><p class="note">This view needs JavaScript. <a href="/?">', text)
        status, response, text = self.ask("/page/live.js")
        self.assertEqual((200, "text/javascript; charset=utf-8"), (status, response.headers["Content-Type"]))
        self.assertIn('new EventSource("/events")', text)
        self.assertEqual((404, 405), (self.ask("/page/nothing.js")[0], self.ask("/page/live.js", "POST", "1")[0]))
        status, _, text = self.ask("/?")
        self.assertEqual(200, status)
        self.assertIn('<a href="/?select%5B-100%5D%20from%20quote">quote</a>', text)
        self.assertEqual((200, '["quote","trade"]\n'), self.ask("/.json")[::2])
        self.assertEqual(200, self.ask("/?select%5B-100%5D%20from%20quote")[0])
        self.assertEqual("time,sym,price,size,stop,cond,ex", self.ask("/trade.csv")[2].splitlines()[0])
        status, _, text = self.ask("/", "POST", "q=1+\r\n1\r\n", {"Content-Type": "text/plain"})
        self.assertEqual((200, True), (status, "<pre>2\n</pre>" in text))

    def test_the_console_and_its_forms(self):
        for path, kind in (("/console", "text/html; charset=utf-8"), ("/page/console.js", "text/javascript; charset=utf-8"),
                           ("/page/console_chart.js", "text/javascript; charset=utf-8"),
                           ("/page/console_editor.js", "text/javascript; charset=utf-8"),
                           ("/page/console_table.js", "text/javascript; charset=utf-8"),
                           ("/page/console.css", "text/css; charset=utf-8")):
            for process in ("rdb", "tickerplant", "feed"):
                status, response, text = self.ask(path, port=self.running.port(process))
                self.assertEqual((200, kind), (status, response.headers["Content-Type"]), path)
                self.assertIn("script-src 'self'", response.headers["Content-Security-Policy"])
                self.assertGreater(len(text), 500)
        status, _, text = self.query(".grid", "([]a:9007199254740993 0N)")
        self.assertEqual((200, {"kind": "table", "rows": 2, "shown": 2, "cut": 0, "keys": 0, "columns": [
            {"name": "a", "type": "j", "cells": ["9007199254740993", ""]}]}), (status, json.loads(text)))
        self.assertEqual({"error": "'prise", "position": 7}, json.loads(self.query(".grid", "select prise from trade")[2]))
        self.assertEqual({"error": "'type", "position": 2}, json.loads(self.query(".json", "2*value\"1+`a\"")[2]))
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("POST", "/.parquet", TABLE)
        response = connection.getresponse()
        file = response.read()
        self.assertEqual((200, b"PAR1", b"PAR1"), (response.status, file[:4], file[-4:]))
        connection.close()
        self.assertEqual((400, True), (lambda got: (got[0], "column a" in got[2]))(self.query(".parquet", "([]a:(1 2;3 4))")))

    def test_errors_say_what_and_leave_the_connection_open(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        for suffix, expected in ((".json", '{"error":"\'type","position":1}\n'), (".txt", "'type\n"), (".csv", "'type\n")):
            connection.request("GET", f"/{suffix}?1+%60a")
            response = connection.getresponse()
            self.assertEqual((400, expected), (response.status, response.read().decode()))
        connection.request("GET", "/?1+%60a")
        response = connection.getresponse()
        self.assertIn("&#39;type", response.read().decode())
        connection.request("GET", "/.txt?1+1")
        self.assertEqual(b"2\n", connection.getresponse().read())
        connection.close()
        self.assertEqual(404, self.ask("/favicon.ico")[0])
        self.assertEqual((405, "GET, HEAD, POST"),
                         (lambda got: (got[0], got[1].headers["Allow"]))(self.ask("/", "DELETE")))
        self.assertEqual(413, self.ask("/", "POST", "1" * 1_100_000)[0])
        self.assertEqual(413, self.ask("/?" + "1" * 70_000)[0])
        status, _, text = self.query(".txt", "til 20000000")
        self.assertEqual((413, "the answer has more than 64 MiB; ask for less of it\n"), (status, text))
        self.assertEqual(200, self.query(".txt", "1+1")[0])

    def test_pages_from_elsewhere_may_not_ask(self):
        for headers in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Host": "evil.example"}):
            self.assertEqual(403, self.query(".txt", "1+1", headers=headers)[0], headers)
        own = {"Origin": f"http://127.0.0.1:{self.port}", "Sec-Fetch-Site": "same-origin"}
        self.assertEqual(200, self.query(".txt", "1+1", headers=own)[0])
        with WebSocket(self.port, ["Origin: http://evil.example"]) as client:
            self.assertEqual(403, client.status)

    def test_pages_of_a_configured_origin_may_open_web_sockets(self):
        headers = ["Origin: https://grafana.example", "Sec-Fetch-Site: cross-site"]
        with WebSocket(self.port, headers) as client:
            self.assertEqual(101, client.status)
            client.send(TEXT, b"1+1")
            self.assertEqual((TEXT, b"2"), client.receive())
        with WebSocket(self.running.port("tickerplant"), headers) as client:
            self.assertEqual(403, client.status)
        asked = self.query(".txt", "1+1", headers={"Origin": "https://grafana.example"})
        self.assertEqual(403, asked[0])

    def test_a_question_with_an_id_is_answered_with_it(self):
        def ask(client, question, reference):
            client.send(BINARY, message(ASYNC, encode(kdb_ipc.Dict({"i": question, "ID": reference}))))

        def answer(client):
            return kdb_ipc.decode(client.receive()[1][8:])

        with WebSocket(self.port) as client:
            ask(client, b"til 3", 4711.0)
            ask(client, b"1+`a", 4712.0)
            ask(client, [b"{x+y}", 1, 2], 4713)
            ask(client, b"([]a:1 2)", "symbol")
            ask(client, b".z.ws", 4714)  # Grafana's "Save & test" looks for this in the text of the handler.
            client.send(TEXT, b"5")
            self.assertEqual({"o": [0, 1, 2], "ID": 4711.0}, answer(client))
            self.assertEqual({"o": "'type", "ID": 4712.0}, answer(client))
            self.assertEqual({"o": 3, "ID": 4713}, answer(client))
            self.assertEqual({"o": {"a": [1, 2]}, "ID": "symbol"}, answer(client))
            self.assertIn(b"ds:-9!x;", answer(client)["o"])
            self.assertEqual((TEXT, b"5"), client.receive())
            ask(client, b"1", [1, 2])
            self.assertEqual(CLOSE, client.receive()[0])

    def test_what_is_no_http_is_refused_and_harms_nobody(self):
        for sent in (b"GET / HTTP/9.9\r\n\r\n", b"GET /\r\n\r\n", b"GET / HTTP/1.1\r\nA\r\n\r\n",
                     b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n", b"POST / HTTP/1.1\r\n\x00\xff\r\n\r\n",
                     b"GET /?" + b"%" * 80_000, b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"):
            with socket.create_connection(("127.0.0.1", self.port), 30) as client:
                client.sendall(sent)
                received = client.recv(4096)
                self.assertTrue(received.startswith((b"HTTP/1.1 400", b"HTTP/1.0 400", b"HTTP/1.1 413")), (sent, received))
        with socket.create_connection(("127.0.0.1", self.port), 30) as client:
            client.sendall(b"GET /?1 HT")  # Disconnects in the middle.
        self.assertEqual(200, self.query(".txt", "1+1")[0])

    def test_clients_of_other_protocols_read_a_line(self):
        line = "tickstack: expected kdb+ IPC or HTTP on this port, found "
        psql = shutil.which("psql")
        if psql:
            done = subprocess.run([psql, f"host=127.0.0.1 port={self.port} user=x dbname=x"], capture_output=True,
                                  stdin=subprocess.DEVNULL, text=True, check=False, timeout=60)
            self.assertIn("FATAL:  " + line + "PostgreSQL's protocol", done.stderr)
        ssh = shutil.which("ssh")
        if ssh:
            done = subprocess.run([ssh, "-F", "/dev/null", "-p", str(self.port), "x@127.0.0.1"], capture_output=True,
                                  stdin=subprocess.DEVNULL, text=True, check=False, timeout=60)
            self.assertIn(line + "SSH", done.stderr)
        for sent, found in ((b"*1\r\n$4\r\nPING\r\n", "Redis' protocol"), (b"select 1;\n", "a line of text"),
                            (b"", "nothing within 3000 ms")):
            with socket.create_connection(("127.0.0.1", self.port), 30) as client:
                client.sendall(sent)
                received = b""
                while part := client.recv(4096):
                    received += part
                self.assertIn((line + found).encode(), received)
        # The packet of an error as MySQL's clients read it: length, number, 0xff, code, text.
        self.assertEqual((len(received) - 4, 0, 0xFF, 1043), (int.from_bytes(received[:3], "little"), received[3],
                                                              received[4], int.from_bytes(received[5:7], "little")))

    def test_a_client_that_leaves_does_not_keep_its_query(self):
        with socket.create_connection(("127.0.0.1", self.port), 30) as client:
            body = LONG_QUERY.encode()
            client.sendall(b"POST /.txt HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            stats = lambda: self.running.ask("rdb", ".rdb.stats[]")  # noqa: E731
            stack.wait_until(lambda: stats()["queries_running"] == 2, 60, "the query")
        stack.wait_until(lambda: stats()["queries_cancelled"] == 1, 60, "its end")

    def test_frames_are_messages_and_texts_are_expressions(self):
        with WebSocket(self.port) as client:
            self.assertEqual(101, client.status)
            for kind in (ASYNC, SYNC):  # c.js sends the former, and expects an answer.
                client.send(BINARY, message(kind, encode(b"til 3")))
                frame_kind, frame = client.receive()
                self.assertEqual((BINARY, [0, 1, 2]), (frame_kind, kdb_ipc.decode(frame[8:])))
            client.send(BINARY, message(SYNC, encode(b"1+`a")))
            self.assertEqual("'type", kdb_ipc.decode(client.receive()[1][8:]))
            client.send(TEXT, b"([]a:1 2)")
            self.assertEqual((TEXT, b'[{"a":1},{"a":2}]'), client.receive())
            client.send(TEXT, b"1+`a")
            self.assertEqual((TEXT, b'{"error":"type"}'), client.receive())
            # Several pending questions are answered in order.
            for i in range(200):
                client.send(TEXT if i % 2 else BINARY, b"%d" % i if i % 2 else message(ASYNC, encode(b"%d" % i)))
            for i in range(200):
                kind, frame = client.receive()
                self.assertEqual(i, int(frame) if kind == TEXT else kdb_ipc.decode(frame[8:]))
            large = b"sum " + b"1 " * 200_000
            client.send(TEXT, large)
            self.assertEqual((TEXT, b"200000"), client.receive())
            client.send(BINARY, b"\x01\x00\x00\x00\xff\x00\x00\x00\x0a")
            self.assertEqual(CLOSE, client.receive()[0])

    def test_a_browser_can_subscribe(self):
        with WebSocket(self.running.port("tickerplant")) as client:
            client.send(BINARY, message(ASYNC, encode([b".u.sub", "trade", ""])))
            table, schema = kdb_ipc.decode(client.receive()[1][8:])
            self.assertEqual(("trade", "time"), (table, list(schema)[0]))
            kind, frame = client.receive()
            name, table, rows = kdb_ipc.decode(frame[8:])
            self.assertEqual((BINARY, "upd", "trade"), (kind, name, table))

    def test_more_clients_than_the_soft_limit_of_descriptors(self):
        soft, hard = resource.prlimit(self.running.pid("rdb"), resource.RLIMIT_NOFILE)
        self.assertEqual(hard, soft)
        clients = [self.running.connect("rdb") for _ in range(300)]
        self.assertEqual((200, "2\n"), self.query(".txt", "1+1")[::2])
        for client in clients:
            client.close()

    def test_it_can_be_switched_off(self):
        port = self.running.port("silent")
        with socket.create_connection(("127.0.0.1", port), 60) as client:
            client.sendall(b"GET / HTTP/1.1\r\n\r\n")
            received = b""
            while part := client.recv(1000):
                received += part
            self.assertTrue(received.startswith(b"HTTP/1.1 400 "), received)
            self.assertIn(b"this port does not answer HTTP: set http = true", received)

    def test_a_stack_that_stops_does_not_wait_for_browsers(self):
        idle = socket.create_connection(("127.0.0.1", self.port), 30)
        idle.sendall(b"GET /?1+1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertTrue(idle.recv(4096).startswith(b"HTTP/1.1 200"))
        with WebSocket(self.port) as client:
            self.assertEqual(101, client.status)
            begin = time.monotonic()
            self.assertEqual(0, self.running.stop())
            self.assertLess(time.monotonic() - begin, 30)
        idle.close()


if __name__ == "__main__":
    stack.main()

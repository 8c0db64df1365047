#!/usr/bin/env python3
"""Messages of crypto exchanges that a feed receives live: a server of the test replays recordings over TCP and TLS. It
cuts connections, is late, slow, silent and wrong, and the feed is killed. Rows are compared with an independent decoder;
what was not received is in `gap`."""

import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import threading
import time
import tomllib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import market_rows, stack, web_socket_server, websocket_messages  # noqa: E402
from tests.support.certificates import Certificates  # noqa: E402

TABLES = ["quote", "level", "trade", "gap"]
EXAMPLE = (stack.ROOT / "examples/websocket_live.toml").read_text(encoding="utf-8")
FEED = tomllib.loads(EXAMPLE)["feed"]
OLD = "crypto-ws/cryptofeed-2021-04-17/"
BOOKS = OLD + "KRAKEN.ws.50.0"
STREAMS = {
    "coinbase": ["COINBASE.ws.28.0"],
    "deribit": ["DERIBIT.ws.30.0"],
    "kraken": ["KRAKEN.ws.48.0", "KRAKEN.ws.49.0", "KRAKEN.ws.50.0"],
}
# What the server sends before it is asked for books, and the request of one.
REQUESTED = {
    "binance": (["BINANCE.ws.1.0", "BINANCE.http.0.0"], "symbol="),
    "bitstamp": (["BITSTAMP.ws.19.0", "BITSTAMP.http.18.0"], "/order_book/"),
}
MISSING = 1998  # A message of BOOKS that changes one of the ten best prices, so that the checksum notices.
SOME_ROWS = 8_500  # BOOKS gives 11,755, of which 7,483 are snapshots.
EPOCH = 946_684_800_000_000_000


class Sent:
    """The records that a client has got, as the independent decoder takes them. `recv` counts them; `times` has when each
    was sent."""

    def __init__(self, venue):
        self.venue, self.records, self.times, self.lock = venue, [], [], threading.Lock()

    def add(self, kind, text="", address=""):
        with self.lock:
            self.times.append(time.time_ns() - EPOCH)
            self.records.append(websocket_messages.Record(kind, len(self.records), self.venue, address, text))

    def rows(self):
        return websocket_messages.Recording(self.venue, self.records).rows


def okx_messages(seed, count):
    """A snapshot and updates of a random book, trades and best prices, and the book at the end."""
    rng, book, seq, time_ms, texts = random.Random(seed), {"B": {}, "S": {}}, 100, 1_700_000_000_000, []

    def message(channel, data, **more):
        texts.append(json.dumps({"arg": {"channel": channel, "instId": "BTC-USDT"}, **more, "data": [data | {"ts": str(time_ms)}]}))

    def row(side):
        price = rng.randrange(900, 1000) if side == "B" else rng.randrange(1000, 1100)
        size = rng.choice([0, rng.randrange(1, 10_000)])
        book[side].pop(price / 10, None)
        if size:
            book[side][price / 10] = size / 1000
        return [f"{price / 10:.2f}", f"{size / 1000:.3f}", "0", "1"]

    def rows(most):
        return {key: [row(side) for _ in range(rng.randrange(most))] for side, key in (("B", "bids"), ("S", "asks"))}
    texts.append(json.dumps({"event": "subscribe", "arg": {"channel": "books", "instId": "BTC-USDT"}}))
    message("books", rows(50) | {"checksum": 0, "prevSeqId": -1, "seqId": seq}, action="snapshot")
    for number in range(count):
        previous, time_ms = seq, time_ms + rng.randrange(100)
        kind = rng.randrange(5)
        if kind == 0:
            message("trades", {"instId": "BTC-USDT", "tradeId": str(number), "px": "100.0", "sz": "0.5", "side": rng.choice(["buy", "sell"])})
        elif kind == 1:
            message("bbo-tbt", {"asks": [["100.1", "2", "0", "1"]], "bids": [], "seqId": seq})
        elif kind == 2:  # Nothing has changed.
            message("books", {"asks": [], "bids": [], "checksum": 0, "prevSeqId": seq, "seqId": seq}, action="update")
        else:
            seq = rng.randrange(10) if number % 500 == 499 else seq + rng.randrange(1, 5)
            message("books", rows(4) | {"checksum": 0, "prevSeqId": previous, "seqId": seq}, action="update")
    seq, previous = seq + 1_000, seq
    for each in book.values():
        each[95.0 if each is book["B"] else 105.0] = 1.0
    message("books", {"bids": [["95", "1", "0", "1"]], "asks": [["105", "1", "0", "1"]], "checksum": 0, "prevSeqId": previous, "seqId": seq},
            action="update")
    return texts, book


class WebsocketLiveTest(stack.StackTest):
    def start(self, venue, address, more="", name="stack"):
        config = EXAMPLE.replace(FEED["lines"][0], address).replace(f'venue = "{FEED["venue"]}"', f'venue = "{venue}"')
        assert address in config
        return self.start_stack(config + more, name=name)

    def serve(self, script, **options):
        server = web_socket_server.Server(script, **options)
        self.addCleanup(server.close)
        return server

    def texts(self, *names):
        return [record.text for record in websocket_messages.merged([self.fixture(name) for name in names])
                if record.kind == "message"]

    def stats(self, running):
        return running.ask("feed", ".feed.stats[]")

    def counted(self, running, name, at_least=1):
        return stack.wait_until(lambda: self.stats(running)["messages"].get(name, 0) >= at_least, what=name)

    def compare(self, running, sent):
        """The rows are those of the records that were sent, received in order, and within seconds after they were sent."""
        expected = sent.rows()
        for table, rows in expected.items():
            stack.wait_until(lambda table=table, rows=rows: running.count(table) >= len(rows), 60, f"the rows of {table}")
        received = {}
        for table in ("trade", "quote", "level", "gap"):
            for row, recv in zip(expected.get(table, []), running.ask("rdb", f"exec recv from {table}")):
                number = row["recv"]
                if row.get("cond") != "snapshot" or number not in received:
                    received.setdefault(number, recv)
                self.assertEqual(received[number], recv, (table, row))
        order = sorted(received)
        for before, after in zip(order, order[1:]):
            self.assertLessEqual(received[before], received[after])
        for number, recv in received.items():
            self.assertLess(abs(recv - sent.times[number]), 30 * 10**9)
        found = running.ask("rdb", "select time,first_time,last_time,closed_time from gap")
        for number, row in enumerate(expected.get("gap", [])):
            for column in found:
                when = received.get(row[column], found[column][number])
                self.assertEqual(when, found[column][number], (column, row))
                self.assertLess(abs(when - sent.times[row[column]]), 30 * 10**9, (column, row))
                row[column] = when
        for rows in expected.values():
            for row in rows:
                row["recv"] = received[row["recv"]]
        market_rows.compare(self, running, TABLES, expected, sent.venue)
        return expected

    def test_messages_of_venues_with_snapshots_in_the_stream(self):
        for venue, names in STREAMS.items():
            with self.subTest(venue=venue):
                texts, sent, subscribed = self.texts(*(OLD + name for name in names)), Sent(venue), []

                def script(peer, texts=texts, sent=sent, subscribed=subscribed):
                    sent.add("connect")
                    subscribed += [peer.receive(), peer.receive(), peer.path, peer.headers["user-agent"]]
                    for text in texts:
                        peer.send(text)
                        sent.add("message", text)
                    peer.serve_pings()
                server = self.serve(script)
                running = self.start(venue, server.address("/v2?x=1"), name=venue)
                stack.wait_until(lambda texts=texts, sent=sent: len(sent.records) == len(texts) + 1, what="all messages")
                expected = self.compare(running, sent)
                self.assertNotIn("gap", expected)
                self.assertEqual(FEED["subscribe"].strip().split("\n"), subscribed[:2])
                self.assertEqual("/v2?x=1", subscribed[2])
                self.assertRegex(subscribed[3], r"tickstack/\d")
                line = server.address("/v2")
                # The last messages give no rows, so they may come after all rows.
                stack.wait_until(lambda running=running, line=line, count=len(texts): self.stats(running)["line_packets"][line] >= count,
                                 what="the last message")
                stats = self.stats(running)
                self.assertEqual("publishing", stats["state"])
                self.assertEqual({line: len(texts)}, stats["line_packets"])
                self.assertEqual({line: sum(len(text.encode()) for text in texts)}, stats["line_bytes"])
                self.assertEqual({line: 0}, stats["line_bad"])
                self.assertEqual(0, running.stop(), running.log_text())

    def test_messages_of_venues_whose_snapshots_are_requested(self):
        for venue, (names, before) in REQUESTED.items():
            with self.subTest(venue=venue):
                records = list(websocket_messages.merged([self.fixture(OLD + name) for name in names]))
                books = {}
                for record in records:
                    if record.kind == "answer":
                        books.setdefault(record.address.partition(before)[2].partition("&")[0], record)
                sent, asked, begun, done, ready = Sent(venue), set(), [], threading.Event(), threading.Event()

                def sym_of(text, venue=venue):
                    """Of an update of a book."""
                    value = websocket_messages.parse(text)
                    if venue == "binance":
                        data = value.get("data", {})
                        return data["s"] if data.get("e") == "depthUpdate" else None
                    return value["channel"].removeprefix("diff_order_book_") if value["event"] == "data" else None

                def answer(path, books=books, asked=asked, before=before):
                    sym = path.partition(before)[2].partition("&")[0]
                    asked.add(sym)
                    return 200, books[sym].text

                def script(peer, records=records, sent=sent, asked=asked, books=books, begun=begun, venue=venue, done=done, ready=ready):
                    """After the first update of a symbol, waits until its book was requested and decoded."""
                    sent.add("connect")
                    ready.wait(60)
                    name = "depth" if venue == "binance" else "order_book"
                    for record in records:
                        if record.kind != "message":
                            continue
                        peer.send(record.text)
                        sent.add("message", record.text)
                        sym = sym_of(record.text)
                        if sym not in books or sym in begun:
                            continue
                        begun.append(sym)
                        stack.wait_until(lambda: self.stats(running)["messages"].get(name, 0) == len(begun), what="the book")
                        self.assertEqual(set(begun), asked)
                        sent.add("answer", books[sym].text, books[sym].address)
                    done.set()
                    peer.serve_pings()
                server = self.serve(script, answer=answer)
                path = "/depth?limit=1000&" if venue == "binance" else ""
                listed = [server.address(f"{path}{before}{sym}", http=True) for sym in books]
                running = self.start(venue, server.address(), f"snapshot = {listed}\n", name=venue)
                ready.set()
                self.assertTrue(done.wait(120))
                expected = self.compare(running, sent)
                self.assertGreater(len(begun), 8)
                self.assertNotIn("gap", expected)
                self.assertGreater(len([row for row in expected["level"] if row["cond"] == ""]), 100)
                self.assertEqual(0, running.stop(), running.log_text())

    def replay(self, texts, sent, ready=None):
        """A script: sends all messages on each connection, as long as there is one."""
        def script(peer):
            if ready:
                ready.wait(60)
            peer.receive()
            sent.add("connect")
            for text in texts:
                peer.send(text)
                sent.add("message", text)
            peer.serve_pings()
        return script

    def wait_for_all(self, sent, count):
        stack.wait_until(lambda: len(sent.records) == count, 60, "all messages")

    def test_tls_compression_and_fragments(self):
        certificates = Certificates(self.folder)
        context = web_socket_server.ssl.SSLContext(web_socket_server.ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates.path("server.pem"), certificates.path("server.key"))
        texts, sent, offered = self.texts(BOOKS), Sent("kraken"), []

        def script(peer):
            peer.receive()
            sent.add("connect")
            offered.append(peer.deflate is not None)
            for number, text in enumerate(texts):
                kind = web_socket_server.BINARY if number % 3 else web_socket_server.TEXT
                peer.send(text, kind, fragments=1 + number % 4)
                if number % 100 == 0:
                    peer.send_bytes(peer.frame(web_socket_server.PING, b"alive"))
                    while peer.receive_frame() != (web_socket_server.PONG, b"alive"):
                        pass
                sent.add("message", text)
            peer.serve_pings()
        server = self.serve(script, context=context, deflates=True)
        running = self.start("kraken", server.address(), f'ca = "{certificates.path("ca.pem")}"\n')
        self.wait_for_all(sent, len(texts) + 1)
        self.compare(running, sent)
        self.assertEqual([True], offered)

    def test_a_certificate_that_is_wrong(self):
        certificates = Certificates(self.folder)
        certificates.issue("elsewhere", "DNS:exchange.example")
        certificates.issue_root("other")
        for name, ca, said in (("server", "other", "unable to get local issuer certificate"), ("elsewhere", "ca", "IP address mismatch")):
            with self.subTest(name=name):
                context = web_socket_server.ssl.SSLContext(web_socket_server.ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(certificates.path(f"{name}.pem"), certificates.path(f"{name}.key"))
                server = self.serve(lambda peer: peer.serve_pings(), context=context)
                running = self.start("kraken", server.address(), f'ca = "{certificates.path(ca + ".pem")}"\n', name=name)
                self.counted(running, "failed_connections", 2)
                running.wait_for_log(said)
                self.assertEqual(0, server.connects)
                self.assertEqual(0, running.stop())

    def test_connections_that_are_cut_at_random_places(self):
        texts, sent, rng, cuts = self.texts(BOOKS), Sent("kraken"), random.Random(5), []

        def script(peer):
            peer.receive()
            sent.add("connect")
            cut = rng.randrange(len(texts)) if len(cuts) < 5 else len(texts)
            for number, text in enumerate(texts[:cut + 1]):
                data = peer.frames(text)
                if number == cut:
                    cuts.append(cut)
                    peer.send_bytes(data[:rng.randrange(len(data))])
                    return
                peer.send_bytes(data)
                sent.add("message", text)
            peer.serve_pings()
        server = self.serve(script)
        running = self.start("kraken", server.address())
        stack.wait_until(lambda: len(cuts) == 5 and sent.records[-1].text == texts[-1], 60, "the last connection")
        expected = self.compare(running, sent)
        self.assertEqual(5, len([row for row in expected["gap"] if row["closed"] == "connect"]))
        counts = self.stats(running)["messages"]
        self.assertEqual((6, 5), (counts["connections"], counts["lost_connections"]))
        self.assertNotIn("bad_checksums", counts)

    def test_a_message_that_is_missing_makes_a_new_connection(self):
        """The checksum of the book is wrong then, and only another snapshot makes it right."""
        texts, sent = self.texts(BOOKS), Sent("kraken")

        def script(peer):
            peer.receive()
            sent.add("connect")
            for number, text in enumerate(texts):
                if server.connects == 1 and number == MISSING:
                    continue
                peer.send(text)
                sent.add("message", text)
            peer.serve_pings()
        server = self.serve(script)
        running = self.start("kraken", server.address())
        self.counted(running, "connections", 2)
        stack.wait_until(lambda: sent.records[-1].text == texts[-1] and server.connects == 2, what="the last message")
        stack.wait_until(lambda: running.count("gap"), what="a gap")
        gaps = stack.wait_until(lambda: (found := running.ask("rdb", "select from gap")) and len(found["sym"]) == 2 and found,
                                what="the gaps")
        self.assertEqual(websocket_messages.parse(texts[MISSING])[-1], gaps["sym"][0])
        self.assertEqual((["connect", "connect"], ["kraken", "kraken"]), (list(gaps["closed"]), list(gaps["session"])))
        counts = self.stats(running)["messages"]
        self.assertEqual((1, 1), (counts["bad_checksums"], counts["lost_connections"]))
        stack.wait_until(lambda: self.stats(running)["messages"]["checksums"] > 4_269, what="the second connection")

    def test_a_made_stream_of_okx(self):
        texts, book = okx_messages(seed=7, count=3_000)
        sent = Sent("okx")
        running = self.start("okx", self.serve(self.replay(texts, sent)).address(), name="whole")
        self.wait_for_all(sent, len(texts) + 1)
        self.assertNotIn("gap", self.compare(running, sent))
        self.assertEqual(0, running.stop())

        def chained(text):
            data = websocket_messages.parse(text)["data"][0]
            return "prevSeqId" in data and int(data["seqId"]) > int(data["prevSeqId"])
        removed = next(number for number in range(len(texts) // 2, len(texts)) if chained(texts[number]))

        def script(peer):
            peer.receive()
            for number, text in enumerate(texts):
                if server.connects > 1 or number != removed:
                    peer.send(text)
            peer.serve_pings()
        server = self.serve(script)
        running = self.start("okx", server.address(), name="gap")
        stack.wait_until(lambda: running.count("gap") == 2, what="the gaps")
        last = websocket_messages.parse(texts[-1])["data"][0]["seqId"]
        stack.wait_until(lambda: running.ask("rdb", f"count select from level where seq={last},cond=`"), what="the last update")
        gaps = running.ask("rdb", "select sym,first_seq,last_seq,closed from gap")
        missing = websocket_messages.parse(texts[removed])["data"][0]
        self.assertEqual((["BTC-USDT", ""], [int(missing["prevSeqId"]) + 1, None], [int(missing["seqId"]), None], ["connect"] * 2),
                         tuple(list(gaps[column]) for column in ("sym", "first_seq", "last_seq", "closed")))
        found = running.ask("rdb", "select sym,side,price,size,cond from level")
        rows = [dict(zip(found, row)) for row in zip(found["sym"], found["side"].decode(), *list(found.values())[2:])]
        for side in "BS":
            self.assertEqual(book[side], websocket_messages.book(rows, "BTC-USDT", side))

    def test_a_server_that_is_late(self):
        texts, sent = self.texts(BOOKS)[:200], Sent("kraken")
        port = stack.reserve_port(self)
        running = self.start("kraken", f"ws://127.0.0.1:{port}/")
        self.counted(running, "failed_connections", 2)
        running.wait_for_log("connect: Connection refused")
        self.serve(self.replay(texts, sent), port=port)
        self.wait_for_all(sent, len(texts) + 1)
        self.assertNotIn("gap", self.compare(running, sent))

    def test_a_server_that_refuses(self):
        texts, sent = self.texts(BOOKS)[:200], Sent("kraken")
        server = self.serve(self.replay(texts, sent))
        server.refusal = (503, "busy")
        running = self.start("kraken", server.address())
        self.counted(running, "failed_connections", 2)
        running.wait_for_log("upgrade: expected 101 Switching Protocols, found 503 X")
        server.refusal = None
        self.wait_for_all(sent, len(texts) + 1)
        self.assertNotIn("gap", self.compare(running, sent))

    def test_a_server_that_is_slow(self):
        texts, sent = [text for text in self.texts(BOOKS) if len(text) < 400][:40], Sent("kraken")

        def script(peer):
            peer.receive()
            sent.add("connect")
            for text in texts:
                web_socket_server.slowly(peer, peer.frames(text))
                sent.add("message", text)
            peer.serve_pings()
        # All messages take longer than this, each one much less.
        running = self.start("kraken", self.serve(script).address(), "silence_s = 4\n")
        self.wait_for_all(sent, len(texts) + 1)
        self.assertNotIn("gap", self.compare(running, sent))

    def test_a_server_that_is_silent(self):
        texts, sent = self.texts(BOOKS)[:200], Sent("kraken")

        def script(peer):
            if server.connects == 1:
                peer.receive()
                sent.add("connect")
                silent.wait(120)  # Answers no ping either.
                return
            self.replay(texts, sent)(peer)
        silent = threading.Event()
        server = self.serve(script)
        running = self.start("kraken", server.address(), "silence_s = 6\n")
        self.wait_for_all(sent, len(texts) + 2)
        running.wait_for_log("nothing was received for 6000 ms")
        self.assertEqual(1, len(self.compare(running, sent)["gap"]))
        # One that answers pings is not silent.
        time.sleep(13)
        self.assertEqual(2, server.connects)
        silent.set()

    def test_what_does_not_fit(self):
        """Each connection sends something else that is wrong; the last one is right."""
        texts, sent = self.texts(BOOKS)[:300], Sent("kraken")
        huge = web_socket_server.struct.pack(">BBQ", 0x81, 127, (32 << 20) + 1)
        wrong = [b"\x83\x00", b"\xc1\x01x", b"\x81\x81\x00\x00\x00\x00x", huge + b"x" * 100, b"\x81\x02\xff\xff"]
        said = ["illegal opcode", "illegal reserved bits", "was masked", f"a message has more than {32 << 20} bytes", "not valid utf8"]

        def script(peer):
            peer.receive()
            sent.add("connect")
            if server.connects <= len(wrong):
                for text in texts[:20]:
                    peer.send(text)
                    sent.add("message", text)
                peer.send_bytes(wrong[server.connects - 1])
            elif server.connects == len(wrong) + 1:
                peer.send("no json")
                sent.add("message", "no json")
            else:
                for text in texts:
                    peer.send(text)
                    sent.add("message", text)
            peer.serve_pings()
        server = self.serve(script)
        running = self.start("kraken", server.address())
        stack.wait_until(lambda: server.connects == len(wrong) + 2 and sent.records[-1].text == texts[-1], 90, "the last connection")
        expected = self.compare(running, sent)
        self.assertEqual(len(wrong) + 1, len(expected["gap"]))
        self.assertEqual(1, self.stats(running)["messages"]["bad_json"])
        for text in said + ["a message does not fit, and books may be wrong"]:
            running.wait_for_log(text)

    def test_a_feed_that_is_killed_again_and_again(self):
        """The rows of the messages that it had received are there once; the next connection is a gap from the last one on."""
        texts = self.texts(BOOKS)
        connections = []

        def script(peer):
            peer.receive()
            mine = []
            connections.append(mine)
            for text in texts:
                peer.send(text)
                mine.append((text, time.time_ns() - EPOCH))
                time.sleep(0.0002)
            peer.serve_pings()
        running = self.start("kraken", self.serve(script).address())
        first = [number for number, text in enumerate(texts) if text.startswith("[") and '"as"' in text][0]
        sym = websocket_messages.parse(texts[first])[-1]

        stack.wait_until(lambda: running.count("level"), what="levels")

        def rows_of_connection(number):
            return running.ask("rdb", f'exec sum {number}=sums(cond=`clear)&sym=`$"{sym}" from level')
        for number in range(1, 4):
            stack.wait_until(lambda number=number: rows_of_connection(number) > SOME_ROWS, what="some levels")
            running.kill("feed")
        stack.wait_until(lambda: len(connections) == 4 and len(connections[3]) == len(texts), what="all messages")
        stack.wait_until(lambda: self.stats(running)["messages"].get("checksums", 0) == 4_269, what="the last message")
        gaps = stack.wait_until(lambda: (found := running.ask("rdb", "select from gap")) and len(found["sym"]) == 3 and found,
                                what="the gaps")
        # The numbers of the messages say how many of each connection were received.
        sent = Sent("kraken")
        begins = []
        previous = -1
        found = running.ask("rdb", "select seq,sym,cond from level")
        for seq, of, cond in zip(found["seq"], found["sym"], found["cond"]):
            if cond == "clear" and of == sym:
                begins.append(seq - 1 - first)
            self.assertGreaterEqual(seq, previous)
            previous = seq
        self.assertEqual(4, len(begins), begins)
        ends = begins[1:] + [begins[3] + len(texts)]
        for begin, end, mine in zip(begins, ends, connections):
            sent.add("connect")
            for text, when in mine[:end - begin]:
                sent.add("message", text)
                sent.times[-1] = when
        self.compare(running, sent)
        self.assertEqual(["connect"] * 3, list(gaps["closed"]))
        self.assertEqual(0, running.stop(), running.log_text())

    def test_a_tickerplant_that_is_killed_loses_nothing(self):
        texts, sent = self.texts(BOOKS), Sent("kraken")

        def script(peer):
            peer.receive()
            sent.add("connect")
            for text in texts:
                peer.send(text)
                sent.add("message", text)
                time.sleep(0.0002)
            peer.serve_pings()
        running = self.start("kraken", self.serve(script).address())
        for rows in (SOME_ROWS, SOME_ROWS + 1_000):
            stack.wait_until(lambda rows=rows: running.count("level") > rows, what="some levels")
            running.kill("tickerplant")
        self.wait_for_all(sent, len(texts) + 1)
        self.assertNotIn("gap", self.compare(running, sent))

    def test_too_much_is_kept_while_the_tickerplant_hangs(self):
        """There is no connection then; the next one is a gap."""
        texts = self.texts(BOOKS)

        def script(peer):
            peer.receive()
            for text in texts * 20:
                peer.send(text)
            peer.serve_pings()
        server = self.serve(script)
        running = self.start("kraken", server.address(), "keep_mib = 1\nqueue_bytes = 65536\n")
        stack.wait_until(lambda: running.count("level"), what="rows")
        hung = running.pid("tickerplant")
        os.kill(hung, signal.SIGSTOP)
        try:
            running.wait_for_log("messages give no rows")
            connects = server.connects
            time.sleep(0.5)
            self.assertEqual(connects, server.connects)
        finally:
            os.kill(hung, signal.SIGCONT)
        stack.wait_until(lambda: server.connects > connects, 60, "a new connection")
        stack.wait_until(lambda: running.count("gap"), 60, "the gap")
        self.assertEqual("connect", running.ask("rdb", "exec first closed from gap"))

    def test_what_is_refused_by_name(self):
        base = ("feed", "--source", "websocket", "--tickerplant", "localhost:1", "--data", str(self.folder))
        kraken = ["--venue", "kraken"]
        binance = ["--venue", "binance", "--lines", "ws://localhost:1/"]
        for arguments, said in (
                (["--lines", "ws://localhost:1/"], "venue: expected one of binance"),
                ([*kraken, "--lines", "239.1.1.1:5000"], 'lines: expected an address such as wss://host:port/path, found "239.'),
                ([*kraken, "--lines", "https://localhost/"], "lines: expected an address with ws:// or wss://"),
                ([*kraken, "--lines", "ws://localhost:1/,ws://localhost:2/"], "lines: 2, expected one address"),
                ([*kraken, "--lines", "ws://localhost:1/", "--path", "x"], "expected path or lines, found both"),
                ([*kraken, "--lines", "ws://localhost:1/", "--subscribe", "{"], "subscribe: expected a JSON text on each line"),
                ([*kraken, "--lines", "ws://localhost:1/", "--snapshot", "http://x/"], "snapshot: kraken sends books by the websocket"),
                ([*kraken, "--lines", "wss://localhost:1/", "--ca", "/none"], "ca: /none: expected certificates in PEM"),
                ([*binance, "--snapshot", "http://x/depth"], "does not say of which symbol the book is"),
                ([*binance, "--snapshot", "ws://x/depth?symbol=X"], "snapshot: expected an address with http:// or https://"),
                (kraken, "--path is missing")):
            with self.subTest(said=said):
                ran = self.run_program(*base, *arguments)
                self.assertNotEqual(0, ran.returncode)
                self.assertIn(said, ran.stderr)


if __name__ == "__main__":
    stack.main()

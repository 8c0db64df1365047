"""Recorded websocket messages of crypto exchanges independently of the feed: slow, standard library only.

`Recording(venue, records)` makes the rows that docs/feeds/crypto.md promises: `rows` is {table: [{column: value}]}, and
columns that a message does not fill are absent. `read(path)` gives the records of a file, `merged(paths)` those of several.
"""

import bisect
import collections
import datetime
import decimal
import gzip
import json
import re
import subprocess
import zlib

EPOCH = 946_684_800_000_000_000
Record = collections.namedtuple("Record", "kind recv connection address text")


class Digits(str):
    """A number as the message has it."""


def parse(text):
    return json.loads(text, parse_float=Digits, parse_int=Digits)


def nanoseconds(seconds):
    """Of a text of decimal seconds since 1970, since 2000."""
    return int(decimal.Decimal(seconds) * 1_000_000_000) - EPOCH


def iso(text):
    whole, _, fraction = text.removesuffix("Z").partition(".")
    moment = datetime.datetime.fromisoformat(whole).replace(tzinfo=datetime.timezone.utc)
    return int(moment.timestamp()) * 1_000_000_000 + int((fraction + "0" * 9)[:9]) - EPOCH


def content(path):
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    elif data[:4] == b"\x28\xb5\x2f\xfd":
        data = subprocess.run(["zstd", "-dc", str(path)], check=True, capture_output=True).stdout
    return data.decode("utf-8")


def read(path):
    """Yields the records of a file that are messages or connections."""
    for line in content(path).split("\n"):
        if found := re.match(r"(\d+\.\d+): (.*)", line):
            yield Record("message", nanoseconds(found[1]), path.name, "", found[2])
        elif found := re.match(r"(\d+) ([{\[].*)", line):
            yield Record("message", int(found[1]) - EPOCH, path.name, "", found[2])
        elif found := re.match(r"(\S+) (<->|->|<-) (\d+\.\d+)(?:: (.*))?$", line):
            kind = {"<->": "connect", "->": "answer", "<-": "sent"}[found[2]]
            if kind != "sent":
                yield Record(kind, nanoseconds(found[3]), path.name, found[1], found[4] or "")
        elif line.startswith("{"):
            value = parse(line)
            kind = {"recv": "message", "http": "answer", "connect": "connect"}.get(value["t"])
            if kind:
                yield Record(kind, nanoseconds(value["ts"]), value["conn"], value.get("url") or value.get("addr", ""),
                             value.get("data", ""))


def merged(paths):
    """The records of several files, by time of receipt; of equal times, the first file's first."""
    heads = [list(read(path)) for path in paths]
    positions = [0] * len(heads)
    while True:
        left = [(heads[i][positions[i]].recv, i) for i in range(len(heads)) if positions[i] < len(heads[i])]
        if not left:
            return
        _, chosen = min(left)
        yield heads[chosen][positions[chosen]]
        positions[chosen] += 1


class Stream:
    """What is known of the book of a stream."""

    def __init__(self, session, channel, sym):
        self.session, self.channel, self.sym = session, channel, sym
        self.state = "none"  # none, given (by a snapshot that came apart), whole, broken
        self.snapshot = None  # Its number.
        self.last = None      # The number of the last update.
        self.last_recv = None
        self.held = []
        self.gap = None
        self.book = None      # Kraken's.
        self.depth = None


class Recording:
    def __init__(self, venue, records):
        self.rows = collections.defaultdict(list)
        self.counts = collections.Counter()
        self.streams = {}
        self.connections = {}
        self.snapshots = {}  # sym -> (number, time of receipt): by HTTP, before its streams.
        self.numbers = {}    # connection -> sequence_num of Coinbase.
        self.depths = {}     # (connection, sym) -> depth of Kraken 2.
        self.seq = 0
        decode = getattr(self, "_" + venue.partition("-")[0])
        for self.record in records:
            if self.record.kind == "connect":
                self._connect()
                continue
            self.seq += 1
            try:
                value = parse(self.record.text)
            except ValueError:
                self.counts["bad"] += 1
                continue
            decode(value)
            if self.record.kind == "message":
                self.connections[self.record.connection] = self.record.recv
        if self.seq:
            self._close_all("end", lambda stream: True)
        self.rows = dict(self.rows)

    # Rows.

    def _head(self, sym, channel, time=None, seq=None):
        row = {"sym": sym, "channel": channel, "recv": self.record.recv, "seq": self.seq if seq is None else seq}
        return row | ({} if time is None else {"time": time})

    def _trade(self, head, price, size, side, number="", cond=""):
        row = {"price": float(price), "size": float(size), "side": side, "cond": cond, "id": str(number)}
        self.rows["trade"].append(head | row)

    def _quote(self, head, bid, bid_size, ask, ask_size):
        row = dict(head)
        for name, value in (("bid", bid), ("ask", ask)):
            if value is not None and float(value) != 0:
                row[name] = float(value)
        for name, value in (("bsize", bid_size), ("asize", ask_size)):
            if value is not None:
                row[name] = float(value)
        self.rows["quote"].append(row)

    def _levels(self, head, levels, cond=""):
        """levels: (side, price, size, time or None, cond or None)."""
        if cond == "snapshot":
            self.rows["level"].append(head | {"cond": "clear", "complete": not levels})
        for number, (side, price, size, time, own) in enumerate(levels, 1):
            row = head | {"side": side, "price": float(price), "size": float(size), "cond": own or cond,
                          "complete": number == len(levels)}
            self.rows["level"].append(row | ({} if time is None else {"time": time}))

    # Gaps.

    def _stream(self, channel, sym):
        key = (self.record.connection, channel, sym)
        if key not in self.streams:
            stream = self.streams[key] = Stream(*key)
            if sym in self.snapshots:
                stream.state, (stream.snapshot, stream.last_recv) = "given", self.snapshots.pop(sym)
        return self.streams[key]

    def _open_gap(self, stream, first=None, last=None):
        self._close_gap(stream, "gap")
        self.counts["gaps"] += 1
        stream.gap = {"time": self.record.recv, "recv": self.record.recv, "sym": stream.sym, "channel": stream.channel,
                      "session": stream.session, "first_time": stream.last_recv, "last_time": self.record.recv}
        if first is not None:
            stream.gap |= {"seq": first, "first_seq": first, "last_seq": last}

    def _close_gap(self, stream, why):
        if stream.gap:
            self.rows["gap"].append(stream.gap | {"closed": why, "closed_time": self.record.recv})
            stream.gap = None

    def _close_all(self, why, wanted):
        for key in sorted(self.streams):
            if wanted(self.streams[key]):
                self._close_gap(self.streams[key], why)

    def _connect(self):
        name = self.record.connection
        if name in self.connections:
            self._close_all("connect", lambda stream: stream.session == name)
            self.streams = {key: stream for key, stream in self.streams.items() if stream.session != name}
            self.numbers.pop(name, None)
            self._whole_gap(self.connections[name], "connect")
        self.connections[name] = self.record.recv

    def _whole_gap(self, since, why, first=None, last=None):
        self.counts["gaps"] += 1
        row = {"time": self.record.recv, "recv": self.record.recv, "session": self.record.connection, "first_time": since,
               "last_time": self.record.recv, "closed": why, "closed_time": self.record.recv}
        self.rows["gap"].append(row | ({} if first is None else {"seq": first, "first_seq": first, "last_seq": last}))

    # Books whose snapshots come by HTTP.

    def _difference(self, stream, head, previous, last, levels):
        """previous: the number before the update's first; None if the exchange does not tell."""
        if previous is not None and stream.last is not None:
            if last <= stream.last:
                self.counts["repeated"] += 1
                self._levels(head, levels, "unsynced")
                return
            if previous > stream.last:
                self._open_gap(stream, stream.last + 1, previous)
                stream.held = []
                if not (stream.state == "given" and stream.snapshot >= previous):
                    stream.state = "broken"
        if stream.state == "given" and last > stream.snapshot:
            if previous is not None and previous > stream.snapshot:
                self._open_gap(stream, stream.snapshot + 1, previous)
                stream.state = "broken"
            else:
                self._close_gap(stream, "snapshot")
                stream.state = "whole"
        stream.last, stream.last_recv = last, self.record.recv
        if stream.state == "whole":
            self._levels(head, levels)
        else:
            self._levels(head, levels, "unsynced")
            if stream.state != "given":
                stream.held.append((previous, last, head, levels))

    def _snapshot(self, head, number, levels):
        sym = head["sym"]
        streams = [self.streams[key] for key in sorted(self.streams) if key[2] == sym]
        takers = []
        for stream in streams:
            later = [update for update in stream.held if update[1] > number]
            if stream.last is not None and stream.last > number and (stream.state == "whole" or not later):
                continue
            if later and later[0][0] is not None and later[0][0] > number:
                continue
            takers.append((stream, later))
        self._levels(head, levels, "snapshot" if takers or not streams else "unsynced")
        if not takers and streams:
            self.counts["unused_snapshots"] += 1
        if not streams:
            self.snapshots[sym] = (number, self.record.recv)
        for stream, later in takers:
            self._close_gap(stream, "snapshot")
            stream.snapshot, stream.last_recv = number, self.record.recv
            stream.state = "whole" if later else "given"
            stream.held = []
            for _, _, held_head, held_levels in later:
                self._levels(held_head, held_levels)

    # Binance.

    def _binance(self, value):
        def levels(of, bids, asks):
            return [(side, price, size, None, None) for side, key in (("B", bids), ("S", asks)) for price, size, *_ in of[key]]

        data, stream = (value["data"], value["stream"]) if "stream" in value else (value, None)
        time = data.get("T") or data.get("E")
        time = None if time is None else int(time) * 1_000_000 - EPOCH
        kind = data.get("e") or (stream or "").partition("@")[2].partition("@")[0]
        if "lastUpdateId" in data and stream is None:
            found = re.search(r"[?&]symbol=(\w+)", self.record.address)
            if not found:
                syms = {key[2] for key in self.streams}
                assert len(syms) == 1, syms
            number = int(data["lastUpdateId"])
            head = self._head(found[1] if found else syms.pop(), "http", time, number)
            self._snapshot(head, number, levels(data, "bids", "asks"))
        elif kind == "depthUpdate":
            channel = stream or kind
            previous = int(data["pu"]) if "pu" in data else int(data["U"]) - 1
            head = self._head(data["s"], channel, time, int(data["u"]))
            self._difference(self._stream(channel, data["s"]), head, previous, int(data["u"]), levels(data, "b", "a"))
        elif kind == "bookTicker":
            head = self._head(data["s"], stream or kind, time, int(data["u"]))
            self._quote(head, data["b"], data["B"], data["a"], data["A"])
        elif kind in ("trade", "aggTrade"):
            head = self._head(data["s"], stream or kind, time)
            number = data["t" if kind == "trade" else "a"]
            self._trade(head, data["p"], data["q"], "S" if data["m"] else "B", number, "" if kind == "trade" else kind)

    # Bitstamp.

    def _bitstamp(self, value):
        def levels(of):
            return [(side, price, size, None, None) for side, key in (("B", "bids"), ("S", "asks")) for price, size, *_ in of[key]]

        if self.record.kind == "answer":
            found = re.search(r"/order_book/(\w+)", self.record.address)
            if found:
                number = int(value["microtimestamp"])
                self._snapshot(self._head(found[1], "http", number * 1000 - EPOCH), number, levels(value))
            return
        channel, data, event = value.get("channel", ""), value.get("data"), value["event"]
        if event == "trade" and channel.startswith("live_trades_"):
            head = self._head(channel.removeprefix("live_trades_"), channel, int(data["microtimestamp"]) * 1000 - EPOCH)
            self._trade(head, data["price_str"], data["amount_str"], "BS"[int(data["type"])], data["id"])
        elif event == "data" and channel.startswith("diff_order_book_"):
            sym, number = channel.removeprefix("diff_order_book_"), int(data["microtimestamp"])
            head = self._head(sym, channel, number * 1000 - EPOCH)
            self._difference(self._stream(channel, sym), head, None, number, levels(data))

    # Books whose snapshots come in the stream.

    def _start(self, stream, head, levels):
        self._close_gap(stream, "snapshot")
        stream.state, stream.last_recv = "whole", self.record.recv
        self._levels(head, levels, "snapshot")

    def _change(self, stream, head, levels):
        stream.last_recv = self.record.recv
        self._levels(head, levels, "" if stream.state == "whole" else "unsynced")

    # Kraken.

    def _kraken(self, value):
        if isinstance(value, list):
            self._kraken_1(value)
        elif value.get("method") == "subscribe" and value.get("success") and value["result"]["channel"] == "book":
            self.depths[self.record.connection, value["result"]["symbol"]] = int(value["result"].get("depth", 10))
        elif value.get("channel") in ("book", "trade", "ticker"):
            for data in value["data"]:
                self._kraken_2(value["channel"], value["type"], data)

    def _kraken_1(self, value):
        channel, sym, bodies = value[-2], value[-1], value[1:-2]
        if channel.startswith("book-"):
            parts = {key: part for body in bodies for key, part in body.items()}
            stream = self._stream(channel, sym)
            stream.depth = int(channel.removeprefix("book-"))

            def levels(bids, asks):
                return [(side, row[0], row[1], nanoseconds(row[2]), None)
                        for side, key in (("B", bids), ("S", asks)) for row in parts.get(key, [])]

            if "as" in parts or "bs" in parts:
                self._kraken_start(stream, self._head(sym, channel), levels("bs", "as"), None)
            else:
                self._kraken_change(stream, self._head(sym, channel), levels("b", "a"), parts.get("c"))
        elif channel == "trade":
            for price, size, time, side, kind, *_ in bodies[0]:
                self._trade(self._head(sym, channel, nanoseconds(time)), price, size, side.upper(), cond=kind)
        elif channel == "ticker":
            bid, ask = bodies[0]["b"], bodies[0]["a"]
            self._quote(self._head(sym, channel), bid[0], bid[2], ask[0], ask[2])

    def _kraken_2(self, channel, kind, data):
        sym = data["symbol"]
        head = self._head(sym, channel, iso(data["timestamp"]) if "timestamp" in data else None)
        if channel == "trade":
            cond = "snapshot" if kind == "snapshot" else data["ord_type"]
            self._trade(head, data["price"], data["qty"], {"buy": "B", "sell": "S"}[data["side"]], data["trade_id"], cond)
        elif channel == "ticker":
            self._quote(head, data["bid"], data["bid_qty"], data["ask"], data["ask_qty"])
        else:
            levels = [(side, row["price"], row["qty"], None, None)
                      for side, key in (("B", "bids"), ("S", "asks")) for row in data[key]]
            stream = self._stream(channel, sym)
            if kind == "snapshot":
                most = max(len(data["bids"]), len(data["asks"]))
                stream.depth = self.depths.get((self.record.connection, sym)) or next(d for d in (10, 25, 100, 500, 1000) if d >= most)
                self._kraken_start(stream, head, levels, data.get("checksum"))
            else:
                self._kraken_change(stream, head, levels, data.get("checksum"))

    def _kraken_start(self, stream, head, levels, checksum):
        stream.book = {"B": {}, "S": {}}
        for side, price, size, *_ in levels:
            stream.book[side][price] = size
        if self._kraken_check(stream, checksum):
            self._start(stream, head, levels)
        else:
            self._change(stream, head, levels)

    def _kraken_change(self, stream, head, levels, checksum):
        cut = []
        if stream.state == "whole":
            for side, price, size, *_ in levels:
                if float(size) == 0:
                    stream.book[side].pop(price, None)
                else:
                    stream.book[side][price] = size
            for side in "BS":
                for price in self._best(stream, side)[stream.depth:]:
                    del stream.book[side][price]
                    cut.append((side, price, "0", None, "depth"))
            if not self._kraken_check(stream, checksum):
                cut = []
        self._change(stream, head, levels + cut)

    @staticmethod
    def _best(stream, side):
        return sorted(stream.book[side], key=decimal.Decimal, reverse=side == "B")

    def _kraken_check(self, stream, checksum):
        if checksum is None:
            return True
        text = ""
        for side in "SB":
            for price in self._best(stream, side)[:10]:
                text += price.replace(".", "").lstrip("0") + stream.book[side][price].replace(".", "").lstrip("0")
        if zlib.crc32(text.encode()) == int(checksum):
            self.counts["checksums"] += 1
            return True
        self._open_gap(stream)
        stream.state, stream.book = "broken", None
        return False

    # Coinbase.

    def _coinbase(self, value):
        if "channel" in value:
            self._coinbase_advanced(value)
            return
        kind, sym = value["type"], value.get("product_id")
        time = iso(value["time"]) if "time" in value else None
        sides = {"buy": "B", "sell": "S"}
        if kind == "snapshot":
            levels = [(side, price, size, None, None) for side, key in (("B", "bids"), ("S", "asks")) for price, size in value[key]]
            self._start(self._stream("level2", sym), self._head(sym, "level2", time), levels)
        elif kind == "l2update":
            levels = [(sides[side], price, size, None, None) for side, price, size in value["changes"]]
            self._change(self._stream("level2", sym), self._head(sym, "level2", time), levels)
        elif kind == "ticker":
            self._quote(self._head(sym, "ticker", time, int(value["sequence"])), value["best_bid"], value.get("best_bid_size"),
                        value["best_ask"], value.get("best_ask_size"))
        elif kind in ("match", "last_match"):
            side = {"buy": "S", "sell": "B"}[value["side"]]
            self._trade(self._head(sym, "matches", time, int(value["sequence"])), value["price"], value["size"], side,
                        value["trade_id"], kind if kind == "last_match" else "")

    def _coinbase_advanced(self, value):
        channel, number = value["channel"], int(value["sequence_num"])
        if number == 0 and self.record.connection in self.numbers:
            self._connect()
        known = self.numbers.get(self.record.connection)
        if known is not None and number > known[0] + 1:
            for stream in self.streams.values():
                if stream.session == self.record.connection:
                    stream.state = "broken"
            self._whole_gap(known[1], "next", known[0] + 1, number - 1)
        self.numbers[self.record.connection] = (number, self.record.recv)
        whole = iso(value["timestamp"])
        for event in value["events"]:
            if channel == "l2_data":
                sym = event["product_id"]
                levels = [({"bid": "B", "offer": "S"}[update["side"]], update["price_level"], update["new_quantity"],
                           iso(update["event_time"]), None) for update in event["updates"]]
                stream, head = self._stream(channel, sym), self._head(sym, channel, whole, number)
                if event["type"] == "snapshot":
                    self._start(stream, head, levels)
                else:
                    self._change(stream, head, levels)
            elif channel == "market_trades":
                for trade in event["trades"]:
                    head = self._head(trade["product_id"], channel, iso(trade["time"]), number)
                    self._trade(head, trade["price"], trade["size"], {"BUY": "S", "SELL": "B"}[trade["side"]], trade["trade_id"],
                                "snapshot" if event["type"] == "snapshot" else "")
            elif channel in ("ticker", "ticker_batch"):
                for ticker in event["tickers"]:
                    self._quote(self._head(ticker["product_id"], channel, whole, number), ticker["best_bid"],
                                ticker.get("best_bid_quantity"), ticker["best_ask"], ticker.get("best_ask_quantity"))

    # Deribit.

    def _deribit(self, value):
        if value.get("method") != "subscription":
            return
        channel, data = value["params"]["channel"], value["params"]["data"]
        kind = channel.partition(".")[0]
        if kind == "trades":
            for trade in data:
                head = self._head(trade["instrument_name"], channel, int(trade["timestamp"]) * 1_000_000 - EPOCH, int(trade["trade_seq"]))
                self._trade(head, trade["price"], trade["amount"], {"buy": "B", "sell": "S"}[trade["direction"]], trade["trade_id"],
                            trade.get("liquidation", ""))
        elif kind in ("quote", "ticker"):
            head = self._head(data["instrument_name"], channel, int(data["timestamp"]) * 1_000_000 - EPOCH)
            self._quote(head, data["best_bid_price"], data["best_bid_amount"], data["best_ask_price"], data["best_ask_amount"])
        elif kind == "book":
            number = int(data["change_id"])
            levels = [(side, row[-2], "0" if row[0] == "delete" else row[-1], None, None)
                      for side, key in (("B", "bids"), ("S", "asks")) for row in data[key]]
            stream = self._stream(channel, data["instrument_name"])
            head = self._head(stream.sym, channel, int(data["timestamp"]) * 1_000_000 - EPOCH, number)
            if data.get("type", "snapshot") == "snapshot":
                self._start(stream, head, levels)
            else:
                previous = int(data["prev_change_id"])
                if stream.last is not None and number <= stream.last:
                    self.counts["repeated"] += 1
                    self._levels(head, levels, "unsynced")
                    return
                if stream.last is not None and previous > stream.last:
                    self._open_gap(stream, stream.last + 1, previous)
                    stream.state = "broken"
                self._change(stream, head, levels)
            stream.last = number

    # OKX.

    def _okx(self, value):
        if "event" in value:
            return
        channel, sym = value["arg"]["channel"], value["arg"]["instId"]
        for data in value["data"]:
            time = int(data["ts"]) * 1_000_000 - EPOCH
            head = self._head(sym, channel, time, int(data["seqId"]) if "seqId" in data else None)
            if channel in ("trades", "trades-all"):
                self._trade(head, data["px"], data["sz"], {"buy": "B", "sell": "S"}[data["side"]], data["tradeId"])
            elif channel == "tickers":
                self._quote(head, data["bidPx"], data["bidSz"], data["askPx"], data["askSz"])
            elif channel == "bbo-tbt":
                best = [(data[key][0][:2] if data[key] else (None, None)) for key in ("bids", "asks")]
                self._quote(head, *best[0], *best[1])
            elif channel.startswith("books"):
                self._okx_book(self._stream(channel, sym), head, value.get("action", "snapshot"), data)

    def _okx_book(self, stream, head, action, data):
        levels = [(side, row[0], row[1], None, None) for side, key in (("B", "bids"), ("S", "asks")) for row in data[key]]
        if action == "snapshot":
            self._start(stream, head, levels)
        elif stream.last is None or int(data["prevSeqId"]) == stream.last:
            self._change(stream, head, levels)
        elif head["seq"] <= stream.last:
            self.counts["repeated"] += 1
            self._levels(head, levels, "unsynced")
            return
        else:
            self._open_gap(stream, stream.last + 1, int(data["prevSeqId"]))
            stream.state = "broken"
            self._change(stream, head, levels)
        stream.last = head["seq"]


def book(rows, sym, side):
    """The book that the rows of `level` make, as {price: size}: what docs/feeds/crypto.md says about `cond`."""
    levels = {}
    for row in rows:
        if row["sym"] != sym or row["cond"] == "unsynced":
            continue
        if row["cond"] == "clear":
            levels = {}
        elif row["side"] == side and row["size"] == 0:
            levels.pop(row["price"], None)
        elif row["side"] == side:
            levels[row["price"]] = row["size"]
    return levels

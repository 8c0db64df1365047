"""CME's MDP 3.0 independently of the feed: slow, by the schemas' tables of fields, standard library only.

`rows(packets)` gives the rows that docs/feeds/mdp3.md promises, as {table: [{column: value}]}; columns that a message
does not fill are absent. `random_day` makes packets with messages of every template that has rows.
"""

import collections
import datetime
import random
import struct

EPOCH = 946_684_800_000_000_000
NULLS = {"q": (1 << 63) - 1, "i": (1 << 31) - 1, "I": (1 << 32) - 1, "Q": (1 << 64) - 1}

# Entries as formats of struct with names. p is a price (q), x padding, a text.
BOOK = "price:q size:i security:i report:I orders:i level:B action:B kind:c pad:5x"
BOOK_LONG = "price:q size:Q security:i report:I orders:i level:B action:B kind:c pad:1x"
BY_ORDER = "order:Q priority:Q price:q size:i security:i action:B kind:c pad:6x"
SUMMARY = "price:q size:i security:i report:I orders:i side:B action:B id:I pad:2x"
SUMMARY_LONG = "price:q size:Q security:i report:I orders:i id:I side:B action:B pad:6x"
OLD_TRADE = "price:q size:i security:i report:I orders:i id:i side:B action:B pad:2x"
STATISTIC = "price:q security:i report:I flag:B action:B kind:c size:i pad:1x"
STATISTIC_LONG = "price:q size:Q security:i report:I flag:B action:B kind:c pad:5x"
DAILY = "price:q size:i security:i report:I date:H flags:B action:B kind:c pad:7x"
LIMITS = "high:q low:q variation:q security:i report:I"
VOLUME = "size:i security:i report:I action:B pad:3x"
VOLUME_LONG = "size:Q security:i report:I action:B pad:7x"
ROOT = "time:q indicator:B pad:2x"
STATUS = "time:q group:6s asset:6s security:i date:H indicator:B state:B reason:B event:B"
BOOK_ORDER = "order:Q priority:Q size:i entry:B action:B pad:2x"
TRADE_ORDER = "order:Q size:i pad:4x"
DEFINITION = ("indicator:B reports:I action:c time:q status:B channel:h segment:B product:B exchange:4s group:6s asset:6s "
              "symbol:20s security:i kind:6s cfi:6s ")
MATURITY = "year:H month:B day:B week:B "
FUTURE = DEFINITION + MATURITY + "currency:3s settle:3s match:1s low:I high:I tick:q factor:q fraction:3s unit:30s quantity:q"
SPREAD = DEFINITION + MATURITY + "currency:3s sub:5s user:1s match:1s low:I high:I tick:q factor:q"
OPTION = (DEFINITION + "put_call:B " + MATURITY + "currency:3s strike:q strike_currency:3s settle:3s cabinet:q match:1s low:I "
          "high:I tick:q amount:q factor:q rule:4s unit:30s quantity:q")
INCOME = DEFINITION + "currency:3s settle:3s match:1s low:I high:I tick:q factor:q"
EXCHANGE = DEFINITION + "currency:3s settle:3s quoted:3s match:1s low:I high:I tick:q factor:q"
# Template -> root block, entries, order entries.
TEMPLATES = {
    4: (ROOT, "channel:h", None), 12: ("", None, None), 30: (STATUS, None, None), 36: (ROOT, OLD_TRADE, None),
    37: (ROOT, VOLUME, None), 27: (FUTURE, None, None), 29: (SPREAD, None, None), 41: (OPTION, None, None),
    54: (FUTURE, None, None), 55: (OPTION, None, None), 56: (SPREAD, None, None), 57: (INCOME, None, None),
    58: (INCOME, None, None), 63: (EXCHANGE, None, None), 64: (ROOT, BOOK_LONG, BOOK_ORDER),
    65: (ROOT, SUMMARY_LONG, TRADE_ORDER), 66: (ROOT, VOLUME_LONG, None), 67: (ROOT, STATISTIC_LONG, None),
}
for _old, _new, _entry, _orders in ((32, 46, BOOK, BOOK_ORDER), (33, 49, DAILY, None), (34, 50, LIMITS, None),
                                    (35, 51, STATISTIC, None), (42, 48, SUMMARY, TRADE_ORDER), (43, 47, BY_ORDER, None)):
    TEMPLATES[_old] = TEMPLATES[_new] = (ROOT, _entry, _orders)


def _format(fields):
    return "<" + "".join(field.split(":")[1] for field in fields.split())


def _names(fields):
    return [field.split(":")[0] for field in fields.split() if not field.endswith("x")]


def _unpack(fields, data):
    """The fields of a block that may be longer."""
    return dict(zip(_names(fields), struct.unpack_from(_format(fields), data)))


def _pack(fields, values):
    return struct.pack(_format(fields), *(values[name] for name in _names(fields)))


def _group(data, at, fields, padding):
    """Returns the entries of a group, and where it ends."""
    length, count = struct.unpack_from(f"<H{padding}xB", data, at)
    at += 3 + padding
    return [_unpack(fields, data[at + n * length:at + (n + 1) * length]) for n in range(count)], at + length * count


def messages(packet):
    """Yields (template, root, entries, orders) of each known message; None for others."""
    at = 12
    while at < len(packet):
        size, block, template = struct.unpack_from("<HHH", packet, at)
        data = packet[at:at + size]
        at += size
        if template not in TEMPLATES:
            yield None
            continue
        root_fields, entry_fields, order_fields = TEMPLATES[template]
        entries, orders, end = [], [], 10 + block
        root = _unpack(root_fields, data[10:end]) if root_fields else {}
        if entry_fields:
            entries, end = _group(data, end, entry_fields, 0)
        if order_fields and end < len(data):
            orders, end = _group(data, end, order_fields, 5)
        yield template, root, entries, orders


def head(packet):
    return struct.unpack_from("<Iq", packet)


def merged(datagrams, channels):
    """`channels`: destination -> channel. Returns [(channel, seq, time of receipt, packet)], each number once, by
    channel; and the gaps, [(channel, first, last)]."""
    found = collections.defaultdict(dict)
    for when, destination, packet in datagrams:
        if destination in channels:
            found[channels[destination]].setdefault(head(packet)[0], (when, packet))
    gaps, result = [], []
    for channel, packets in found.items():
        expected = min(packets)
        for seq in sorted(packets):
            if seq > expected:
                gaps.append((channel, expected, seq - 1))
            result.append((channel, seq, *packets[seq]))
            expected = seq + 1
    return result, gaps


def _text(value):
    return value.split(b"\0")[0].decode("ascii").rstrip()


def _nullable(value, kind):
    return None if value == NULLS[kind] else value


def _days(value):
    return None if value == 65_535 else value * 86_400_000_000_000 - EPOCH


ACTIONS = ["new", "change", "delete", "delete_thru", "delete_from", "overlay"]
SIDES = {b"0": "B", b"E": "B", b"x": "B", b"1": "S", b"F": "S", b"w": "S"}
BOOKS = {b"E": " implied", b"F": " implied", b"w": " best", b"x": " best"}
STATISTICS = {b"4": "opening", b"7": "session_high", b"8": "session_low", b"9": "vwap", b"N": "highest_bid", b"O": "lowest_offer"}


def rows(packets):
    """`packets`: as `merged` gives them."""
    tables, symbols = collections.defaultdict(list), {}
    for channel, seq, when, packet in packets:
        for message in messages(packet):
            if message is not None:
                _Rows(tables, symbols, {"seq": seq, "recv": when - EPOCH, "channel": channel}, *message).add()
    return {table: found for table, found in tables.items() if found}


class _Rows:
    def __init__(self, tables, symbols, place, template, root, entries, orders):
        self.tables, self.symbols, self.template = tables, symbols, template
        self.root, self.entries, self.orders = root, entries, orders
        self.scale = 10**7 if template < 46 else 10**9
        self.place = place | ({"time": root["time"] - EPOCH} if "time" in root else {})

    def row(self, table, security=None, **values):
        sym = {} if security is None else {"sym": self.symbols.get(security, str(security))}
        self.tables[table].append({name: value for name, value in (self.place | sym | values).items() if value is not None})

    def price(self, value):
        return None if value == NULLS["q"] else value / self.scale

    def size(self, entry):
        return _nullable(entry["size"], "Q" if self.template >= 64 else "i")

    def add(self):
        handler = {4: self.reset, 30: self.status, 33: self.daily, 49: self.daily, 34: self.limits, 50: self.limits,
                   35: self.statistics, 51: self.statistics, 67: self.statistics, 37: self.volume, 66: self.volume, 32: self.book, 46: self.book, 64: self.book,
                   43: self.by_order, 47: self.by_order, 36: self.trades, 42: self.trades, 48: self.trades, 65: self.trades}
        if "cfi" in self.root:
            self.define()
        elif self.template in handler:
            handler[self.template]()

    def reset(self):
        self.row("status", kind="channel", state="reset")
        self.row("level", size=0, cond="reset", complete=True)
        self.row("order", action="R")

    def status(self):
        root = self.root
        values = {"kind": "trading", "security": root["security"]}
        if root["security"] == NULLS["i"]:
            group = _text(root["group"])
            values = {"kind": "group" if group else "product", "sym": group or _text(root["asset"])}
        values |= {"state": "" if root["state"] == 255 else str(root["state"]), "reason": str(root["reason"]),
                   "at": _days(root["date"])}
        self.row("status", **values)
        if root["event"]:
            self.row("status", **(values | {"kind": "event", "state": str(root["event"])}))

    def statistic(self, entry, kind, action, price=None, size=None, **values):
        deleted = action == 2
        self.row("statistic", entry["security"], kind=kind, action="D" if deleted else "A", price=None if deleted else price,
                 size=None if deleted else size, **values)

    def daily(self):
        for entry in self.entries:
            kind = {b"6": "settlement", b"W": "fixing", b"B": "cleared_volume", b"C": "open_interest"}[entry["kind"]]
            figure = {"size": self.size(entry)}
            if entry["kind"] in (b"6", b"W"):
                figure = {"price": self.price(entry["price"]), "cond": f"{entry['flags']:02x}"}
            self.statistic(entry, kind, entry["action"], at=_days(entry["date"]), **figure)

    def volume(self):
        for entry in self.entries:
            self.statistic(entry, "volume", entry["action"], size=_nullable(entry["size"], "Q" if self.template == 66 else "i"))

    def limits(self):
        for entry in self.entries:
            for kind, name in (("upper_limit", "high"), ("lower_limit", "low"), ("price_variation", "variation")):
                self.statistic(entry, kind, 0, price=self.price(entry[name]))

    def statistics(self):
        for entry in self.entries:
            kind = STATISTICS[entry["kind"]]
            if kind == "opening" and entry["flag"] == 5:
                kind = "indicative_opening"
            self.statistic(entry, kind, entry["action"], price=self.price(entry["price"]))

    def book(self):
        for number, entry in enumerate(self.entries, 1):
            complete = number == len(self.entries) and self.root["indicator"] & 0x94 != 0
            if entry["kind"] == b"J":
                self.row("level", entry["security"], size=0, complete=complete, cond="reset")
                continue
            self.row("level", entry["security"], side=SIDES[entry["kind"]], price=self.price(entry["price"]),
                     size=0 if entry["action"] in (2, 3, 4) else self.size(entry), orders=_nullable(entry["orders"], "i"),
                     complete=complete, cond=f"{ACTIONS[entry['action']]} {entry['level']}{BOOKS.get(entry['kind'], '')}")
        for order in self.orders:
            entry = self.entries[order["entry"] - 1]
            self.row("order", entry["security"], action="AMD"[order["action"]], side=SIDES.get(entry["kind"], " "),
                     price=self.price(entry["price"]), size=_nullable(order["size"], "i"), id=order["order"])

    def by_order(self):
        for entry in self.entries:
            if entry["kind"] == b"J":
                self.row("order", entry["security"], action="R")
                continue
            self.row("order", entry["security"], action="AMD"[entry["action"]], side=SIDES[entry["kind"]],
                     price=self.price(entry["price"]), size=_nullable(entry["size"], "i"), id=_nullable(entry["order"], "Q"))

    def trades(self):
        for entry in self.entries:
            identity = entry["id"] if self.template == 36 else _nullable(entry["id"], "I") or None
            values = {"price": self.price(entry["price"]), "size": self.size(entry), "id": identity}
            if entry["action"] == 2:
                self.row("trade_break", entry["security"], **values)
                continue
            self.row("trade", entry["security"], side={1: "B", 2: "S"}.get(entry["side"]),
                     cond="change" if entry["action"] else "", **values)
        owners = [entry for entry in self.entries for _ in range(entry["orders"])] if self.orders else []
        for entry, order in zip(owners, self.orders):
            if order["order"]:
                self.row("order", entry["security"], action="E", price=self.price(entry["price"]), size=order["size"],
                         id=order["order"])

    def define(self):
        root = self.root
        values = {name: _text(root[field]) for name, field in (("sym", "symbol"), ("kind", "kind"), ("market", "exchange"),
                                                               ("underlying", "asset"), ("currency", "currency"))}
        if root["action"] == b"D":
            self.symbols.pop(root["security"], None)
        else:
            self.symbols[root["security"]] = values["sym"]
        if "year" in root:
            try:
                day = datetime.date(root["year"], root["month"], 1 if root["day"] in (0, 255) else root["day"])
                values["expiry"] = (day - datetime.date(2000, 1, 1)).days * 86_400_000_000_000
            except ValueError:
                pass
        factor = self.price(root["factor"])
        self.row("instrument", id=root["security"], tick=self.price(root["tick"]), strike=self.price(root.get("strike", NULLS["q"])),
                 multiplier=self.price(root.get("quantity", NULLS["q"])),
                 flags=f"{_text(root['cfi'])} {factor:g} {root['action'].decode()}", **values)


def message(template, root, groups=b"", version=9):
    return struct.pack("<HHHHH", 10 + len(root) + len(groups), len(root), template, 1, version) + root + groups


def _entries(entries, padding):
    return struct.pack(f"<H{padding}xB", len(entries[0]) if entries else 0, len(entries)) + b"".join(entries)


class _Maker:
    """Makes messages with fields that are drawn at random."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.securities = list(range(100, 110))

    def value(self, name, code):
        rng = self.rng
        if code == "q":
            return NULLS["q"] if rng.random() < 0.1 else rng.randrange(-10**12, 10**13)
        chosen = {"security": self.securities, "date": [17_000, 65_535], "indicator": [0, 4, 128, 132, 144], "side": [0, 1, 2, 255],
                  "flag": [0, 5, 255], "level": range(1, 11), "state": [17, 21, 255], "reason": range(8), "event": [0, 0, 1, 5],
                  "year": [2_018, 65_535], "month": range(1, 13), "day": [1, 28, 255], "group": [b"ES", b""]}
        if name in chosen:
            return rng.choice(list(chosen[name]))
        if code.endswith("s"):
            return bytes(rng.choice(b"ABC12") for _ in range(rng.randrange(1, int(code[:-1]) + 1)))
        if code == "c":
            return b"?"
        if rng.random() < 0.1 and code in NULLS and name in ("size", "orders", "id", "priority"):
            return NULLS[code]
        return rng.randrange(1, 100 if code in "Bb" else 10_000)

    def fields(self, layout, **given):
        drawn = {field.split(":")[0]: self.value(*field.split(":")) for field in layout.split() if not field.endswith("x")}
        return drawn | given

    def make(self, template, now):
        rng = self.rng
        root_fields, entry_fields, order_fields = TEMPLATES[template]
        root = self.fields(root_fields, time=now)
        if "cfi" in root:
            root |= {"action": rng.choice([b"A", b"M", b"D"]), "symbol": b"SYM%d" % root["security"], "factor": 10**7}
        if template == 30 and rng.random() < 0.5:
            root["security"] = NULLS["i"]
        groups, entries = b"", []
        if entry_fields:
            for _ in range(1 if template == 4 else rng.randrange(1, 5)):
                entry = self.fields(entry_fields)
                book = entry_fields in (BOOK, BOOK_LONG)
                kinds = {STATISTIC: list(STATISTICS), STATISTIC_LONG: list(STATISTICS), DAILY: [b"6", b"B", b"C", b"W"]}
                entry["kind"] = rng.choice(kinds.get(entry_fields, [*SIDES, b"J"]))
                entry["action"] = rng.randrange(6 if book else 3)
                if order_fields == TRADE_ORDER:
                    entry["orders"] = rng.randrange(4)
                entries.append(entry)
            later = bytes(rng.choice([0, 0, 3]))
            groups = _entries([_pack(entry_fields, entry) + later for entry in entries], 0)
        if order_fields and rng.random() < 0.7:
            if order_fields == TRADE_ORDER:
                orders = [self.fields(order_fields, size=rng.randrange(1, 100), order=rng.choice([0, rng.randrange(1 << 62)]))
                          for entry in entries for _ in range(entry["orders"])]
            else:
                orders = [self.fields(order_fields, entry=rng.randrange(1, len(entries) + 1), action=rng.randrange(3))
                          for _ in range(rng.randrange(4))]
            groups += _entries([_pack(order_fields, order) for order in orders], 5)
        block = _pack(root_fields, root) + bytes(rng.choice([0, 0, 4])) if root_fields else b""
        return message(template, block, groups, 8 if template < 46 else 12)


def random_day(packets, seed, begin):
    """Yields packets with the numbers from 1, sent at `begin` (ns since 1970) and a millisecond after each other."""
    maker = _Maker(seed)
    rng = maker.rng
    for seq in range(1, packets + 1):
        now = begin + seq * 1_000_000
        body = b""
        for _ in range(rng.randrange(1, 5)):
            template = rng.choice([32, 46, 46, 42, 48, *TEMPLATES, 200])
            body += message(200, b"root") if template == 200 else maker.make(template, now - rng.randrange(1_000_000))
        yield struct.pack("<Iq", seq, now) + body

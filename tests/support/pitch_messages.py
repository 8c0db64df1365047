"""Cboe's multicast PITCH and TCP PITCH independently of the feed: slow, by the specifications' tables of fields,
standard library only.

`rows(messages, ...)` and `line_rows(data, date)` give the rows that docs/feeds/pitch.md promises, as
{table: [{column: value}]}; columns that a message does not fill are absent. `random_day` makes messages of every type
of a market.
"""

import collections
import datetime
import random
import zoneinfo

EPOCH_S = 946_684_800
EPOCH = EPOCH_S * 1_000_000_000

# The fields behind length and type, by market and type: a choice of layouts for each. A width with the letter a is
# text, p a price; o is the time offset.
ADD_SHORT = "o order:8 side:a1 qty:2 symbol:a6 price:p2"
ADD_LONG = "o order:8 side:a1 qty:4 symbol:a6 price:p8"
EXPANDED = "o order:8 side:a1 qty:4 symbol:a8 price:p8 flags:1 mpid:a4"
EXECUTED = "o order:8 qty:4 execution:8"
AT_PRICE = "o order:8 qty:4 remaining:4 execution:8 price:p8"
TRADE_SHORT = "o order:8 side:a1 qty:2 symbol:a6 price:p2 execution:8"
TRADE_LONG = "o order:8 side:a1 qty:4 symbol:a6 price:p8 execution:8"
TRADE_EXPANDED = "o order:8 side:a1 qty:4 symbol:a8 price:p8 execution:8"
MODIFY_LONG, MODIFY_SHORT = "o order:8 qty:4 price:p8", "o order:8 qty:2 price:p2"
AUCTION = "o symbol:a8 kind:a1 reference:p8 buy:4 sell:4 indicative:p8 only:p8"
EVERYWHERE = {
    0x25: ["o order:8 qty:4"], 0x26: ["o order:8 qty:2"], 0x29: ["o order:8"], 0x2C: ["o execution:8"], 0x2D: ["o"],
    0x31: ["o symbol:a8 state:a1 reason:a3"], 0x97: ["o"],
}
EQUITIES = EVERYWHERE | {
    0x20: ["seconds:4"], 0x21: [ADD_LONG + " flags:1"], 0x22: [ADD_SHORT + " flags:1"], 0x23: [EXECUTED], 0x24: [AT_PRICE],
    0x27: [MODIFY_LONG + " flags:1"], 0x28: [MODIFY_SHORT + " flags:1"], 0x2A: [TRADE_LONG], 0x2B: [TRADE_SHORT],
    0x2F: [EXPANDED, EXPANDED + " customer:a1"], 0x30: [TRADE_EXPANDED], 0x95: [AUCTION],
    0x96: ["o symbol:a8 kind:a1 price:p8 qty:4"], 0x98: ["o symbol:a8 state:a1"],
}
OPTIONS = EQUITIES | {
    0x20: ["seconds:4", "seconds:4 epoch:4"], 0x23: [EXECUTED + " cond:a1"], 0x24: [AT_PRICE + " cond:a1"],
    0x2A: [TRADE_LONG + " cond:a1"], 0x2B: [TRADE_SHORT + " cond:a1"],
    0x2E: ["symbol:a6 osi:a21 cond:a1", "symbol:a6 osi:a21 cond:a1 underlying:a8"],
    0x2F: [EXPANDED, EXPANDED + " customer:a1", EXPANDED + " customer:a1 client:a4", EXPANDED + " customer:a1 client:a9"],
    0x30: [TRADE_EXPANDED, TRADE_EXPANDED + " cond:a1"],
    0xAE: ["o auction:8"], 0xB1: ["midnight:4 seconds:4 rest:8"], 0xBC: ["o"], 0xBD: ["o"],
    0xD1: [AUCTION + " state:a1 low:p8 high:p8"],
}
FUTURES = EVERYWHERE | {
    0x20: ["seconds:4 epoch:4"], 0x21: [ADD_LONG], 0x22: [ADD_SHORT], 0x23: [EXECUTED + " cond:a1"], 0x27: [MODIFY_LONG],
    0x28: [MODIFY_SHORT], 0x2A: [TRADE_LONG + " cond:a1"], 0x2B: [TRADE_SHORT + " cond:a1"],
    0xB1: ["midnight:4 seconds:4 rest:8"], 0xB9: ["o symbol:a6 date:4 price:p8 state:a1"],
    0xBA: ["o symbol:a6 date:4 interest:4 high:p8 low:p8 open:p8 close:p8 volumes:a12 flags:1"],
    0xBB: ["o symbol:a6 epoch:4 report:a6 flags:1 date:4 size:2 listing:a1 tick:p8 legs:1 leg_offset:1 block:1",
           "o symbol:a6 epoch:4 report:a6 flags:1 date:4 size:2 listing:a1 tick:p8 legs:1 leg_offset:1 block:1 contract:4"],
    0xBC: ["o"], 0xBD: ["o"], 0xBE: ["o symbol:a6 high:p8 low:p8"],
}
MARKETS = {"equities": EQUITIES, "options": OPTIONS, "futures": FUTURES}


def _fields(layout):
    """Yields (name, kind of letter, width) of each field."""
    for field in layout.split():
        name, _, width = ("offset:4" if field == "o" else field).partition(":")
        letter = width[0] if width[0] in "ap" else ""
        yield name, letter, int(width.lstrip("ap"))


def _length(layout):
    return 2 + sum(width for _, _, width in _fields(layout))


def split(message, market):
    """Returns the fields of a message, or None for an unknown type."""
    layouts = MARKETS[market].get(message[1])
    if layouts is None:
        return None
    layout = next(each for each in layouts if _length(each) == len(message) or message[1] == 0xBB and _length(each) <= len(message))
    found, at = {"type": message[1]}, 2
    for name, letter, width in _fields(layout):
        part = message[at:at + width]
        at += width
        if letter == "a":
            found[name] = part.decode("ascii")
        elif letter == "p":
            price = int.from_bytes(part, "little", signed=width == 8 or market == "futures")
            found[name] = price * (100 if width == 2 else 1) / 1e4
        else:
            found[name] = int.from_bytes(part, "little")
    return found


def join(kind, layout, market, values):
    """Returns the bytes of a message. Prices are in units of the field."""
    body = b""
    for name, letter, width in _fields(layout):
        value = values[name]
        if letter == "a":
            body += value.ljust(width).encode()
        else:
            body += value.to_bytes(width, "little", signed=letter == "p" and (width == 8 or market == "futures"))
    return bytes((len(body) + 2, kind)) + body


def packet(unit, seq, messages):
    body = b"".join(messages)
    return (len(body) + 8).to_bytes(2, "little") + bytes((len(messages), unit)) + seq.to_bytes(4, "little") + body


def packets(datagrams):
    """Yields (time of receipt, unit, first sequence number, messages)."""
    for when, _, payload in datagrams:
        messages, at = [], 8
        for _ in range(payload[2]):
            messages.append(payload[at:at + payload[at]])
            at += payload[at]
        yield when, payload[3], int.from_bytes(payload[4:8], "little"), messages


def merged(datagrams):
    """Returns the messages of all lines, [(unit, seq or None, time of receipt, message)], by unit, each number once; and
    the gaps, [(channel, first, last)]."""
    units, ends, found, gaps = collections.defaultdict(dict), collections.defaultdict(int), [], []
    for when, unit, first, messages in packets(datagrams):
        if first == 0:
            found += [(unit, None, when, message) for message in messages]
            continue
        ends[unit] = max(ends[unit], first + len(messages))
        units[unit].setdefault(first, None)
        for number, message in enumerate(messages, first):
            if units[unit].get(number) is None:
                units[unit][number] = (when, message)
    for unit, by_number in units.items():
        expected = min(by_number)
        for number in [*sorted(number for number in by_number if by_number[number]), ends[unit]]:
            if number > expected:
                gaps.append((str(unit), expected, number - 1))
            if by_number.get(number):
                found.append((unit, number, *by_number[number]))
            expected = number + 1
    return found, gaps


def midnight_ns(date, zone):
    day = datetime.datetime.strptime(date, "%Y.%m.%d").replace(tzinfo=zoneinfo.ZoneInfo(zone))
    return (int(day.timestamp()) - EPOCH_S) * 1_000_000_000


def _day_ns(number):
    day = datetime.date(number // 10_000, number // 100 % 100, number % 100)
    return (day - datetime.date(2000, 1, 1)).days * 86_400_000_000_000


class Book:
    """Open orders of a unit: number -> [symbol, side, price, size]."""

    def __init__(self):
        self.orders = {}

    def add_row(self, add, kind, order, sizes, **values):
        """Adds the row of a message about an order, and returns it."""
        known = self.orders.get(order)
        row = {"id": order, "action": kind, **values}
        if known is not None:
            row = {"sym": known[0], "side": known[1]} | row
            row.setdefault("price", known[2])
            if kind == "D":
                row["size"] = known[3]
        if kind in "EX" and known is not None:
            known[3] = sizes
        if kind == "D" or kind in "EX" and known is not None and known[3] <= 0:
            self.orders.pop(order, None)
        add("order", **row)
        return row


def rows(messages, date, zone="America/New_York", market="equities"):
    """`messages`: as `merged` gives them."""
    tables = collections.defaultdict(list)
    units = collections.defaultdict(lambda: {"book": Book(), "second": None, "seq": None})
    for unit, seq, when, message in messages:
        state = units[unit, seq is None]
        if seq is not None and state["seq"] is not None and seq != state["seq"] + 1:
            state["second"] = None
        state["seq"] = seq
        fields = split(message, market)
        if fields is not None:
            head = {"recv": when - EPOCH, "channel": str(unit)} | ({} if seq is None else {"seq": seq})
            _add_rows(tables, state, head, midnight_ns(date, zone), fields)
    return dict(tables)


def _add_rows(tables, state, head, midnight, m):
    kind, book = m["type"], state["book"]
    if kind == 0x20:
        state["second"] = (m["epoch"] - EPOCH_S) * 10**9 if "epoch" in m else midnight + m["seconds"] * 10**9
    if kind == 0xB1:
        state["second"] = (m["midnight"] + m["seconds"] - EPOCH_S) * 10**9
    if state["second"] is not None and "offset" in m:
        head = head | {"time": state["second"] + m["offset"]}

    def add(table, **values):
        tables[table].append(head | ({"sym": m["symbol"].rstrip()} if "symbol" in m else {}) | values)

    flags = f"{m['flags']:02x}" if "flags" in m else ""
    cond = m.get("cond", "").rstrip()
    if kind in (0x21, 0x22, 0x2F):
        book.orders[m["order"]] = [m["symbol"].rstrip(), m["side"], m["price"], m["qty"]]
        add("order", action="A", side=m["side"], price=m["price"], size=m["qty"], id=m["order"],
            cond=flags + m.get("customer", "").rstrip(), mpid=m.get("mpid", "").rstrip())
    elif kind in (0x23, 0x24):
        known = book.orders.get(m["order"])
        left = m["remaining"] if kind == 0x24 else known and known[3] - m["qty"]
        price = {"price": m["price"]} if kind == 0x24 else {}
        row = book.add_row(add, "E", m["order"], left, size=m["qty"], trade_id=m["execution"], cond=cond, **price)
        add("trade", id=m["execution"], cond="?" if kind not in (0x23, 0x24) else "EC"[kind - 0x23] + cond,
            **{name: row[name] for name in ("sym", "side", "price", "size") if name in row})
    elif kind in (0x25, 0x26):
        known = book.orders.get(m["order"])
        book.add_row(add, "X", m["order"], known and known[3] - m["qty"], size=m["qty"])
    elif kind in (0x27, 0x28):
        known = book.orders.setdefault(m["order"], ["", " ", 0, 0])
        known[2:] = [m["price"], m["qty"]]
        book.add_row(add, "M", m["order"], None, price=m["price"], size=m["qty"], cond=flags)
    elif kind == 0x29:
        book.add_row(add, "D", m["order"], None)
    elif kind in (0x2A, 0x2B, 0x30):
        add("trade", price=m["price"], size=m["qty"], side=m["side"], cond="P" + cond, id=m["execution"])
    elif kind == 0x2C:
        add("trade_break", id=m["execution"])
    elif kind == 0x2D:
        add("status", kind="session", state="end")
    elif kind == 0x2E:
        osi = m["osi"]
        add("instrument", kind=osi[12], market=osi[:6].rstrip(), strike=int(osi[13:]) / 1000,
            expiry=_day_ns(20_000_000 + int(osi[6:12])), underlying=m.get("underlying", "").rstrip(), flags=cond)
    elif kind == 0x31:
        add("status", kind="trading", state=m["state"].rstrip(), reason=m["reason"].rstrip())
    elif kind in (0x95, 0xD1):
        more = {"state": m["state"].rstrip(), "low": m["low"], "high": m["high"]} if kind == 0xD1 else {}
        _add_auction(add, m, **more)
    elif kind == 0x96:
        add("auction", kind=m["kind"].rstrip(), state="summary", indicative=m["price"], paired=m["qty"])
    elif kind == 0x97:
        book.orders.clear()
        add("order", action="R")
    elif kind == 0x98:
        add("status", kind="retail", state=m["state"].rstrip())
    elif kind == 0xB9:
        add("status", kind="settlement", state=m["state"].rstrip(), price=m["price"], at=_day_ns(m["date"]))
    elif kind == 0xBA:
        for name in ("high", "low", "open", "close"):
            add("status", kind="day", state=name, price=m[name], at=_day_ns(m["date"]))
    elif kind == 0xBB:
        add("instrument", time=(m["epoch"] - EPOCH_S) * 10**9 + m["offset"], kind="spread" if m["legs"] else "future",
            market=m["report"].rstrip(), expiry=_day_ns(m["date"]), multiplier=m["size"], tick=m["tick"],
            test=m["listing"] == "T", flags=flags + m["listing"].rstrip())
    elif kind == 0xBE:
        for name in ("high", "low"):
            add("status", kind="limit", state=name, price=m[name])


def _add_auction(add, m, **more):
    side = {"side": "B" if m["buy"] > m["sell"] else "S"} if m["buy"] != m["sell"] else {}
    add("auction", kind=m["kind"].rstrip(), paired=min(m["buy"], m["sell"]), imbalance=abs(m["buy"] - m["sell"]),
        ref_price=m["reference"], indicative=m["indicative"], book_price=m["only"], **side, **more)


def random_day(count, seed, market="equities"):
    """Yields `count` messages: all types of a market, orders that live, some that no message added, and an unknown type."""
    rng = random.Random(seed)
    layouts, others = MARKETS[market], [kind for kind in MARKETS[market] if not 0x20 <= kind <= 0x29 and kind != 0x97]
    orders, next_order, second = {}, 1, 34_200
    for made in range(count):
        kind = rng.choice([0x21, 0x22, 0x22, 0x22, 0x23, 0x25, 0x26, 0x27, 0x28, 0x29, *([0x24] if 0x24 in layouts else [])])
        if rng.random() < 0.15:
            kind = rng.choice([*others, 0x01])
        if made == 5 or made and rng.random() < 0.002:
            kind, second = 0x20, second + 1
        if rng.random() < 0.0005:
            kind = 0x97
        if kind == 0x01:
            yield bytes((2, 1))
            continue
        ref = rng.choice(list(orders)) if orders and rng.random() < 0.98 else 1 << 40
        layout = rng.choice(layouts[kind])
        values = {}
        for name, letter, width in _fields(layout):
            if letter == "a":
                values[name] = "".join(rng.choice("YNOCHIBSQMP 12") for _ in range(width))
            elif letter == "p":
                low, high = {2: (0, 65_535), 8: (0, 1 << 40)}[width]
                shift = (high + 1) // 2 if market == "futures" else 0
                values[name] = rng.randrange(low, high) - shift
            else:
                values[name] = rng.randrange(1 << (8 * min(width, 4)))
        values |= {"seconds": second, "epoch": 1_700_000_000 + second, "midnight": 1_700_000_000, "date": 20_250_117}
        values |= {"symbol": rng.choice(["SPY", "AAPL", "A", "LONG.1"]), "offset": rng.randrange(1_000_000_000)}
        values |= {"osi": f"SPXW  2501{rng.randrange(10, 29)}{rng.choice('CP')}{rng.randrange(10**8):08}", "order": ref}
        if kind in (0x21, 0x22, 0x2F):
            values |= {"order": next_order, "side": rng.choice("BS"), "qty": rng.randrange(1, 60_000)}
            orders[next_order] = values["qty"]
            next_order += 1
        elif kind in (0x23, 0x24, 0x25, 0x26) and ref in orders:
            values["qty"] = min(60_000, rng.choice((orders[ref], rng.randrange(1, orders[ref] + 1))))
            orders[ref] -= values["qty"]
            values["remaining"] = orders[ref]
        elif kind in (0x27, 0x28):
            values["qty"] = rng.randrange(1, 60_000)
            orders[ref] = values["qty"]
        if kind == 0x29 or orders.get(ref) == 0:
            orders.pop(ref, None)
        if kind == 0x97:
            orders.clear()
        yield join(kind, layout, market, values)


# TCP PITCH: widths behind the type; n is a number, b one of base 36, p a price, a text.
LINES = {
    "s": "symbol:a8", "A": "order:b12 side:a1 qty:n6 symbol:a6 price:p10 display:a1",
    "d": "order:b12 side:a1 qty:n6 symbol:a8 price:p10 display:a1 mpid:a4 customer:a1",
    "1": "order:b12 side:a1 qty:n6 symbol:a8 price:p14 display:a1 mpid:a4 customer:a1",
    "E": "order:b12 qty:n6 execution:b12", "X": "order:b12 qty:n6",
    "P": "order:b12 side:a1 qty:n6 symbol:a6 price:p10 execution:b12",
    "r": "order:b12 side:a1 qty:n6 symbol:a8 price:p10 execution:b12",
    "2": "order:b12 side:a1 qty:n6 symbol:a8 price:p14 execution:b12", "B": "execution:b12",
    "H": "symbol:a8 state:a1 reason:a3", "R": "symbol:a8 state:a1",
    "I": "symbol:a8 kind:a1 reference:p10 buy:n10 sell:n10 indicative:p10 only:p10",
    "3": "symbol:a8 kind:a1 reference:p14 buy:n10 sell:n10 indicative:p14 only:p14",
    "J": "symbol:a8 kind:a1 price:p10 qty:n10", "4": "symbol:a8 kind:a1 price:p14 qty:n10",
}


def line_rows(data, date, zone="America/New_York"):
    """The rows of a file of TCP PITCH."""
    tables, book, seq, midnight = collections.defaultdict(list), Book(), 0, midnight_ns(date, zone)
    for line in data.decode("ascii").splitlines():
        if not line[:1] or line[0] not in "S0123456789":
            continue
        line = line.removeprefix("S")
        seq += 1
        if line[8] not in LINES:
            continue
        m, at = {"type": line[8]}, 9
        for field in LINES[line[8]].split():
            name, width = field.split(":")
            part = line[at:at + int(width[1:])]
            at += len(part)
            m[name] = {"a": str, "b": lambda text: int(text, 36), "n": int, "p": lambda text: int(text) / 1e4}[width[0]](part)
        head = {"time": midnight + int(line[:8]) * 1_000_000, "seq": seq}
        _add_line_rows(tables, book, head, m)
    return dict(tables)


def _add_line_rows(tables, book, head, m):
    def add(table, **values):
        tables[table].append(head | ({"sym": m["symbol"].rstrip()} if "symbol" in m else {}) | values)

    kind = m["type"]
    known = book.orders.get(m.get("order"))
    if kind in "Ad1":
        book.orders[m["order"]] = [m["symbol"].rstrip(), m["side"], m["price"], m["qty"]]
        add("order", action="A", side=m["side"], price=m["price"], size=m["qty"], id=m["order"],
            cond=(m["display"] + m.get("customer", "")).rstrip(), mpid=m.get("mpid", "").rstrip())
    elif kind == "E":
        row = book.add_row(add, "E", m["order"], known and known[3] - m["qty"], size=m["qty"], trade_id=m["execution"])
        add("trade", id=m["execution"], cond="E", **{name: row[name] for name in ("sym", "side", "price", "size") if name in row})
    elif kind == "X":
        book.add_row(add, "X", m["order"], known and known[3] - m["qty"], size=m["qty"])
    elif kind in "Pr2":
        add("trade", price=m["price"], size=m["qty"], side=m["side"], cond="P", id=m["execution"])
    elif kind == "B":
        add("trade_break", id=m["execution"])
    elif kind in "HR":
        add("status", kind={"H": "trading", "R": "retail"}[kind], state=m["state"].rstrip(), reason=m.get("reason", "").rstrip())
    elif kind in "I3":
        _add_auction(add, m)
    elif kind in "J4":
        add("auction", kind=m["kind"].rstrip(), state="summary", indicative=m["price"], paired=m["qty"])
    elif kind == "s":
        symbol = m["symbol"].rstrip()
        book.orders = {order: known for order, known in book.orders.items() if known[0] != symbol}
        add("order", action="R")


def random_lines(count, seed):
    """Returns a file of `count` lines of every type, and some that have no message."""
    rng = random.Random(seed)
    orders, lines, time = [], [], 34_200_000
    for made in range(count):
        kind = rng.choice(list(LINES) if rng.random() < 0.2 else "AAAEXX")
        time += rng.randrange(3)
        if rng.random() < 0.02:
            lines.append(rng.choice(["H", "", "+debug", f"S{time:08}?"]))
            continue
        text = f"{rng.choice(['S', ''])}{time:08}{kind}"
        for field in LINES[kind].split():
            name, letter, width = field.split(":")[0], field.split(":")[1][0], int(field.split(":")[1][1:])
            if letter == "b":
                number = rng.choice(orders) if orders and name == "order" and kind in "EX" else 10**6 + made
                digits = ""
                for _ in range(width):
                    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[number % 36] + digits
                    number //= 36
                text += digits
            elif letter in "np":
                text += f"{rng.randrange(10 ** min(width, 6)):0{width}}"
            else:
                text += {"symbol": rng.choice(["SPY", "AAPL", "LONG.1"]), "side": rng.choice("BS")}.get(
                    name, "".join(rng.choice("YNO1 ") for _ in range(width))).ljust(width)
        if kind in "Ad1":
            orders.append(10**6 + made)
        lines.append(text)
    return "".join(line + rng.choice(["\n", "\r\n"]) for line in lines).encode()

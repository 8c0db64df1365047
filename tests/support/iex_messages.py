"""IEX's TOPS, DEEP and DEEP+ over IEX-TP independently of the feed: slow, standard library only.

`rows(path)` gives the rows that docs/feeds/iex.md promises of a capture, as {table: [{column: value}]}; columns that
a message does not fill are absent.
"""

import collections
import struct

from tests.support import captures

EPOCH = 946_684_800_000_000_000
PROTOCOLS = {0x8002: "TOPS", 0x8003: "TOPS", 0x8004: "DEEP", 0x8005: "DEEP+"}
# What follows each type, as formats of struct: a byte, the time, and the rest.
LAYOUTS = {
    "S": "<cq", "D": "<Bq8sIqB", "H": "<cq8s4s", "I": "<cq8s", "O": "<cq8s", "P": "<Bq8sc", "E": "<cq8s",
    "Q": "<Bq8sIqqI", "8": "<Bq8sIq", "5": "<Bq8sIq", "T": "<Bq8sIqq", "B": "<Bq8sIqq", "X": "<cq8sq",
    "A": "<cq8sIqqIcBIqqqq", "a": "<cq8sqIq", "M": "<Bq8sqIq", "R": "<Bq8sq", "L": "<Bq8sqIqq", "C": "<Bq8s",
}


def packets(path):
    """Yields (time of receipt, channel, session, first sequence number, send time, messages)."""
    for when, _, payload in captures.datagrams(path):
        if len(payload) < 40 or payload[0] != 1:
            continue
        protocol, channel, session, _, count, _, seq, sent = struct.unpack_from("<HIIHHqqq", payload, 2)
        if protocol not in PROTOCOLS:
            continue
        messages, at = [], 40
        for _ in range(count):
            (length,) = struct.unpack_from("<H", payload, at)
            messages.append(payload[at + 2:at + 2 + length])
            at += 2 + length
        yield when, f"{PROTOCOLS[protocol]} {channel}", str(session), seq, sent, messages


def merged(path):
    """Yields (channel, session, seq, time of receipt, message) of each session, in the order of the numbers, each number
    once; and (channel, session, first, last) of each gap."""
    sessions = collections.defaultdict(dict)
    ends = collections.defaultdict(int)
    for when, channel, session, first, _, messages in packets(path):
        ends[channel, session] = max(ends[channel, session], first + len(messages))
        for number, message in enumerate(messages, first):
            sessions[channel, session].setdefault(number, (when, message))
    for (channel, session), by_number in sessions.items():
        expected = min(by_number)
        for number in [*sorted(by_number), ends[channel, session]]:
            if number > expected:
                yield channel, session, expected, number - 1
            if number in by_number:
                yield channel, session, number, *by_number[number]
            expected = number + 1


def rows(path):
    tables = collections.defaultdict(list)
    for found in merged(path):
        if len(found) == 4:
            channel, session, first, last = found
            tables["gap"].append({"channel": channel, "session": session, "first_seq": first, "last_seq": last})
        else:
            _add_rows(tables, *found)
    return dict(tables)


def _text(value):
    return value.decode("ascii").rstrip()


def _add_rows(tables, channel, _, seq, when, message):
    kind = chr(message[0])
    if kind not in LAYOUTS:
        return
    code, time, *rest = struct.unpack_from(LAYOUTS[kind], message, 1)
    sym = _text(rest.pop(0)) if rest else ""
    state = _text(code) if isinstance(code, bytes) else ""
    flags = f"{code:02x}" if isinstance(code, int) else ""

    def add(table, **values):
        tables[table].append({"time": time - EPOCH, "sym": sym, "seq": seq, "recv": when - EPOCH, "channel": channel} | values)

    if kind in "SIOE":
        add("status", kind={"S": "system", "I": "retail", "O": "operational", "E": "security_event"}[kind], state=state)
    elif kind == "H":
        add("status", kind="trading", state=state, reason=_text(rest[0]))
    elif kind == "P":
        add("status", kind="short_sale", state=str(code), reason=_text(rest[0]))
    elif kind == "X":
        add("status", kind="official_price", state=state, price=rest[0] / 10_000)
    elif kind == "D":
        lot, close, tier = rest
        add("instrument", lot=lot, prior_close=close / 10_000, luld_tier=str(tier), test=code >= 128, flags=flags)
    elif kind == "Q":
        bid_size, bid, ask, ask_size = rest
        sides = {}
        if bid or bid_size:
            sides["bid"] = bid / 10_000
        if ask or ask_size:
            sides["ask"] = ask / 10_000
        add("quote", bsize=bid_size, asize=ask_size, cond=flags, **sides)
    elif kind in "85":
        add("level", side="B" if kind == "8" else "S", size=rest[0], price=rest[1] / 10_000, complete=code % 2 == 1, cond=flags)
    elif kind in "TB":
        size, price, trade = rest
        add("trade" if kind == "T" else "trade_break", size=size, price=price / 10_000, cond=flags, id=trade)
    elif kind == "A":
        paired, reference, indicative, imbalance, side, extensions, scheduled, book, collar, low, high = rest
        add("auction", kind=state, paired=paired, ref_price=reference / 10_000, indicative=indicative / 10_000,
            imbalance=imbalance, side=side.decode(), extensions=extensions, at=scheduled * 1_000_000_000 - EPOCH,
            book_price=book / 10_000, collar=collar / 10_000, low=low / 10_000, high=high / 10_000)
    elif kind == "a":
        order, size, price = rest
        add("order", action="A", side={"8": "B", "5": "S"}[state], id=order, size=size, price=price / 10_000)
    elif kind == "M":
        order, size, price = rest
        add("order", action="M", id=order, size=size, price=price / 10_000, cond=flags)
    elif kind == "R":
        add("order", action="D", id=rest[0])
    elif kind == "L":
        order, size, price, trade = rest
        add("order", action="E", id=order, size=size, price=price / 10_000, trade_id=trade, cond=flags)
        add("trade", size=size, price=price / 10_000, cond=flags, id=trade)
    elif kind == "C":
        add("order", action="R")

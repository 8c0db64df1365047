"""Nasdaq ITCH 5.0 independently of the feed: slow, by the specification's tables of fields, standard library only.

`rows(messages, date)` gives the rows that docs/feeds/itch.md promises, as {table: [{column: value}]}; columns that
a message does not fill are absent. `random_day` makes messages of every type.
"""

import collections
import datetime
import random
import struct
import zoneinfo

# The fields of each type after the time: name and width; widths with a letter are text.
FIELDS = {
    "S": "event:a1",
    "R": "stock:a8 market:a1 financial:a1 lot:4 lots_only:a1 class:a1 subtype:a2 authenticity:a1 threshold:a1 ipo:a1 "
         "tier:a1 etp:a1 leverage:4 inverse:a1",
    "H": "stock:a8 state:a1 reserved:a1 reason:a4",
    "Y": "stock:a8 action:a1",
    "L": "mpid:a4 stock:a8 primary:a1 mode:a1 state:a1",
    "V": "level1:8 level2:8 level3:8",
    "W": "level:a1",
    "K": "stock:a8 release:4 qualifier:a1 price:4",
    "J": "stock:a8 reference:4 upper:4 lower:4 extension:4",
    "h": "stock:a8 market:a1 action:a1",
    "A": "ref:8 side:a1 shares:4 stock:a8 price:4",
    "F": "ref:8 side:a1 shares:4 stock:a8 price:4 mpid:a4",
    "E": "ref:8 shares:4 match:8",
    "C": "ref:8 shares:4 match:8 printable:a1 price:4",
    "X": "ref:8 shares:4",
    "D": "ref:8",
    "U": "ref:8 new:8 shares:4 price:4",
    "P": "ref:8 side:a1 shares:4 stock:a8 price:4 match:8",
    "Q": "shares:8 stock:a8 price:4 match:8 cross:a1",
    "B": "match:8",
    "I": "paired:8 imbalance:8 direction:a1 stock:a8 far:4 near:4 current:4 cross:a1 variation:a1",
    "N": "stock:a8 interest:a1",
    "O": "stock:a8 eligible:a1 minimum:4 maximum:4 near:4 near_time:8 lower:4 upper:4",
}


def split(message):
    """Returns the fields of a message, or None for an unknown type."""
    kind = chr(message[0])
    if kind not in FIELDS:
        return None
    found = {"type": kind, "locate": int.from_bytes(message[1:3], "big"), "time": int.from_bytes(message[5:11], "big")}
    at = 11
    for field in FIELDS[kind].split():
        name, width = field.split(":")
        if width[0] == "a":
            found[name] = message[at:at + int(width[1:])].decode("ascii")
            at += int(width[1:])
        else:
            found[name] = int.from_bytes(message[at:at + int(width)], "big")
            at += int(width)
    return found


def join(kind, locate, time, **values):
    """Returns the bytes of a message."""
    message = kind.encode() + struct.pack(">HH", locate, 0) + time.to_bytes(6, "big")
    for field in FIELDS[kind].split():
        name, width = field.split(":")
        value = values.pop(name)
        message += value.ljust(int(width[1:])).encode() if width[0] == "a" else value.to_bytes(int(width), "big")
    assert not values, values
    return message


def framed(messages):
    return b"".join(len(message).to_bytes(2, "big") + message for message in messages)


def unframed(data):
    at = 0
    while at < len(data):
        length = int.from_bytes(data[at:at + 2], "big")
        if length == 0:
            return
        yield data[at + 2:at + 2 + length]
        at += 2 + length


def midnight_ns(date):
    """Midnight in New York on a day such as 2019.12.30, in ns since 2000-01-01 UTC."""
    day = datetime.datetime.strptime(date, "%Y.%m.%d").replace(tzinfo=zoneinfo.ZoneInfo("America/New_York"))
    return (int(day.timestamp()) - 946_684_800) * 1_000_000_000


def rows(messages, date):
    """`messages`: (sequence number, bytes)."""
    tables = collections.defaultdict(list)
    stocks, orders = {}, {}
    midnight = midnight_ns(date)
    for seq, message in messages:
        fields = split(message)
        if fields is not None:
            _add_rows(tables, stocks, orders, midnight, seq, fields)
    return dict(tables)


def _add_rows(tables, stocks, orders, midnight, seq, m):
    kind = m["type"]
    if kind == "S" and m["event"] == "O":
        stocks.clear()
        orders.clear()
    if "stock" in m:
        stocks[m["locate"]] = m["stock"].rstrip()
    sym = "" if kind in "SVW" else stocks.get(m["locate"], "")

    def add(table, **values):
        tables[table].append({"time": midnight + m["time"], "sym": sym, "seq": seq, **values})

    def status(name, state, **values):
        add("status", kind=name, state=state.strip(), **values)

    if kind == "S":
        status("system", m["event"])
    elif kind == "R":
        flags = "".join(m[name] for name in ("financial", "lots_only", "authenticity", "threshold", "ipo", "etp", "inverse"))
        add("instrument", id=m["locate"], kind=(m["class"] + m["subtype"]).rstrip(), market=m["market"].strip(), lot=m["lot"],
            luld_tier=m["tier"].strip(), leverage=m["leverage"], test=m["authenticity"] == "T", flags=flags)
    elif kind == "H":
        status("trading", m["state"], reason=m["reason"].rstrip())
    elif kind == "Y":
        status("short_sale", m["action"])
    elif kind == "L":
        status("participant", m["state"], reason=(m["primary"] + m["mode"]).rstrip(), mpid=m["mpid"].rstrip())
    elif kind == "V":
        for level in "123":
            status("breaker_level", level, price=m["level" + level] / 1e8)
    elif kind == "W":
        status("breaker_breach", m["level"])
    elif kind == "K":
        status("ipo", m["qualifier"], price=m["price"] / 1e4, at=midnight + m["release"] * 1_000_000_000)
    elif kind == "J":
        add("auction", kind="collar", collar=m["reference"] / 1e4, high=m["upper"] / 1e4, low=m["lower"] / 1e4,
            extensions=m["extension"])
    elif kind == "h":
        status("operational", m["action"], reason=m["market"].strip())
    elif kind in "AF":
        orders[m["ref"]] = [sym, m["side"], m["price"], m["shares"]]
        more = {"mpid": m["mpid"].rstrip()} if kind == "F" else {}
        add("order", action="A", side=m["side"], price=m["price"] / 1e4, size=m["shares"], id=m["ref"], **more)
    elif kind in "ECXD":
        order = orders.get(m["ref"])
        known = {}
        if order is not None:
            sym = order[0]
            known = {"side": order[1], "price": order[2] / 1e4}
            if kind == "D":
                known["size"] = order[3]
                order[3] = 0
            else:
                known["size"] = m["shares"]
                order[3] -= m["shares"]
            if order[3] <= 0:
                del orders[m["ref"]]
        elif kind != "D":
            known["size"] = m["shares"]
        if kind == "C":
            known |= {"price": m["price"] / 1e4}
            add("order", action="E", id=m["ref"], trade_id=m["match"], cond=m["printable"], **known)
            if m["printable"] == "Y":
                add("trade", cond="CY", id=m["match"], **known)
        elif kind == "E":
            add("order", action="E", id=m["ref"], trade_id=m["match"], **known)
            add("trade", cond="E", id=m["match"], **known)
        else:
            add("order", action=kind, id=m["ref"], **known)
    elif kind == "U":
        old = orders.pop(m["ref"], None)
        known = {}
        if old is not None:
            sym = old[0]
            known = {"side": old[1]}
        orders[m["new"]] = [sym, known.get("side", " "), m["price"], m["shares"]]
        add("order", action="U", price=m["price"] / 1e4, size=m["shares"], id=m["new"], old_id=m["ref"], **known)
    elif kind == "P":
        add("trade", price=m["price"] / 1e4, size=m["shares"], side=m["side"], cond="P", id=m["match"])
    elif kind == "Q":
        add("trade", price=m["price"] / 1e4, size=m["shares"], cond=("Q" + m["cross"]).rstrip(), id=m["match"])
    elif kind == "B":
        add("trade_break", id=m["match"])
    elif kind == "I":
        add("auction", kind=m["cross"].strip(), side=m["direction"], paired=m["paired"], imbalance=m["imbalance"],
            book_price=m["far"] / 1e4, indicative=m["near"] / 1e4, ref_price=m["current"] / 1e4, cond=m["variation"].strip())
    elif kind == "N":
        status("retail", m["interest"])
    elif kind == "O":
        add("auction", kind="listing", state=m["eligible"].strip(), min_price=m["minimum"] / 1e4,
            max_price=m["maximum"] / 1e4, indicative=m["near"] / 1e4, at=midnight + m["near_time"], low=m["lower"] / 1e4,
            high=m["upper"] / 1e4)


def random_day(count, seed):
    """Yields `count` messages: a directory, then all types with orders that live, among them some that no message
    added, and an unknown type."""
    rng = random.Random(seed)
    names = ["AAPL", "BRK.A", "ZVZZT", "A", "TICKERED"]
    orders, next_ref, time = {}, 1, 34_200_000_000_000
    yield join("S", 0, time - 10, event="O")
    for made in range(1, count):
        time += rng.randrange(50_000)
        locate = rng.randrange(len(names))
        stock = names[locate]
        price, shares, match = rng.randrange(1, 2_000_000_000), rng.randrange(1, 1_000_000), rng.randrange(1 << 62)
        kind = rng.choice("RHYLVWKJhFCQBINO?P" if rng.random() < 0.15 else "AAAAEXDU")
        ref = rng.choice(list(orders)) if orders and rng.random() < 0.98 else 1 << 40
        if made <= len(names):
            kind, locate, stock = "R", made - 1, names[made - 1]
        elif kind in "ECXDU" and ref in orders:
            locate = orders[ref][0]
        fields = {"stock": stock, "price": price, "shares": shares, "match": match, "ref": ref}
        if kind in "AF":
            fields |= {"ref": next_ref, "side": rng.choice("BS"), "mpid": "NITE"}
            orders[next_ref] = [locate, shares]
            next_ref += 1
        elif kind in "ECX" and ref in orders:
            fields["shares"] = rng.choice((orders[ref][1], rng.randrange(1, orders[ref][1] + 1)))
            orders[ref][1] -= fields["shares"]
            if orders[ref][1] == 0:
                del orders[ref]
        elif kind == "D":
            orders.pop(ref, None)
        elif kind == "U":
            orders.pop(ref, None)
            orders[next_ref] = [locate, shares]
            fields["new"] = next_ref
            next_ref += 1
        if kind == "?":
            yield b"?" + bytes(rng.randrange(12))
            continue
        for field in FIELDS[kind].split():
            name, width = field.split(":")
            if name in fields:
                continue
            if width[0] == "a":
                fields[name] = "".join(rng.choice("YNOCHIBSQMP 12") for _ in range(int(width[1:])))
            else:
                fields[name] = rng.randrange(1 << (8 * min(int(width), 5)))
        if kind == "C":
            fields["printable"] = rng.choice("YN")
        if kind in "P":
            fields["side"] = "B"
        if kind == "K":
            fields["release"] = rng.randrange(86_400)
        yield join(kind, locate, time, **{name: fields[name] for name in [f.split(":")[0] for f in FIELDS[kind].split()]})

"""Databento's DBN independently of the feed: slow, by tables of fields, standard library only.

`rows(path)` gives the rows that docs/feeds/dbn.md promises of a file, as {table: [{column: value}]}; columns that a
record does not fill are absent. `file_bytes` and `record` make files.
"""

import collections
import datetime
import fractions
import random
import struct

from tests.support import zstd_frames

EPOCH = 946_684_800_000_000_000
NO_PRICE = (1 << 63) - 1
NO_SIZE = (1 << 32) - 1
NO_INT = (1 << 31) - 1
NO_TIME = (1 << 64) - 1

HEAD = "length:B rtype:B publisher:H instrument:I ts_event:Q"
EVENT = "price:q size:I action:c side:c flags:B depth:B ts_recv:Q delta:i sequence:I"
BEST = "bid:q ask:q bsize:I asize:I bvenue:H _:2s avenue:H _:2s"
LEVELS = [f"bid{n}:q ask{n}:q bsize{n}:I asize{n}:I bcount{n}:I acount{n}:I" for n in range(10)]
DEFINITION_1 = (
    "ts_recv:Q tick:q display:q expiration:Q activation:Q high:q low:q variation:q reference:q unit:q increment:q ratio:q "
    "attributes:i underlying_id:I raw_id:I implied:i depth:i segment:I max_volume:I lot:i lot_block:i lot_round:i min_volume:I "
    "_:4s multiplier:i decay:i original:i _:4s reference_date:H appl:h year:H decay_start:H channel:H currency:4s settlement:4s "
    "subtype:6s raw_symbol:22s group:21s exchange:5s asset:7s cfi:7s type:7s unit_name:31s underlying:21s strike_currency:4s "
    "class:c _:2s strike:q _:6s algorithm:c status:B fraction:B format:B price_type:B sub_fraction:B product:B update:c month:B "
    "day:B week:B user:c multiplier_unit:b flow:b rule:B _:3s")
DEFINITION_2 = (
    "ts_recv:Q tick:q display:q expiration:Q activation:Q high:q low:q variation:q reference:q unit:q increment:q ratio:q "
    "strike:q attributes:i underlying_id:I raw_id:I implied:i depth:i segment:I max_volume:I lot:i lot_block:i lot_round:i "
    "min_volume:I multiplier:i decay:i original:i reference_date:H appl:h year:H decay_start:H channel:H currency:4s "
    "settlement:4s subtype:6s raw_symbol:71s group:21s exchange:5s asset:7s cfi:7s type:7s unit_name:31s underlying:21s "
    "strike_currency:4s class:c algorithm:c status:B fraction:B format:B price_type:B sub_fraction:B product:B update:c month:B "
    "day:B week:B user:c multiplier_unit:b flow:b rule:B _:10s")
DEFINITION_3 = (
    "ts_recv:Q tick:q display:q expiration:Q activation:Q high:q low:q variation:q unit:q increment:q ratio:q strike:q raw_id:Q "
    "leg_price:q leg_delta:q attributes:i underlying_id:I implied:i depth:i segment:I max_volume:I lot:i lot_block:i lot_round:i "
    "min_volume:I multiplier:i decay:i original:i leg_id:I leg_a:i leg_b:i leg_c:i leg_d:i leg_underlying:I appl:h year:H "
    "decay_start:H channel:H leg_count:H leg_index:H currency:4s settlement:4s subtype:6s raw_symbol:71s group:21s exchange:5s "
    "asset:11s cfi:7s type:7s unit_name:31s underlying:21s strike_currency:4s leg_symbol:71s class:c algorithm:c fraction:B "
    "format:B sub_fraction:B product:B update:c month:B day:B week:B user:c multiplier_unit:b flow:b rule:B leg_class:c "
    "leg_side:c _:17s")
# The fields after the head, by type and the first version with this layout. Padding is called `_`.
FIELDS = {
    (0xA0, 1): "order:Q price:q size:I flags:B channel:B action:c side:c ts_recv:Q delta:i sequence:I",
    (0x00, 1): EVENT,
    (0x01, 1): f"{EVENT} {LEVELS[0]}",
    (0x0A, 1): f"{EVENT} {' '.join(LEVELS)}",
    (0xC3, 1): f"price:q size:I _:1s side:c flags:B _:1s ts_recv:Q _:4s sequence:I {LEVELS[0]}",
    (0xB1, 1): f"price:q size:I action:c side:c flags:B _:1s ts_recv:Q delta:i _:4s {BEST}",
    (0xC0, 1): f"price:q size:I _:1s side:c flags:B _:1s ts_recv:Q _:8s {BEST}",
    (0x20, 1): "open:q high:q low:q close:q volume:Q",
    (0x12, 1): "ts_recv:Q action:H reason:H event:H trading:c quoting:c short_sale:c _:7s",
    (0x13, 1): DEFINITION_1,
    (0x13, 2): DEFINITION_2,
    (0x13, 3): DEFINITION_3,
    (0x14, 1): "ts_recv:Q reference:q auction_time:Q continuous:q cross:q short_sale:q match:q upper:q lower:q paired:I total:I "
               "market:I unpaired:I type:c side:c status:B freeze:B extensions:B unpaired_side:c significant:c _:1s",
    (0x15, 1): "text:64s",
    (0x15, 2): "text:302s code:B last:B",
    (0x16, 1): "asked:22s given:22s _:4s start:Q end:Q",
    (0x16, 2): "asked_type:B asked:71s given_type:B given:71s start:Q end:Q",
    (0x17, 1): "text:64s",
    (0x17, 2): "text:303s code:B",
    (0x18, 1): "ts_recv:Q reference:Q price:q quantity:i sequence:I delta:i type:H channel:H update:B flags:B _:6s",
    (0x18, 3): "ts_recv:Q reference:Q price:q quantity:q sequence:I delta:i type:H channel:H update:B flags:B _:18s",
}
SAME_LAYOUT = {0xC4: 0xC3, 0xC2: 0xB1, 0xC1: 0xC0, 0x21: 0x20, 0x22: 0x20, 0x23: 0x20, 0x24: 0x20, 0x11: 0x20}
INTERVALS = {0x20: "1s", 0x21: "1m", 0x22: "1h", 0x23: "1d", 0x24: "eod", 0x11: ""}
ACTIONS = ("none pre_open pre_cross quoting cross rotation price_indication trading halt pause suspend pre_close close post_close "
           "short_sale_change not_available").split()
STATISTICS = ("opening indicative_opening settlement session_low session_high cleared_volume lowest_offer highest_bid "
              "open_interest fixing close net_change vwap volatility delta uncrossing upper_limit lower_limit block_volume").split()
# Each venue after the numbers of its publishers.
VENUES = {
    "GLBX": [1], "XNAS": [2, 46, 47, 52, 66, 81], "XBOS": [3, 75, 86, 88], "XPSX": [4, 76, 87, 89], "BATS": [5, 71],
    "BATY": [6, 72], "EDGA": [7, 73], "EDGX": [8, 74], "XNYS": [9, 44, 45, 53, 67, 92], "XCIS": [10, 13, 14, 40, 49, 63, 91],
    "XASE": [11, 78], "XCHI": [12, 39, 48, 62], "MEMX": [15, 77], "EPRL": [16, 42, 51, 65], "FINN": [17, 54, 68, 82],
    "FINC": [18, 56, 70, 83], "FINY": [19, 55, 69], "AMXO": [20], "XBOX": [21], "XCBO": [22], "EMLD": [23], "EDGO": [24],
    "GMNI": [25], "XISX": [26], "MCRY": [27], "XMIO": [28], "ARCO": [29], "OPRA": [30], "MPRL": [31], "XNDQ": [32],
    "XBXO": [33], "C2OX": [34], "XPHL": [35], "BATO": [36], "MXOP": [37], "IEXG": [38, 41, 50, 64], "ARCX": [43, 79],
    "IFEU": [57], "NDEX": [58], "DBEQ": [59], "EQUS": [60, 90, 93, 94, 95, 96], "SPHR": [61], "LTSE": [80],
    "XOFF": [84, 85, 98, 100, 103, 104, 106], "IFUS": [97], "IFLL": [99], "XEUR": [101], "XEEE": [102], "XCBF": [105],
    "OCEA": [107],
}
VENUE_OF = {number: venue for venue, numbers in VENUES.items() for number in numbers}


def fields_of(rtype, version):
    """Returns (name, format) of each field after the head, or None for an unknown type."""
    rtype = SAME_LAYOUT.get(rtype, rtype)
    known = [FIELDS[rtype, v] for v in range(version, 0, -1) if (rtype, v) in FIELDS]
    return [tuple(field.split(":")) for field in known[0].split()] if known else None


def split(record, version):
    """Returns the fields of a record, or None for an unknown type."""
    found = dict(zip(("length", "rtype", "publisher", "instrument", "ts_event"), struct.unpack_from("<BBHIQ", record)))
    layout = fields_of(found["rtype"], version)
    if layout is None:
        return None
    values = struct.unpack_from("<" + "".join(form for _, form in layout), record, 16)
    for (name, form), value in zip(layout, values, strict=True):
        if name != "_":
            found[name] = value.split(b"\0")[0].decode("ascii") if form[-1] in "sc" else value
    return found


def record(rtype, version, publisher=1, instrument=1, ts_event=NO_TIME, more=b"", **given):
    """Returns the bytes of a record; fields that are not given are 0. `more` follows, as in longer records."""
    body = b""
    for name, form in fields_of(rtype, version):
        value = given.pop(name, None)
        if form[-1] in "sc":
            body += struct.pack("<" + form, (value or "").encode() if name != "_" else b"")
        else:
            body += struct.pack("<" + form, value or 0)
    assert not given, given
    body += more
    assert len(body) % 4 == 0
    return struct.pack("<BBHIQ", (16 + len(body)) // 4, rtype, publisher, instrument, ts_event) + body


def file_bytes(version, records, dataset="GLBX.MDP3", mappings=(), inverse=False, pad=0):
    """Returns a file. `mappings`: (name, [(first day, day after the last as 20240131, name)])."""
    width = 22 if version == 1 else 71

    def name(text):
        return text.encode().ljust(width, b"\0")

    header = struct.pack("<16sHQQQ", dataset.encode(), 0xFFFF, 0, NO_TIME, 0) + (bytes(8) if version == 1 else b"")
    header += bytes([0 if inverse else 1, 1 if inverse else 0, 0])
    header += bytes(47) if version == 1 else struct.pack("<H", width) + bytes(53)
    header += bytes(4 * 4) + struct.pack("<I", len(mappings))
    for text, intervals in mappings:
        header += name(text) + struct.pack("<I", len(intervals))
        for begin, end, mapped in intervals:
            header += struct.pack("<II", begin, end) + name(mapped)
    header += bytes(pad)
    return b"DBN" + struct.pack("<BI", version, len(header)) + header + b"".join(records)


def read(path):
    data = path.read_bytes()
    return zstd_frames.decompress(data) if data[:4] == zstd_frames.MAGIC else data


def header_of(data):
    """Returns (version, dataset, [(instrument, first day, day after the last, symbol)], length)."""
    assert data[:3] == b"DBN"
    version, length = struct.unpack_from("<BI", data, 3)
    at = 8
    dataset = data[at:at + 16].split(b"\0")[0].decode()
    at += 16 + 2 + 8 + 8 + 8 + (8 if version == 1 else 0)
    inverse = data[at] == 0 and data[at + 1] != 0
    usable = inverse or data[at + 1] == 0
    at += 3
    width = 22
    if version > 1:
        (width,) = struct.unpack_from("<H", data, at)
        at += 2
    at += 47 if version == 1 else 53

    def number():
        nonlocal at
        at += 4
        return struct.unpack_from("<I", data, at - 4)[0]

    def name():
        nonlocal at
        at += width
        return data[at - width:at].split(b"\0")[0].decode()

    def day():
        digits = number()
        return datetime.date(digits // 10_000, digits // 100 % 100, digits % 100)

    definition_bytes = number()
    at += definition_bytes
    for _ in range(3):
        for _ in range(number()):
            name()
    mappings = []
    for _ in range(number()):
        one = name()
        for _ in range(number()):
            begin, end, other = day(), day(), name()
            if other and usable:
                number_text, symbol = (one, other) if inverse else (other, one)
                mappings.append((int(number_text), begin, end, symbol))
    return version, dataset, mappings, 8 + length


def records(data):
    """Yields (version, number from 1, bytes) of each record."""
    version, _, _, at = header_of(data)
    number = 0
    while at < len(data):
        number += 1
        length = data[at] * 4
        yield version, number, data[at:at + length]
        at += length


class Decoder:
    def __init__(self, data):
        self.version, self.dataset, self.mappings, _ = header_of(data)
        self.mapped, self.defined, self.books = {}, {}, {}
        self.tables = collections.defaultdict(list)
        for version, number, content in records(data):
            fields = split(content, version)
            if fields is not None:
                self._take(number, fields)

    def symbol(self, instrument, when):
        if instrument in self.mapped:
            return self.mapped[instrument]
        day = (datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=when // 1000)).date()
        begun = [mapping for mapping in self.mappings if mapping[0] == instrument and mapping[1] <= day]
        if begun:
            latest = max(begin for _, begin, _, _ in begun)
            _, _, end, symbol = [mapping for mapping in begun if mapping[1] == latest][-1]
            if day < end:
                return symbol
        return self.defined.get(instrument, str(instrument))

    def _take(self, number, m):
        event, recv = m["ts_event"], m.get("ts_recv", NO_TIME)
        time = event if event != NO_TIME else recv
        channel = self.dataset
        if m.get("channel", 255 if m["rtype"] == 0xA0 else 65_535) != (255 if m["rtype"] == 0xA0 else 65_535):
            channel += f" {m['channel']}"
        head = {"seq": m.get("sequence", number), "venue": venue(m["publisher"]), "channel": channel,
                "sym": self.symbol(m["instrument"], recv if recv != NO_TIME else event if event != NO_TIME else 0)}
        if time != NO_TIME:
            head["time"] = time - EPOCH
        if recv != NO_TIME:
            head["recv"] = recv - EPOCH
        {0xA0: self._order, 0x00: self._event, 0x01: self._event, 0x0A: self._event, 0xC3: self._quote, 0xC4: self._quote,
         0xB1: self._event, 0xC2: self._event, 0xC0: self._quote, 0xC1: self._quote, 0x12: self._status,
         0x13: self._definition, 0x14: self._imbalance, 0x15: self._text, 0x16: self._mapping, 0x17: self._text,
         0x18: self._statistic}.get(m["rtype"], self._bar)(head, m)

    def _add(self, table, head, **values):
        self.tables[table].append(head | {column: value for column, value in values.items() if value is not None})

    def _order(self, head, m):
        flags = f"{m['flags']:02x}"
        if m["action"] == "T":
            self._trade(head, m)
        elif m["action"] == "R":
            self._add("order", head, action="R", side=side(m["side"]), cond=flags)
        elif m["action"] != "N":
            self._add("order", head, action={"C": "X"}.get(m["action"], m["action"]), side=side(m["side"]), price=price(m["price"]),
                      size=size(m["size"]), id=signed(m["order"]), cond=flags)

    def _trade(self, head, m):
        self._add("trade", head, price=price(m["price"]), size=size(m["size"]), side=side(m["side"]), cond=f"{m['flags']:02x}")

    def _event(self, head, m):
        if m["rtype"] == 0x0A:
            self._add("quote", head, bid=price(m["bid0"]), ask=price(m["ask0"]), bsize=size(m["bsize0"]), asize=size(m["asize0"]),
                      cond=f"{m['flags']:02x}")
            self._levels(head, m)
        elif m["rtype"] != 0x00:
            self._quote(head, m)
        if m["action"] == "T":
            self._trade(head, m)

    def _quote(self, head, m):
        more = {}
        if "bvenue" in m:
            more = {"bid_venue": venue(m["bvenue"]), "ask_venue": venue(m["avenue"])}
            one = m
        else:
            one = {column: m[f"{column}0"] for column in ("bid", "ask", "bsize", "asize")}
        self._add("quote", head, bid=price(one["bid"]), ask=price(one["ask"]), bsize=size(one["bsize"]), asize=size(one["asize"]),
                  cond=f"{m['flags']:02x}", **more)

    def _levels(self, head, m):
        found = []
        for letter, prefix in (("B", "b"), ("S", "a")):
            long = {"b": "bid", "a": "ask"}[prefix]
            new = {m[f"{long}{n}"]: (m[f"{prefix}size{n}"], m[f"{prefix}count{n}"]) for n in range(10) if m[f"{long}{n}"] != NO_PRICE}
            old = self.books.get((m["publisher"], m["instrument"], letter), {})
            found += [(letter, at, 0, 0) for at in old if at not in new]
            found += [(letter, at, *having) for at, having in new.items() if old.get(at) != having]
            self.books[m["publisher"], m["instrument"], letter] = new
        for number, (letter, at, amount, orders) in enumerate(found, 1):
            self._add("level", head, side=letter, price=price(at), size=size(amount), orders=size(orders),
                      complete=number == len(found), cond=f"{m['flags']:02x}")

    def _bar(self, head, m):
        self._add("bar", head, interval=INTERVALS[m["rtype"]], volume=m["volume"],
                  **{column: price(m[column]) for column in ("open", "high", "low", "close")})

    def _status(self, head, m):
        action = m["action"]
        self._add("status", head, kind="trading", state=ACTIONS[action] if action < len(ACTIONS) else str(action),
                  reason=str(m["reason"]))
        if m["event"]:
            self._add("status", head, kind="trading_event", state=str(m["event"]))
        for kind, field in (("is_trading", "trading"), ("is_quoting", "quoting"), ("short_sale", "short_sale")):
            if m[field] in ("Y", "N"):
                self._add("status", head, kind=kind, state=m[field])

    def _definition(self, head, m):
        if m.get("leg_index", 0) > 0:
            return
        if m["raw_symbol"]:
            self.defined[m["instrument"]] = m["raw_symbol"]
        head = head | {"sym": m["raw_symbol"] or head["sym"]}
        multiplier = number_or_none(m["multiplier"], NO_INT)
        flags = "".join(m[name] or " " for name in ("update", "user", "algorithm")).rstrip()
        self._add("instrument", head, id=m["instrument"], kind=code(m["class"]), market=m["exchange"],
                  lot=number_or_none(m["lot_round"], NO_INT), prior_close=price(m.get("reference", NO_PRICE)),
                  currency=m["currency"], underlying=m["underlying"] or m["asset"], tick=price(m["tick"]),
                  multiplier=price(m["unit"]) if multiplier is None else float(multiplier), strike=price(m["strike"]),
                  expiry=time(m["expiration"]), flags=flags)

    def _imbalance(self, head, m):
        indicative = price(m["continuous"])
        self._add("auction", head, kind=code(m["type"]), state=str(m["status"]), side=side(m["side"]), paired=size(m["paired"]),
                  imbalance=size(m["total"]), ref_price=price(m["reference"]),
                  indicative=price(m["match"]) if indicative is None else indicative, book_price=price(m["cross"]),
                  low=price(m["lower"]), high=price(m["upper"]), at=time(m["auction_time"]), extensions=m["extensions"],
                  cond=code(m["significant"]))

    def _text(self, head, m):
        if m["rtype"] == 0x17 and (m["text"] == "Heartbeat" if self.version == 1 else m["code"] == 0):
            return
        self._add("status", head | {"sym": ""}, kind={0x15: "error", 0x17: "system"}[m["rtype"]],
                  state=str(m["code"]) if "code" in m else "", reason=m["text"])

    def _mapping(self, _, m):
        if m["given"]:
            self.mapped[m["instrument"]] = m["given"]

    def _statistic(self, head, m):
        kind = m["type"]
        self._add("statistic", head, kind=STATISTICS[kind - 1] if 1 <= kind <= len(STATISTICS) else str(kind),
                  price=price(m["price"]), size=number_or_none(m["quantity"], NO_INT if self.version < 3 else NO_PRICE),
                  at=time(m["reference"]), action={1: "A", 2: "D"}.get(m["update"], " "), cond=f"{m['flags']:02x}")


def price(value):
    """The float that is nearest to the price."""
    return None if value == NO_PRICE else float(fractions.Fraction(value, 1_000_000_000))


def size(value):
    return number_or_none(value, NO_SIZE)


def number_or_none(value, none):
    return None if value == none else value


def time(value):
    return None if value in (0, NO_TIME) else value - EPOCH


def signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


def side(letter):
    return {"A": "S", "B": "B", "N": " "}[letter]


def code(letter):
    return "" if letter in ("~", " ") else letter


def venue(publisher):
    return VENUE_OF.get(publisher, str(publisher) if publisher else "")


def rows(path):
    return dict(Decoder(read(path)).tables)


def _random_value(rng, form):
    """A value of a field of numbers; often the one that stands for none."""
    bits = 8 * struct.calcsize("<" + form)
    if form in "qihb":
        none = (1 << (bits - 1)) - 1
        return rng.choice((none, 0, rng.randrange(-(1 << (bits - 1)), none), rng.randrange(-100, 100)))
    return rng.choice(((1 << bits) - 1, 0, rng.randrange(1 << bits), rng.randrange(100)))


def _random_levels(rng):
    found = {}
    for letter, step in (("bid", -1), ("ask", 1)):
        prices = sorted(rng.sample(range(100, 112), rng.randrange(11)), key=lambda each: step * each)
        for n in range(10):
            has = n < len(prices)
            found[f"{letter}{n}"] = prices[n] * 250_000_000 if has else NO_PRICE
            found[f"{letter[0]}size{n}"] = rng.randrange(1, 4) if has else 0
            found[f"{letter[0]}count{n}"] = rng.randrange(1, 3) if has else 0
    return found


def random_record(rng, version, rtype, when):
    given = {}
    for name, form in fields_of(rtype, version):
        if name == "_":
            continue
        if name == "action" and form == "c":
            given[name] = rng.choice("ACFMNRT") if rtype != 0x00 else "T"
        elif name == "side":
            given[name] = rng.choice("ABN")
        elif name == "update" and form == "c":
            given[name] = rng.choice("AMD")
        elif name == "user":
            given[name] = rng.choice("YN")
        elif name in ("trading", "quoting", "short_sale") and form == "c":
            given[name] = rng.choice("YN~")
        elif form == "c":
            given[name] = rng.choice("AKF~ ")
        elif form[-1] == "s":
            given[name] = "".join(rng.choice("ABCD 12") for _ in range(rng.randrange(int(form[:-1])))).strip()
        elif form == "Q" and name not in ("order", "volume"):
            given[name] = rng.choice((NO_TIME, 0, when + rng.randrange(10 ** 9))) if name != "ts_recv" else when
        elif name == "volume":
            given[name] = rng.randrange(1 << 63)
        elif name == "leg_index":
            given[name] = rng.choice((0, 0, 1))
        elif name in ("action", "reason", "event") or (rtype == 0x18 and name == "type"):
            given[name] = rng.randrange(24)
        elif name == "code":
            given[name] = rng.randrange(256)
        else:
            given[name] = _random_value(rng, form)
    if rtype == 0x0A:
        given |= _random_levels(rng)
    return record(rtype, version, publisher=rng.randrange(112), instrument=rng.randrange(6),
                  ts_event=rng.choice((NO_TIME, when - rng.randrange(10 ** 9))), more=bytes(rng.choice((0, 0, 8))), **given)


def random_file(version, count, seed, unknown=True):
    """Returns a file of `count` records of all types, 100 us apart; with `unknown` also of a type that is not known."""
    rng = random.Random(seed)
    days = [20231224, 20231225, 20231226, 20240101]
    mappings = [(f"SYM{number}", [(days[number % 3], days[number % 3 + 1], str(number))]) for number in range(1, 4)]
    begin = 1_703_462_399_000_000_000  # A second before midnight, UTC.
    types = sorted({rtype for rtype, _ in FIELDS} | set(SAME_LAYOUT))
    made = []
    for number in range(count):
        when = begin + number * 100_000
        rtype = types[number] if number < len(types) else rng.choice(types * 3 + [0x77] * unknown + [0xA0] * 30)
        made.append(struct.pack("<BBHIQ", 4, 0x77, 1, 1, when) if rtype == 0x77 else random_record(rng, version, rtype, when))
    return file_bytes(version, made, mappings=mappings, pad=rng.randrange(8))

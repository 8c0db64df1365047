"""LOBSTER message and orderbook files independently of the feed: slow, exact decimals, standard library only.

`rows(text, date, symbol)` gives the rows that docs/feeds/lobster.md promises, as {table: [{column: value}]}; columns
that a message does not fill are absent. `book` is the text of the orderbook file. `random_day` makes lines of every
type, `random_book` a book after each of them.
"""

import collections
import datetime
import decimal
import random
import zoneinfo

ACTIONS = {1: "A", 2: "X", 3: "D", 4: "E"}


def midnight_ns(date, zone="America/New_York"):
    """Midnight of a day such as 2012.06.21, in ns since 2000-01-01 UTC."""
    day = datetime.datetime.strptime(date, "%Y.%m.%d").replace(tzinfo=zoneinfo.ZoneInfo(zone))
    return (int(day.timestamp()) - 946_684_800) * 1_000_000_000


def book_levels(line):
    """Returns the bids and the asks of a line as {price: size}, best first."""
    fields = [int(field) for field in line.split(",")]
    sides = {}
    for side, at in (("S", 0), ("B", 2)):
        pairs = zip(fields[at::4], fields[at + 1::4])
        sides[side] = {price: size for price, size in pairs if abs(price) != 9_999_999_999 and size > 0}
    return sides


def _book_rows(tables, head, before, after):
    best = {side: [next(iter(book[side].items()), None) for book in (before, after)] for side in "BS"}
    if any(old != new for old, new in best.values()):
        quote = dict(head)
        for side, price, size in (("B", "bid", "bsize"), ("S", "ask", "asize")):
            if best[side][1]:
                quote[price] = float(decimal.Decimal(best[side][1][0]) / 10_000)
                quote[size] = best[side][1][1]
        tables["quote"].append(quote)
    changes = []
    for side, order in (("B", -1), ("S", 1)):
        for price in sorted(before[side].keys() | after[side].keys(), key=lambda price, order=order: order * price):
            if before[side].get(price) != after[side].get(price):
                changes.append({**head, "side": side, "price": float(decimal.Decimal(price) / 10_000),
                                "size": after[side].get(price, 0), "complete": False})
    if changes:
        changes[-1]["complete"] = True
    tables["level"].extend(changes)


def rows(text, date, symbol, book=None):
    tables = collections.defaultdict(list)
    midnight = midnight_ns(date)
    views = [{"B": {}, "S": {}}]
    if book is not None:
        views += [book_levels(line) for line in book.split()]
        if not book.endswith("\n"):
            # The last bid of a line without an end may have been cut off.
            bids = views[-1]["B"]
            last, _ = bids.popitem()
            worse = [price for price in views[-2]["B"] if price < min(bids, default=last + 1)]
            if worse:
                bids[worse[0]] = views[-2]["B"][worse[0]]
    for seq, line in enumerate(text.split(), 1):
        time, kind, order, size, price, direction = line.split(",")
        kind = int(kind)
        ns = (decimal.Decimal(time) * 10**9).to_integral_value(decimal.ROUND_HALF_UP)
        head = {"time": midnight + int(ns), "sym": symbol, "seq": seq}
        if book is not None:
            _book_rows(tables, head, views[seq - 1], views[seq])
        if kind == 7:
            tables["status"].append({**head, "kind": "trading", "state": price})
            continue
        about = {**head, "price": float(decimal.Decimal(price) / 10_000), "size": int(size)}
        side = {"side": {"1": "B", "-1": "S"}[direction]}
        if kind in ACTIONS:
            tables["order"].append({**about, **side, "action": ACTIONS[kind], "id": int(order)})
        if kind in (4, 5):
            tables["trade"].append({**about, **side, "cond": str(kind)})
        if kind == 6:
            tables["trade"].append({**about, "cond": "6" + order})
    return dict(tables)


def _seconds(ns, rng):
    """As LOBSTER writes them: trailing zeros are left out, and some have the noise of a float."""
    if rng.random() < 0.1:
        return f"{ns // 10**9}.{ns % 10**9:09}{rng.choice(('000', '001', '499', '4999'))}"
    if rng.random() < 0.1:
        return f"{(ns - 1) // 10**9}.{(ns - 1) % 10**9:09}{rng.choice(('5', '999', '500000'))}"
    text = f"{ns // 10**9}.{ns % 10**9:09}".rstrip("0")
    return text.rstrip(".")


def random_day(count, seed):
    """Returns the text of `count` messages."""
    rng = random.Random(seed)
    lines, ns = [], 34_200 * 10**9
    for _ in range(count):
        ns += rng.choice((0, 1, 1000, rng.randrange(1_000_000)))
        kind = rng.choice((1, 1, 1, 2, 3, 3, 4, 5, 6, 7))
        order, size, price = rng.randrange(1 << 40), rng.randrange(1, 1_000_000), rng.randrange(1, 2_000_000_000)
        direction = rng.choice((1, -1))
        if kind == 5:
            order = 0
        if kind == 6:
            order, direction = -rng.randrange(1, 5), -1
        if kind == 7:
            order, size, price, direction = 0, 0, rng.choice((-1, 0, 1)), -1
        lines.append(f"{_seconds(ns, rng)},{kind},{order},{size},{price},{direction}\n")
    return "".join(lines)


def random_book(count, seed, levels=5):
    """Returns the text of an orderbook file for `count` messages. Sides are sometimes short, or empty."""
    rng = random.Random(seed)
    sides = {"B": {}, "S": {}}
    lines = []
    for _ in range(count):
        side = rng.choice("BS")
        for _ in range(rng.choice((0, 1, 1, 2))):
            price = rng.randrange(5_000, 5_020) + (20 if side == "S" else 0)
            size = rng.choice((0, rng.randrange(1, 1000)))
            if size:
                sides[side][price] = size
            else:
                sides[side].pop(price, None)
        if rng.random() < 0.01:
            sides[side].clear()
        asks = sorted(sides["S"].items())[:levels]
        bids = sorted(sides["B"].items(), reverse=True)[:levels]
        asks += [(9_999_999_999, 0)] * (levels - len(asks))
        bids += [(-9_999_999_999, 0)] * (levels - len(bids))
        lines.append(",".join(f"{ask[0]},{ask[1]},{bid[0]},{bid[1]}" for ask, bid in zip(asks, bids)) + "\n")
    return "".join(lines)

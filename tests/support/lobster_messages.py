"""LOBSTER message files independently of the feed: slow, exact decimals, standard library only.

`rows(text, date, symbol)` gives the rows that docs/feeds/lobster.md promises, as {table: [{column: value}]}; columns
that a message does not fill are absent. `random_day` makes lines of every type.
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


def rows(text, date, symbol):
    tables = collections.defaultdict(list)
    midnight = midnight_ns(date)
    for seq, line in enumerate(text.split(), 1):
        time, kind, order, size, price, direction = line.split(",")
        kind = int(kind)
        ns = (decimal.Decimal(time) * 10**9).to_integral_value(decimal.ROUND_HALF_UP)
        head = {"time": midnight + int(ns), "sym": symbol, "seq": seq}
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

"""CSV files of Tardis independently of the feed: slow, standard library only.

`rows(text)` gives the rows that docs/feeds/tardis.md promises, as {table: [{column: value}]}; columns that a line does
not fill are absent. `random_file` makes the text of a file of one kind.
"""

import collections
import csv
import io
import random

KINDS = ("incremental_book_L2", "trades", "quotes", "book_snapshot_3")
SIDES = {"buy": "B", "sell": "S", "bid": "B", "ask": "S", "unknown": " ", "": " "}


def rows(text):
    lines = list(csv.DictReader(io.StringIO(text)))
    tables = collections.defaultdict(list)
    state = {}
    for seq, line in enumerate(lines, 1):
        head = {"sym": line["symbol"], "seq": seq, "recv": _time(line["local_timestamp"]), "venue": line["exchange"]}
        if line["timestamp"]:
            head["time"] = _time(line["timestamp"])
        following = lines[seq] if seq < len(lines) else None
        if "is_snapshot" in line:
            _changes(tables["level"], state, head, line, following)
        elif "id" in line:
            tables["trade"].append({**head, "price": float(line["price"]), "size": float(line["amount"]),
                                    "side": SIDES[line["side"]], "id": line["id"]})
        elif "bid_price" in line:
            tables["quote"].append({**head, **{ours: float(line[name]) for ours, name in (
                ("bid", "bid_price"), ("bsize", "bid_amount"), ("ask", "ask_price"), ("asize", "ask_amount"))
                if line[name]}})
        else:
            _book(tables, state, head, line)
    return {name: found for name, found in tables.items() if found}


def _time(us):
    return int(us) * 1000 - 946_684_800 * 10**9


def _changes(levels, state, head, line, following):
    snapshot = line["is_snapshot"] == "true"
    if snapshot and not state.get(head["sym"]):
        levels.append({**head, "complete": False, "cond": "clear"})
    state[head["sym"]] = snapshot
    same = following is not None and all(following[key] == line[key] for key in ("symbol", "timestamp", "local_timestamp"))
    levels.append({**head, "side": SIDES[line["side"]], "price": float(line["price"]), "size": float(line["amount"]),
                   "complete": not same, "cond": "snapshot" if snapshot else ""})


def _book(tables, state, head, line):
    """Compares whole books, as sets."""
    sides = {}
    for side, name in (("B", "bids"), ("S", "asks")):
        sides[side] = {}
        for at in range(100):
            if line.get(f"{name}[{at}].price") and float(line[f"{name}[{at}].amount"]):
                sides[side][float(line[f"{name}[{at}].price"])] = float(line[f"{name}[{at}].amount"])
    before = state.get(head["sym"], {"B": {}, "S": {}})
    state[head["sym"]] = sides

    def best(book):
        found = {}
        if book["B"]:
            found |= {"bid": max(book["B"]), "bsize": book["B"][max(book["B"])]}
        if book["S"]:
            found |= {"ask": min(book["S"]), "asize": book["S"][min(book["S"])]}
        return found

    if best(sides) != best(before):
        tables["quote"].append({**head, **best(sides)})
    changed = []
    for side, order in (("B", -1), ("S", 1)):
        prices = set(sides[side]) | set(before[side])
        changed += [{**head, "side": side, "price": price, "size": sides[side].get(price, 0.0), "complete": False}
                    for price in sorted(prices, key=lambda price: order * price)
                    if sides[side].get(price) != before[side].get(price)]
    if changed:
        changed[-1]["complete"] = True
    tables["level"] += changed


def random_file(kind, count, seed):
    rng = random.Random(seed)
    us = 1_600_000_000_000_000

    def amount():
        return rng.choice(("0", "1", "0.0123", "1e-8", f"{rng.random() * 1000:.8f}", f"{rng.randrange(10**9)}"))

    def price():
        return f"{rng.randrange(1000, 1040) / 100}"

    levels = [f"{side}[{at}].{what}" for at in range(3) for side in ("asks", "bids") for what in ("price", "amount")]
    columns = {"incremental_book_L2": ["is_snapshot", "side", "price", "amount"], "trades": ["id", "side", "price", "amount"],
               "quotes": ["ask_amount", "ask_price", "bid_price", "bid_amount"], "book_snapshot_3": levels}[kind]
    lines = [",".join(["exchange", "symbol", "timestamp", "local_timestamp", *columns])]
    snapshot = True
    for _ in range(count):
        if rng.random() < 0.6:
            us += rng.randrange(1, 300)
        if rng.random() < 0.02:
            snapshot = not snapshot
        fields = ["binance", rng.choice(("BTCUSDT", "BTCUSDT", "ETH-PERP")), str(us - 17) if rng.random() < 0.95 else "", str(us)]
        if kind == "incremental_book_L2":
            fields += [str(snapshot).lower(), rng.choice(("bid", "ask")), price(), amount()]
        elif kind == "trades":
            fields += [rng.choice((str(rng.getrandbits(60)), f"{rng.getrandbits(64):016x}-b", "")),
                       rng.choice(("buy", "sell", "unknown")), price(), amount()]
        elif kind == "quotes":
            fields += rng.choice(([amount(), price(), price(), amount()], ["", "", price(), amount()], ["", "", "", ""]))
        else:
            asks = sorted(rng.sample(range(1010, 1020), rng.choice((0, 1, 3, 3, 3))))
            bids = sorted(rng.sample(range(1000, 1010), rng.choice((0, 2, 3, 3, 3))), reverse=True)
            for at in range(3):
                for side in (asks, bids):
                    fields += [f"{side[at] / 100}", rng.choice(("1", "2.5", "0.001"))] if at < len(side) else ["", ""]
        lines.append(",".join(fields))
    return "\n".join(lines) + "\n"

"""Generates a day of trades and quotes in the shape of NYSE TAQ: the columns and types that the KX benchmark's
queries name, with made-up rows. Writes them for peers_tables and the other systems.

Times are nanoseconds since midnight, and all times of a table differ, so that an as-of join has one answer. They
are whole microseconds, to which DuckDB's queries round them. A quote has a bid, an ask or both, so that the sum
of its sizes is never zero."""

import json
import pathlib

import numpy as np

DATE = "2026-04-01"
NS_PER_S, US_PER_S, NS_PER_US = 1_000_000_000, 1_000_000, 1_000
NULL_NS = np.iinfo(np.int64).min
TRADES_PER_QUOTE = 0.1
NAMED = 50  # Symbols of `fiftyInstrs`, a tenth of which do not trade, as in the benchmark.
RARE = 1000  # Symbols of `thousandInfreqInstrs`, most of which do not trade on a small day.

TABLES = {
    "trade": {
        "time": "n",
        "ex": "c",
        "sym": "s",
        "cond": "s",
        "size": "e",
        "price": "e",
        "stop": "s",
        "corr": "h",
        "seq": "i",
        "tradeId": "j",
        "source": "c",
        "tradeReportingFacility": "s",
        "participantTimestamp": "n",
        "tradeReportingFacilityTRFTimestamp": "n",
        "tradeThroughExemptIndicator": "b",
    },
    "quote": {
        "time": "n",
        "ex": "c",
        "sym": "s",
        "bid": "e",
        "bsize": "i",
        "ask": "e",
        "asize": "i",
        "cond": "c",
        "seq": "i",
        "nationalBBOIndicator": "c",
        "finraBBOIndicator": "c",
        "finraADFMPIDIndicator": "c",
        "corr": "c",
        "source": "c",
        "retailInterestIndicator": "c",
        "shortSaleRestrictionIndicator": "c",
        "LULDBBOIndicator": "c",
        "SIPGeneratedMessageIdentifier": "c",
        "nationalBBOLULDIndicator": "c",
        "participantTimestamp": "n",
        "FINRAADFTimestamp": "n",
        "FINRAADFMarketParticipantQuoteIndicator": "c",
        "securityStatusIndicator": "c",
    },
}
NUMPY = {"n": "<i8", "c": "S1", "s": "<i4", "e": "<f4", "h": "<i2", "i": "<i4", "j": "<i8", "b": "?"}

EXCHANGES = dict(
    zip(
        "ABCDHJKLMNPQSTUVXYZ",
        (f"Exchange {letter}" for letter in "ABCDHJKLMNPQSTUVXYZ"),
    )
)
# Share of the day's rows of each exchange; L and M are rare.
EXCHANGE_WEIGHTS = [1, 2, 1, 12, 1, 3, 9, 0.02, 0.05, 12, 14, 18, 0.01, 1, 4, 5, 2, 4, 10.92]
TIME_BUCKETS = {
    "closed": 0,
    "preopen": 4 * 3600,
    "open": 9 * 3600,
    "morning": 9 * 3600 + 1800,
    "afternoon": 12 * 3600,
    "afterhours": 16 * 3600,
    "maintenance": 20 * 3600,
}


def symbol_names(count, rng):
    """Returns names that begin with Z, as in the benchmark's smallest day."""
    names = set()
    while len(names) < count:
        length = int(rng.integers(1, 4))
        text = "Z" + "".join(chr(65 + int(letter)) for letter in rng.integers(0, 26, length))
        names.add(text + (".W" if rng.random() < 0.03 else ""))
    return sorted(names)


def _times(rows, rng):
    """Returns ascending, distinct times: dense in the session, sparse around it, densest at its ends."""
    early, late = int(rows * 0.02), int(rows * 0.03)
    session = rows - early - late
    opening, closing = session // 10, session // 5
    parts = [
        rng.integers(4 * 3600 * US_PER_S, 34_200 * US_PER_S, early),
        34_200 * US_PER_S + (rng.random(opening) ** 2 * 1800 * US_PER_S).astype(np.int64),
        rng.integers(34_200 * US_PER_S, 57_600 * US_PER_S, session - opening - closing),
        57_600 * US_PER_S - (rng.random(closing) ** 2 * 1800 * US_PER_S).astype(np.int64),
        rng.integers(57_600 * US_PER_S, 20 * 3600 * US_PER_S, late),
    ]
    times = np.sort(np.concatenate(parts))
    number = np.arange(rows)
    return (np.maximum.accumulate(times - number) + number) * NS_PER_US


def _walks(symbols, count, rng, steps):
    """Returns a price in cents for each row: a random walk of each symbol."""
    order = np.argsort(symbols.astype(np.uint16), kind="stable")
    moves = rng.choice(np.array(steps, np.int32), len(symbols))
    total = np.cumsum(moves[order], dtype=np.int64)
    first = np.searchsorted(symbols[order], np.arange(count))
    before = np.where(first > 0, total[np.maximum(first - 1, 0)], 0)
    base = rng.integers(500, 30_000, count)
    walked = np.empty(len(symbols), np.int64)
    walked[order] = total - before[symbols[order]]
    return base[symbols] + np.mod(walked + 400, 800) - 400  # Stays near the start.


def _letters(text, weights, rows, rng):
    shares = np.array(weights) / np.sum(weights)
    return np.frombuffer(text.encode(), "S1")[rng.choice(len(text), rows, p=shares)]


def _blank(rows):
    return np.full(rows, b" ", "S1")


def _activity(count, rows, rng):
    shares = 1 / np.arange(1, count + 1)
    return rng.permutation(count)[rng.choice(count, rows, p=shares / shares.sum())].astype(np.int32)


def _quotes(rows, count, rng):
    time = _times(rows, rng)
    sym = _activity(count, rows, rng)
    middle = _walks(sym, count, rng, (-1, 0, 0, 1))
    spread = rng.integers(1, 12, rows)
    bsize = (rng.integers(1, 20, rows) * 100).astype(np.int32)
    asize = (rng.integers(1, 20, rows) * 100).astype(np.int32)
    one_sided = rng.random(rows)
    bsize[one_sided < 0.01], asize[one_sided > 0.99] = 0, 0
    columns = {name: _blank(rows) for name, letter in TABLES["quote"].items() if letter == "c"}
    columns |= {
        "time": time,
        "sym": sym,
        "ex": _letters("".join(EXCHANGES), EXCHANGE_WEIGHTS, rows, rng),
        "bid": np.where(bsize > 0, (middle - spread) / 100, 0).astype(np.float32),
        "bsize": bsize,
        "ask": np.where(asize > 0, (middle + spread) / 100, 0).astype(np.float32),
        "asize": asize,
        "cond": _letters("RYOH", (96, 2, 1, 1), rows, rng),
        "seq": np.arange(1, rows + 1, dtype=np.int32),
        "nationalBBOIndicator": _letters("0124 ", (70, 10, 15, 4, 1), rows, rng),
        "source": _letters("NC", (60, 40), rows, rng),
        "shortSaleRestrictionIndicator": _letters("0AC ", (50, 2, 3, 45), rows, rng),
        "participantTimestamp": time - NS_PER_US * rng.integers(10, 800, rows),
        "FINRAADFTimestamp": np.full(rows, NULL_NS),
    }
    return columns


def _trades(rows, count, rng):
    time = _times(rows, rng)
    ex = _letters("".join(EXCHANGES), EXCHANGE_WEIGHTS, rows, rng)
    # Prices stay for several trades; some lots are a fraction of a share, and a few are blocks.
    size = np.where(rng.random(rows) < 0.3, 100, rng.integers(1, 400, rows)).astype(np.float32)
    size = np.where(rng.random(rows) < 0.02, size + np.float32(0.5), size)
    size = np.where(rng.random(rows) < 0.0002, size * 5000, size).astype(np.float32)
    seq = np.arange(1, rows + 1, dtype=np.int32)
    late = rng.random(rows) < 0.001
    seq[late] = np.maximum(1, seq[late] - 5000)
    facility = ex == b"D"
    columns = {
        "time": time,
        "ex": ex,
        "sym": _activity(count, rows, rng),
        "cond": rng.choice(6, rows, p=(0.4, 0.25, 0.2, 0.1, 0.04, 0.01)).astype(np.int32),
        "size": size,
        "stop": (rng.random(rows) < 0.01).astype(np.int32),
        "corr": (rng.random(rows) < 0.001).astype(np.int16),
        "seq": seq,
        "tradeId": rng.permutation(rows).astype(np.int64) + 1,
        "source": _letters("NC", (60, 40), rows, rng),
        "tradeReportingFacility": np.where(facility, rng.integers(1, 3, rows), 0).astype(np.int32),
        "participantTimestamp": time - NS_PER_US * rng.integers(10, 800, rows),
        "tradeReportingFacilityTRFTimestamp": np.where(facility, time - 5_000, NULL_NS),
        "tradeThroughExemptIndicator": rng.random(rows) < 0.2,
    }
    columns["price"] = (_walks(columns["sym"], count, rng, (-1, 0, 0, 0, 0, 1)) / 100).astype(np.float32)
    return columns


def _parameters(names, quotes, rng):
    counts = np.bincount(quotes["sym"], minlength=len(names))
    by_count = [names[number] for number in np.argsort(counts, kind="stable") if counts[number]]

    def unknown(wanted):
        return [f"y{number:03}" for number in range(wanted)]

    named = [by_count[number] for number in rng.permutation(len(by_count))[: NAMED * 9 // 10]]
    rare = by_count[len(by_count) // 10 : -1][: RARE * 98 // 100]
    return {
        "freqInstr": by_count[-1],
        "infreqInstr": by_count[len(by_count) // 5],
        "fiftyInstrs": [str(name) for name in rng.permutation(named + unknown(NAMED - len(named)))],
        "thousandInfreqInstrs": [str(name) for name in rng.permutation(rare + unknown(RARE - len(rare)))],
    }


def write(directory, quotes, symbols, seed=1):
    """Creates a day of `quotes` quotes and a tenth as many trades below `directory`."""
    directory = pathlib.Path(directory)
    rng = np.random.default_rng(seed)
    names = symbol_names(symbols, rng)
    # The first value of each is the null, as the sources leave these fields blank.
    texts = {
        "sym": names,
        "cond": ["", "@", "@ I", "@F I", "@ T", "@6 X"],
        "stop": ["", "N"],
        "tradeReportingFacility": ["", "N", "Q"],
    }
    quote = _quotes(quotes, symbols, rng)
    tables = {"trade": _trades(max(1, int(quotes * TRADES_PER_QUOTE)), symbols, rng), "quote": quote}
    for table, types in TABLES.items():
        for name, letter in types.items():
            path = directory / f"{table}.{name}"
            tables[table][name].astype(NUMPY[letter], copy=False).tofile(path)
            if letter == "s":
                (directory / f"{path.name}.names").write_text("\n".join(texts[name]) + "\n", encoding="ascii")
    schemas = (
        f"{table} " + ", ".join(f"{name} {letter}" for name, letter in types.items()) for table, types in TABLES.items()
    )
    (directory / "tables").write_text("\n".join(schemas) + "\n", encoding="ascii")
    (directory / "parameters.json").write_text(json.dumps(_parameters(names, quote, rng)), encoding="ascii")


class TaqDay:
    """A day that `write` created, with mapped columns."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.parameters = json.loads((self.directory / "parameters.json").read_text(encoding="ascii"))

    def column(self, table, name):
        return np.memmap(self.directory / f"{table}.{name}", NUMPY[TABLES[table][name]], mode="r")

    def names(self, table, name):
        return (self.directory / f"{table}.{name}.names").read_text(encoding="ascii").split("\n")[:-1]

    def arrow(self, table):
        """Returns the table with times as int64 and texts as dictionaries; blanks are empty texts, null times null."""
        import pyarrow as pa

        columns = {}
        for name, letter in TABLES[table].items():
            values = self.column(table, name)
            if letter == "s":
                columns[name] = pa.DictionaryArray.from_arrays(pa.array(values), pa.array(self.names(table, name)))
            elif letter == "c":
                codes = values.view(np.uint8)
                known = np.flatnonzero(np.bincount(codes, minlength=256))
                place = np.zeros(256, np.int32)
                place[known] = np.arange(len(known))
                texts = [chr(code).strip() for code in known]
                columns[name] = pa.DictionaryArray.from_arrays(pa.array(place[codes]), pa.array(texts))
            elif letter == "n":
                columns[name] = pa.array(values, mask=values == NULL_NS)
            else:
                columns[name] = pa.array(values)
        return pa.table(columns)

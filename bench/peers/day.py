"""The day's columns, as peers_day wrote them, in two layouts: `captured`, in order of arrival, and `sorted` by
symbol and then time. Every system gets the same rows."""

import pathlib

import numpy as np

UNIX_NS_OF_KDB_EPOCH = 946_684_800_000_000_000
STAMP_NS = 1_000_000  # Times are whole milliseconds: see captured_day.h.

TYPES = {
    "trade": {"time": "<i8", "sym": "<i4", "price": "<f8", "size": "<i4", "ex": "S1"},
    "quote": {"time": "<i8", "sym": "<i4", "bid": "<f8", "ask": "<f8", "bsize": "<i8", "asize": "<i8", "ex": "S1"},
}
LAYOUTS = ("captured", "sorted")


class Day:
    """Columns are mapped arrays. `time` is ns since 1970, `sym` an index into `names`.

    Two columns are not in the capture. `row` is the number of a row in order of arrival. `order_ns` is a time
    without ties, for systems whose asof join does not define which of several equal times it takes. For a quote
    it is the time plus, in nanoseconds, its rank among its symbol's quotes at that time; for a trade it is the
    time plus more nanoseconds than any of these."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.names = (self.directory / "symbols").read_text(encoding="ascii").split("\n")[:-1]

    def column(self, table, name, layout="captured"):
        types = TYPES[table] | {"row": "<i4", "order_ns": "<i8"}
        return np.memmap(self.directory / layout / f"{table}.{name}", types[name], mode="r")

    def columns(self, table, layout):
        return {name: self.column(table, name, layout) for name in [*TYPES[table], "row", "order_ns"]}

    def rows(self, table):
        return len(self.column(table, "sym"))

    def by_activity(self):
        """Returns the numbers of the symbols, the one with the most quotes first."""
        counts = np.bincount(self.column("quote", "sym"), minlength=len(self.names))
        return np.argsort(-counts, kind="stable")


def lay_out(directory):
    """Creates the two layouts in a folder that peers_day has filled. Removes raw files that are not needed."""
    directory = pathlib.Path(directory)
    for layout in LAYOUTS:
        (directory / layout).mkdir(exist_ok=True)
    for table, types in TYPES.items():
        captured = {name: np.fromfile(directory / f"{table}.{name}", kind) for name, kind in types.items()}
        captured["time"] += UNIX_NS_OF_KDB_EPOCH
        # For 16-bit numbers a stable sort is a radix sort; times within a symbol already ascend.
        by_symbol = np.argsort(captured["sym"].astype(np.uint16), kind="stable").astype(np.int32)
        captured["row"] = np.arange(len(by_symbol), dtype=np.int32)
        captured["order_ns"] = _times_without_ties(table, captured, by_symbol)
        for name, values in captured.items():
            values.tofile(directory / "captured" / f"{table}.{name}")
            values[by_symbol].tofile(directory / "sorted" / f"{table}.{name}")
        for file in directory.glob(f"{table}.*"):
            file.unlink()


def _times_without_ties(table, captured, by_symbol):
    if table == "trade":
        return captured["time"] + (STAMP_NS - 1)
    time, symbol = captured["time"][by_symbol], captured["sym"][by_symbol]
    first = np.empty(len(time), bool)
    first[0] = True
    first[1:] = (time[1:] != time[:-1]) | (symbol[1:] != symbol[:-1])
    number = np.arange(len(time))
    number -= np.maximum.accumulate(np.where(first, number, 0))
    if number.max(initial=0) >= STAMP_NS - 1:
        raise ValueError(f"{number.max()} quotes of one symbol at one time: expected fewer than {STAMP_NS - 1}")
    order = np.empty_like(time)
    order[by_symbol] = time + number
    return order

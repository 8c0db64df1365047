"""Reads QuantConnect LEAN tick archives independently of the feed, with Python's zipfile only."""

import collections
import datetime
import zipfile

NS_PER_MS = 1_000_000
NS_PER_DAY = 86_400_000 * NS_PER_MS

# A stack whose feed sends three symbols of the archives.
STACK = """
[tickerplant]
batch_ms = 10
[[rdb]]
[feed]
source = "lean"
path = "{path}"
symbols = ["aig", "bac", "ibm"]
[monitor]
progress_s = 0
"""


def day_start_ns(date):
    """Returns midnight of a date such as `2013.10.07` in ns since 2000-01-01, as in kdb+."""
    year, month, day = (int(part) for part in date.split("."))
    return (datetime.date(year, month, day) - datetime.date(2000, 1, 1)).days * NS_PER_DAY


def _lines(folder, symbol, date, kind):
    with zipfile.ZipFile(folder / symbol / f"{date.replace('.', '')}_{kind}.zip") as archive:
        (name,) = archive.namelist()
        yield from archive.read(name).decode("ascii").splitlines()


TradeSummary = collections.namedtuple("TradeSummary", "rows size first_ns last_ns last_price")
QuoteSummary = collections.namedtuple("QuoteSummary", "rows first_ns last_ns")


def trade_summary(folder, symbol, date):
    midnight = day_start_ns(date)
    rows = size = 0
    first = last = price = None
    for line in _lines(folder, symbol, date, "trade"):
        ms, price_text, size_text, *_ = line.split(",")
        last = midnight + int(ms) * NS_PER_MS
        first = last if first is None else first
        price = int(price_text) / 10_000
        size += int(size_text)
        rows += 1
    return TradeSummary(rows, size, first, last, price)


def quote_summary(folder, symbol, date):
    midnight = day_start_ns(date)
    times = [midnight + int(line.split(",", 1)[0]) * NS_PER_MS for line in _lines(folder, symbol, date, "quote")]
    return QuoteSummary(len(times), times[0], times[-1])


def trades(folder, symbol, date):
    """Yields (time, price, size) of each row."""
    midnight = day_start_ns(date)
    for line in _lines(folder, symbol, date, "trade"):
        ms, price, size, *_ = line.split(",")
        yield midnight + int(ms) * NS_PER_MS, int(price) / 10_000, int(size)


def quotes(folder, symbol, date):
    """Yields (time, exchange, bid, bid size, ask, ask size) of each row: that exchange's two-sided quote after the row,
    None for a side that has not occurred yet."""
    midnight = day_start_ns(date)
    sides = collections.defaultdict(lambda: [None, None, None, None])
    for line in _lines(folder, symbol, date, "quote"):
        ms, bid, bid_size, ask, ask_size, exchange, *_ = line.split(",")
        state = sides[exchange]
        if bid != "0" or bid_size != "0":
            state[0:2] = int(bid) / 10_000, int(bid_size)
        if ask != "0" or ask_size != "0":
            state[2:4] = int(ask) / 10_000, int(ask_size)
        yield (midnight + int(ms) * NS_PER_MS, exchange, *state)

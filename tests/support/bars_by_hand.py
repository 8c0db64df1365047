"""Minute and daily bars as aggengine/aggregate.h defines them, by a slow pass over LEAN archives that shares no
code with the engine: everything is recomputed for each bar, and sums are Python's integers, which are exact."""

import collections
import math

from tests.support import lean_archives

NS_PER_MINUTE = 60_000_000_000
TRADE = ("time", "open", "high", "low", "close", "volume", "vwap", "trades")
QUOTE = ("time", "bid", "ask", "high_bid", "low_ask", "spread", "quotes")


UNIT = 2 ** 80  # Every price in the archives is, as a float, a multiple of 1 / UNIT.


def _units(number):
    return int(math.ldexp(number, 80))


def _by_bar(rows, width_ns):
    bars = collections.OrderedDict()
    for row in sorted(rows, key=lambda row: row[0]):  # Stable: rows of one time keep their order.
        bars.setdefault(row[0] // width_ns, []).append(row)
    return bars


def trade_bars(path, symbol, date, width_ns):
    """Returns bar number -> row in the order of TRADE."""
    bars = {}
    for number, rows in _by_bar(lean_archives.trades(path, symbol, date), width_ns).items():
        prices = [price for _, price, _ in rows]
        volume = sum(size for _, _, size in rows)
        paid = sum(_units(price) * size for _, price, size in rows) / UNIT
        vwap = paid / volume if volume else None
        bars[number] = (rows[-1][0], prices[0], max(prices), min(prices), prices[-1], volume, vwap, len(rows))
    return bars


def _mean_spread(steps, begin_ns, end_ns, last):
    """Returns the mean of (time, spread in units or None) in order of time, each valid until the next one."""
    integral = over_ns = 0
    for (time_ns, spread), (next_ns, _) in zip(steps, steps[1:]):
        held_ns = min(next_ns, end_ns) - max(time_ns, begin_ns)
        if spread is not None and held_ns > 0:
            integral += spread * held_ns
            over_ns += held_ns
    return integral / UNIT / over_ns if over_ns else last


def quote_bars(path, symbol, date, width_ns):
    """Returns bar number -> row in the order of QUOTE."""
    quotes = [(time_ns, bid, ask, None if bid is None or ask is None else ask - bid)
              for time_ns, _, bid, _, ask, _ in lean_archives.quotes(path, symbol, date)]
    by_bar = _by_bar(quotes, width_ns)
    numbers = list(by_bar)
    bars = {}
    for at, (number, rows) in enumerate(by_bar.items()):
        # The initial spread is that of the previous bar; the last spread ends with the next bar.
        around = [by_bar[numbers[at - 1]][-1]] if at > 0 else []
        around += rows
        around += [by_bar[numbers[at + 1]][0]] if at + 1 < len(numbers) else []
        steps = [(row[0], None if row[3] is None else _units(row[3])) for row in around]
        bids = [row[1] for row in rows if row[1] is not None]
        asks = [row[2] for row in rows if row[2] is not None]
        spread = _mean_spread(steps, number * width_ns, (number + 1) * width_ns, rows[-1][3])
        bars[number] = (rows[-1][0], rows[-1][1], rows[-1][2], max(bids, default=None), min(asks, default=None),
                        spread, len(rows))
    return bars

"""The lines of the comparison: what is asked, in q, and what an answer consists of.

An answer is a dictionary of columns of equal length. `exact` columns are compared bit for bit, regardless of
the order of rows; `close` ones within a relative 1e-9, because sums of floats depend on the order of their
terms. If there are close columns, the exact ones are a key."""

import dataclasses

NS_PER_HOUR = 3_600_000_000_000
RELATIVE_TOLERANCE = 1e-9
EXCHANGES = "NQPZKBYXJD"


@dataclasses.dataclass(frozen=True)
class Line:
    name: str
    title: str
    q: str
    exact: tuple
    close: tuple = ()
    goal: float = None  # Factor over the best of the other systems, on tables as captured.
    symbol: int = None  # For the asof of one symbol: its number.


@dataclasses.dataclass(frozen=True)
class Questions:
    """The lines about one day, and the values that they use. Times are ns since 1970."""

    lines: tuple
    basket: tuple  # Numbers of the symbols of `basket`, 1 % of all.
    begin_ns: int  # Both inclusive.
    end_ns: int

    def __getitem__(self, name):
        return next(line for line in self.lines if line.name == name)


JOINED = ("time", "sym", "price", "size", "bid", "ask")


def questions(day):
    ranks = day.by_activity()
    symbols = len(day.names)
    busiest, tenth = int(ranks[0]), int(ranks[min(9, symbols - 1)])
    basket = tuple(int(number) for number in ranks[9::100])
    open_ns = int(day.column("quote", "time")[0]) // (NS_PER_HOUR // 2) * (NS_PER_HOUR // 2)
    begin_ns, end_ns = open_ns + NS_PER_HOUR, open_ns + 5 * NS_PER_HOUR

    def joined(trades):
        return f"select {','.join(JOINED)} from aj[`sym`time;{trades};quote]"

    def asof(name, number, title, goal):
        return Line(
            name,
            f"{title} ({day.names[number]})",
            joined(f"select from trade where sym=`{day.names[number]}"),
            JOINED,
            goal=goal,
            symbol=number,
        )

    names = "".join("`" + day.names[number] for number in basket)
    lines = (
        asof("asof_tenth", tenth, "asof join, tenth most liquid symbol", 20),
        asof("asof_busiest", busiest, "asof join, most liquid symbol", None),
        Line("asof_all", "asof join, all trades", joined("trade"), JOINED, goal=4),
        Line(
            "bars",
            "minute bars, OHLCV and VWAP",
            "select open:first price,high:max price,low:min price,close:last price,volume:sum size,"
            "vwap:size wavg price by sym,time.minute from trade",
            ("sym", "minute", "open", "high", "low", "close", "volume"),
            ("vwap",),
            2,
        ),
        Line(
            "last", "last quote per symbol", "select last bid,last ask by sym from quote", ("sym", "bid", "ask"), goal=2
        ),
        Line(
            "basket",
            "volume-weighted bid, 1 % of the symbols, 4 hours",
            f"select bsize wavg bid by sym from quote where sym in {names},"
            f"time within {_timestamp(begin_ns)} {_timestamp(end_ns)}",
            ("sym",),
            ("bid",),
            2,
        ),
        Line(
            "nbbo",
            "NBBO over ten exchanges, every update",
            "select time,sym,bid,ask from nbbo[`sym`ex`bid`ask;quote]",
            ("time", "sym", "bid", "ask"),
            goal=2,
        ),
        Line("max_time", "max time", "select time:enlist max time from quote", ("time",)),
    )
    return Questions(lines, basket, begin_ns, end_ns)


def _timestamp(unix_ns):
    import numpy as np

    return str(np.datetime64(unix_ns, "ns")).replace("-", ".").replace("T", "D")

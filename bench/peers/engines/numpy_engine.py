"""By hand in numpy, on columns sorted by symbol and time, with the first row of each symbol known: the code of
a programmer who knows the layout. One thread; answers are arrays."""

import numpy as np

from bench.peers.lines import EXCHANGES

NS_PER_MINUTE = 60_000_000_000


class Engine:
    def __init__(self, day, questions, layout, threads, folder):
        self.questions, self.symbols = questions, len(day.names)
        self.trade, self.quote = (
            {
                name: np.array(values)
                for name, values in day.columns(table, layout).items()
                if name not in ("row", "order_ns")
            }
            for table in ("trade", "quote")
        )
        for table in (self.trade, self.quote):
            table["begin"] = np.searchsorted(table["sym"], np.arange(self.symbols + 1))
            # Symbol and time as one ascending number: 13 bits, and 46 bits of ns since the day's first tick.
            first = min(self.trade["time"].min(), self.quote["time"].min())
            table["key"] = (table["sym"].astype(np.int64) << 46) + (table["time"] - first)

    @staticmethod
    def version():
        return np.__version__

    def close(self):
        pass

    def _joined(self, trades, found, known):
        trade, quote = self.trade, self.quote
        out = {name: trade[name][trades] for name in ("time", "sym", "price", "size")}
        for side in ("bid", "ask"):
            out[side] = np.where(known, quote[side][np.maximum(found, 0)], np.nan)
        return out

    def asof(self, number):
        trades = slice(*self.trade["begin"][number : number + 2])
        begin, end = self.quote["begin"][number : number + 2]
        found = np.searchsorted(self.quote["time"][begin:end], self.trade["time"][trades], "right") + begin - 1
        return self._joined(trades, found, found >= begin)

    def asof_all(self):
        found = np.searchsorted(self.quote["key"], self.trade["key"], "right") - 1
        known = (found >= 0) & (self.quote["sym"][np.maximum(found, 0)] == self.trade["sym"])
        return self._joined(slice(None), found, known)

    def bars(self):
        trade = self.trade
        minute = trade["time"] // NS_PER_MINUTE
        begin = np.flatnonzero(
            np.concatenate(([True], (minute[1:] != minute[:-1]) | (trade["sym"][1:] != trade["sym"][:-1])))
        )
        price, size = trade["price"], trade["size"].astype(np.int64)
        volume = np.add.reduceat(size, begin)
        return {
            "sym": trade["sym"][begin],
            "minute": minute[begin],
            "open": price[begin],
            "high": np.maximum.reduceat(price, begin),
            "low": np.minimum.reduceat(price, begin),
            "close": price[np.append(begin[1:], len(price)) - 1],
            "volume": volume,
            "vwap": np.add.reduceat(price * size, begin) / volume,
        }

    def last(self):
        begin = self.quote["begin"]
        present = np.flatnonzero(begin[1:] > begin[:-1])
        rows = begin[present + 1] - 1
        return {"sym": present, "bid": self.quote["bid"][rows], "ask": self.quote["ask"][rows]}

    def basket(self):
        quote, questions = self.quote, self.questions
        symbols, bids = [], []
        for number in questions.basket:
            begin, end = quote["begin"][number : number + 2]
            low, high = begin + np.searchsorted(quote["time"][begin:end], (questions.begin_ns, questions.end_ns + 1))
            if low < high:
                sizes = quote["bsize"][low:high]
                symbols.append(number)
                bids.append(np.dot(sizes, quote["bid"][low:high]) / sizes.sum())
        return {"sym": np.array(symbols, np.int64), "bid": np.array(bids, np.float64)}

    def nbbo(self):
        quote = self.quote
        rows = np.arange(len(quote["sym"]), dtype=np.int32)
        begin = np.repeat(quote["begin"][:-1].astype(np.int32), np.diff(quote["begin"]))
        best = {"bid": np.full(len(rows), -np.inf), "ask": np.full(len(rows), np.inf)}
        for ex in EXCHANGES:
            last = np.maximum.accumulate(np.where(quote["ex"] == ex.encode(), rows, -1))
            known = last >= begin
            for side, better in (("bid", np.fmax), ("ask", np.fmin)):
                better(best[side], quote[side][np.maximum(last, 0)], out=best[side], where=known)
        return {"time": quote["time"], "sym": quote["sym"], **best}

    def max_time(self):
        return {"time": np.array([self.quote["time"].max()])}

    def lines(self):
        questions = self.questions
        return {
            "asof_tenth": lambda: self.asof(questions["asof_tenth"].symbol),
            "asof_busiest": lambda: self.asof(questions["asof_busiest"].symbol),
            "asof_all": self.asof_all,
            "bars": self.bars,
            "last": self.last,
            "basket": self.basket,
            "nbbo": self.nbbo,
            "max_time": self.max_time,
        }

    def columns(self, name, answer):
        return answer | ({"minute": answer["minute"] % (24 * 60)} if "minute" in answer else {})

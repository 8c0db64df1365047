"""pandas: data frames, symbols as categories. It uses one thread."""

import numpy as np
import pandas as pd

from bench.peers.lines import EXCHANGES


class Engine:
    def __init__(self, day, questions, layout, threads, folder):
        self.day, self.questions, self.layout = day, questions, layout
        frames = {}
        for table in ("trade", "quote"):
            columns = {
                name: np.array(values)
                for name, values in day.columns(table, layout).items()
                if name not in ("row", "order_ns")
            }
            columns["time"] = columns["time"].view("M8[ns]")
            columns["sym"] = pd.Categorical.from_codes(columns["sym"], day.names)
            frames[table] = pd.DataFrame(columns, copy=False)
        self.trade, self.quote = frames["trade"], frames["quote"]

    @staticmethod
    def version():
        return pd.__version__

    def close(self):
        pass

    def asof(self, number):
        symbol = self.day.names[number]
        trades = self.trade.loc[self.trade["sym"] == symbol, ["time", "sym", "price", "size"]]
        quotes = self.quote.loc[self.quote["sym"] == symbol, ["time", "bid", "ask"]]
        return pd.merge_asof(trades, quotes, on="time")

    def asof_all(self):
        return pd.merge_asof(
            self.trade[["time", "sym", "price", "size"]], self.quote[["time", "sym", "bid", "ask"]], on="time", by="sym"
        )

    def bars(self):
        trade = self.trade.assign(
            minute=self.trade["time"].astype("int64") // 60_000_000_000, value=self.trade["price"] * self.trade["size"]
        )
        bars = trade.groupby(["sym", "minute"], observed=True, sort=False).agg(
            open=("price", "first"),
            high=("price", "max"),
            low=("price", "min"),
            close=("price", "last"),
            volume=("size", "sum"),
            value=("value", "sum"),
        )
        bars["vwap"] = bars.pop("value") / bars["volume"]
        return bars.reset_index()

    def last(self):
        return self.quote.groupby("sym", observed=True, sort=False)[["bid", "ask"]].last().reset_index()

    def basket(self):
        questions, quote = self.questions, self.quote
        names = [self.day.names[number] for number in questions.basket]
        wanted = quote["time"].between(pd.Timestamp(questions.begin_ns), pd.Timestamp(questions.end_ns))
        rows = quote.loc[wanted & quote["sym"].isin(names), ["sym", "bid", "bsize"]]
        sums = rows.assign(value=rows["bid"] * rows["bsize"]).groupby("sym", observed=True)[["value", "bsize"]].sum()
        return (sums["value"] / sums["bsize"]).rename("bid").reset_index()

    def nbbo(self):
        quote = self.quote
        best = {}
        for side, better in (("bid", np.fmax), ("ask", np.fmin)):
            for ex in EXCHANGES:
                last = (
                    quote[side]
                    .where(quote["ex"] == ex.encode())
                    .groupby(quote["sym"], observed=True)
                    .ffill()
                    .to_numpy()
                )
                best[side] = better(best[side], last) if side in best else last
        return pd.DataFrame({"time": quote["time"], "sym": quote["sym"], **best}, copy=False)

    def max_time(self):
        return pd.DataFrame({"time": [self.quote["time"].max()]})

    def lines(self):
        questions = self.questions
        lines = {
            "asof_tenth": lambda: self.asof(questions["asof_tenth"].symbol),
            "asof_busiest": lambda: self.asof(questions["asof_busiest"].symbol),
            "bars": self.bars,
            "last": self.last,
            "basket": self.basket,
            "nbbo": self.nbbo,
            "max_time": self.max_time,
        }
        # merge_asof takes only tables whose times ascend over all symbols.
        return lines | ({"asof_all": self.asof_all} if self.layout == "captured" else {})

    def columns(self, name, answer):
        out = {column: answer[column] for column in answer.columns}
        if "sym" in out:
            out["sym"] = out["sym"].cat.codes
        if "time" in out:
            out["time"] = out["time"].astype("datetime64[ns]").astype("int64")
        if "minute" in out:
            out["minute"] = out["minute"] % (24 * 60)
        return {column: values.to_numpy() for column, values in out.items()}

"""Polars: data frames, symbols as Enum, lazy queries."""

import numpy as np
import polars as pl
import pyarrow as pa

from bench.peers.lines import EXCHANGES


def _enum(codes, names):
    """Returns numbers into `names` as an Enum, without looking up each name."""
    values = pa.DictionaryArray.from_arrays(pa.array(np.asarray(codes, np.uint32)), pa.array(names))
    return pl.from_arrow(values).cast(pl.Enum(names))


class Engine:
    def __init__(self, day, questions, layout, threads, folder):
        if pl.thread_pool_size() != threads:
            raise ValueError(f"polars has {pl.thread_pool_size()} threads, expected {threads} (POLARS_MAX_THREADS)")
        self.day, self.questions = day, questions
        self.frames = {}
        exchanges = sorted(EXCHANGES)
        for table in ("trade", "quote"):
            columns = {
                name: np.array(values)
                for name, values in day.columns(table, layout).items()
                if name not in ("row", "order_ns")
            }
            columns["time"] = columns["time"].view("M8[ns]")
            columns["sym"] = _enum(columns["sym"], day.names)
            columns["ex"] = _enum(np.searchsorted(np.array(exchanges, "S1"), columns["ex"]), exchanges)
            frame = pl.DataFrame(columns)
            # Declares the order, so that queries need not detect it.
            self.frames[table] = frame.with_columns(pl.col("time" if layout == "captured" else "sym").set_sorted())
        self.trade, self.quote = self.frames["trade"].lazy(), self.frames["quote"].lazy()

    @staticmethod
    def version():
        return pl.__version__

    def close(self):
        pass

    def asof(self, number):
        symbol = self.day.names[number]
        trades = self.trade.filter(pl.col("sym") == symbol).select("time", "sym", "price", "size")
        quotes = self.quote.filter(pl.col("sym") == symbol).select("time", "bid", "ask")
        return trades.join_asof(quotes, on="time", check_sortedness=False).collect()

    def asof_all(self):
        trades = self.trade.select("time", "sym", "price", "size")
        quotes = self.quote.select("time", "sym", "bid", "ask")
        return trades.join_asof(quotes, on="time", by="sym", check_sortedness=False).collect()

    def bars(self):
        price, size = pl.col("price"), pl.col("size").cast(pl.Int64)
        return (
            self.trade.group_by("sym", minute=pl.col("time").dt.epoch("ms") // 60_000)
            .agg(
                open=price.first(),
                high=price.max(),
                low=price.min(),
                close=price.last(),
                volume=size.sum(),
                vwap=(price * size).sum() / size.sum(),
            )
            .collect()
        )

    def last(self):
        return self.quote.group_by("sym").agg(pl.col("bid").last(), pl.col("ask").last()).collect()

    def basket(self):
        questions = self.questions
        names = pl.Series([self.day.names[number] for number in questions.basket], dtype=pl.Enum(self.day.names))
        begin, end = (pl.lit(ns).cast(pl.Datetime("ns")) for ns in (questions.begin_ns, questions.end_ns))
        return (
            self.quote.filter(pl.col("sym").is_in(names.implode()), pl.col("time").is_between(begin, end))
            .group_by("sym")
            .agg(bid=(pl.col("bid") * pl.col("bsize")).sum() / pl.col("bsize").sum())
            .collect()
        )

    def nbbo(self):
        def last(side):
            return [pl.when(pl.col("ex") == ex).then(pl.col(side)).forward_fill().over("sym") for ex in EXCHANGES]

        return self.quote.select(
            "time", "sym", bid=pl.max_horizontal(last("bid")), ask=pl.min_horizontal(last("ask"))
        ).collect()

    def max_time(self):
        return self.quote.select(pl.col("time").max()).collect()

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
        out = {column: answer[column] for column in answer.columns}
        if "sym" in out:
            out["sym"] = out["sym"].to_physical()
        if "time" in out:
            out["time"] = out["time"].dt.epoch("ns")
        if "minute" in out:
            out["minute"] = out["minute"] % (24 * 60)
        return {column: values.to_numpy() for column, values in out.items()}

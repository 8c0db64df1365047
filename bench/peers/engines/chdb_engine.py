"""chDB, ClickHouse in a process: MergeTree tables in the run's folder, in the order of the layout; symbols as
LowCardinality; answers in Arrow's format."""

import os
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from chdb import session

from bench.peers.lines import EXCHANGES

KINDS = {
    "time": "DateTime64(3, 'UTC')",
    "sym": "LowCardinality(String)",
    "price": "Float64",
    "size": "Int32",
    "ex": "LowCardinality(String)",
    "bid": "Float64",
    "ask": "Float64",
    "bsize": "Int64",
    "asize": "Int64",
    "row": "UInt32",
    "order_ns": "Int64",
}
KEYS = {"captured": "row", "sorted": "sym, time, row"}


def write_parquet(day, table, layout, path):
    """Writes a table's rows to a file that many systems read."""
    columns = day.columns(table, layout)
    exchanges = sorted(EXCHANGES)
    arrays = {
        name: pa.array(np.asarray(values)) for name, values in columns.items() if name not in ("time", "sym", "ex")
    }
    arrays["time"] = pa.array(columns["time"].view("M8[ns]").astype("M8[ms]"))
    arrays["sym"] = pa.DictionaryArray.from_arrays(pa.array(np.asarray(columns["sym"])), pa.array(day.names))
    places = np.searchsorted(np.array(exchanges, "S1"), columns["ex"]).astype(np.int32)
    arrays["ex"] = pa.DictionaryArray.from_arrays(pa.array(places), pa.array(exchanges))
    pq.write_table(pa.table(arrays), path, compression="none", use_dictionary=["sym", "ex"])


class Engine:
    def __init__(self, day, questions, layout, threads, folder):
        self.day, self.questions = day, questions
        self.folder = f"{folder}/chdb"
        self.session = session.Session(self.folder)
        self.settings = f" settings max_threads={threads}, join_use_nulls=1"
        for table in ("trade", "quote"):
            path = f"{folder}/chdb.{table}.parquet"
            write_parquet(day, table, layout, path)
            columns = day.columns(table, layout)
            self.session.query(
                f"create table {table} ({', '.join(f'{name} {KINDS[name]}' for name in columns)}) "
                f"engine = MergeTree order by ({KEYS[layout]})"
            )
            self.session.query(
                f"insert into {table} select {', '.join(columns)} from file('{path}', Parquet)"
                f" settings max_insert_threads={threads}"
            )
            os.unlink(path)
            # One part, like a table that has not changed for a while.
            self.session.query(f"optimize table {table} final")

    def version(self):
        return self.session.query("select version()").data().strip().strip('"')

    def close(self):
        self.session.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def ask(self, sql):
        return self.session.query(sql + self.settings, "ArrowStream")

    def lines(self):
        questions = self.questions
        symbols = ",".join(f"'{self.day.names[number]}'" for number in questions.basket)
        # This join takes any of several equal times, so it uses times without ties.
        joined = (
            "select t.time as time, t.sym as sym, t.price as price, t.size as size, q.bid as bid, q.ask as ask "
            "from {} as t asof left join {} as q on t.sym = q.sym and t.order_ns >= q.order_ns"
        )
        last = "anyLast(if(ex = '{0}', {1}, null)) over by_symbol"
        bids = ", ".join(f"ifNull({last.format(ex, 'bid')}, 0)" for ex in EXCHANGES)
        asks = ", ".join(f"ifNull({last.format(ex, 'ask')}, inf)" for ex in EXCHANGES)
        texts = {
            "asof_all": joined.format("trade", "quote"),
            "bars": """select sym, intDiv(toUnixTimestamp(time), 60) as minute, argMin(price, row) as open,
                         max(price) as high, min(price) as low, argMax(price, row) as close, sum(size) as volume,
                         sum(size * price) / sum(size) as vwap
                       from trade group by sym, minute""",
            "last": "select sym, argMax(quote.bid, row) as bid, argMax(quote.ask, row) as ask from quote group by sym",
            "basket": f"""select sym, sum(bsize * quote.bid) / sum(bsize) as bid from quote
                          where sym in ({symbols})
                            and time between fromUnixTimestamp64Milli({questions.begin_ns // 1_000_000}, 'UTC')
                            and fromUnixTimestamp64Milli({questions.end_ns // 1_000_000}, 'UTC')
                          group by sym""",
            "nbbo": f"""select time, sym, greatest({bids}) as bid, least({asks}) as ask from quote
                        window by_symbol as
                          (partition by sym order by row rows between unbounded preceding and current row)""",
            "max_time": "select max(quote.time) as time from quote",
        }
        for name in ("asof_tenth", "asof_busiest"):
            where = f"where sym = '{self.day.names[questions[name].symbol]}'"
            texts[name] = joined.format(
                f"(select * from trade {where})", f"(select sym, order_ns, bid, ask from quote {where})"
            )
        return {name: lambda text=text: self.ask(text) for name, text in texts.items()}

    def columns(self, name, answer):
        table = pa.ipc.open_stream(pa.py_buffer(answer.bytes())).read_all()
        out = {column: table[column] for column in table.column_names}
        if "sym" in out:
            numbers = {text: number for number, text in enumerate(self.day.names)}
            codes = out["sym"].cast(pa.string()).combine_chunks().dictionary_encode()
            places = np.array([numbers[text] for text in codes.dictionary.to_pylist()])
            out["sym"] = places[codes.indices.to_numpy()]
        if "time" in out:
            out["time"] = out["time"].to_numpy().astype("M8[ns]").view(np.int64)
        if "minute" in out:
            out["minute"] = out["minute"].to_numpy() % (24 * 60)
        return {
            column: values if isinstance(values, np.ndarray) else values.to_numpy() for column, values in out.items()
        }

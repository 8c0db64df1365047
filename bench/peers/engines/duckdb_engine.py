"""DuckDB: an in-memory database, symbols and exchanges as ENUM, answers as Arrow tables."""

import functools

import duckdb
import numpy as np
import pandas as pd

from bench.peers.lines import EXCHANGES


class Engine:
    def __init__(self, day, questions, layout, threads, folder):
        self.day, self.questions = day, questions
        self.database = duckdb.connect()
        self.database.execute(f"set threads={threads}")
        self.database.execute(f"set temp_directory='{folder}/duckdb'")
        # DuckDB considers the trades of one symbol too few to sort, and compares each of them with each
        # quote: seconds instead of milliseconds.
        self.database.execute("set asof_loop_join_threshold=0")
        for table in ("trade", "quote"):
            columns = day.columns(table, layout)
            columns["time"] = columns["time"].view("M8[ns]").astype("M8[us]")  # Exact: whole milliseconds.
            columns["sym"] = pd.Categorical.from_codes(columns["sym"], day.names)
            columns["ex"] = pd.Categorical.from_codes(
                np.searchsorted(np.array(sorted(EXCHANGES), "S1"), columns["ex"]), sorted(EXCHANGES)
            )
            rows = pd.DataFrame(columns, copy=False)
            self.database.register("rows", rows)
            self.database.execute(f"create table {table} as select * from rows")
            self.database.unregister("rows")

    @staticmethod
    def version():
        return duckdb.__version__

    def close(self):
        self.database.close()

    def ask(self, sql):
        return self.database.sql(sql).to_arrow_table()

    def lines(self):
        questions = self.questions
        symbols = ",".join(f"'{self.day.names[number]}'" for number in questions.basket)
        # This join takes any of several equal times, so it uses times without ties.
        joined = "select t.time, t.sym, t.price, t.size, q.bid, q.ask from {} t asof left join {} q on {}"
        on = "t.sym = q.sym and t.order_ns >= q.order_ns"
        last = "last_value(case when ex = '{0}' then {1} end ignore nulls) over by_symbol"
        bids = ", ".join(last.format(ex, "bid") for ex in EXCHANGES)
        asks = ", ".join(last.format(ex, "ask") for ex in EXCHANGES)
        texts = {
            "asof_all": joined.format("trade", "quote", on),
            "bars": """select sym, epoch_ms(time) // 60000 as minute, arg_min(price, row) as open, max(price) as high,
                         min(price) as low, arg_max(price, row) as close, sum(size)::bigint as volume,
                         sum(size * price) / sum(size) as vwap
                       from trade group by all""",
            "last": "select sym, bid, ask from quote where row in (select max(row) from quote group by sym)",
            "basket": f"""select sym, sum(bsize * bid) / sum(bsize) as bid from quote
                          where sym in ({symbols}) and time between '{np.datetime64(questions.begin_ns, "ns")}'
                            and '{np.datetime64(questions.end_ns, "ns")}'
                          group by sym""",
            # `greatest` and `least` ignore nulls.
            "nbbo": f"""select time, sym, greatest({bids}) as bid, least({asks}) as ask from quote
                        window by_symbol as (partition by sym order by row)""",
            "max_time": "select max(time) as time from quote",
        }
        for name in ("asof_tenth", "asof_busiest"):
            symbol = self.day.names[questions[name].symbol]
            texts[name] = joined.format(
                f"(from trade where sym = '{symbol}')", f"(from quote where sym = '{symbol}')", on
            )
        return {name: functools.partial(self.ask, text) for name, text in texts.items()}

    def columns(self, name, answer):
        out = {column: answer[column] for column in answer.column_names}
        if "sym" in out:
            codes = answer["sym"].unify_dictionaries().combine_chunks()
            numbers = {text: number for number, text in enumerate(self.day.names)}
            places = np.array([numbers[text] for text in codes.dictionary.to_pylist()])
            out["sym"] = places[codes.indices.to_numpy()]
        if "time" in out:
            out["time"] = out["time"].to_numpy().astype("M8[ns]").view(np.int64)
        if "minute" in out:
            out["minute"] = out["minute"].to_numpy() % (24 * 60)
        return {
            column: values if isinstance(values, np.ndarray) else values.to_numpy() for column, values in out.items()
        }

"""DuckDB and Polars with a day of taq_day.py, each in a process of its own: a JSON object a line.

    {"query": TEXT, "parameter": NAMES, "answer": FILE}  -> {"ns": ...}, or {"error": "..."}

`answer` (optional) gets the columns in kxtaq_answers.py's form, after the clock has stopped. A time ends when
the answer is complete in memory: an Arrow table or a data frame. Tables have the types, the order (by time) and,
in DuckDB, the index (on `sym`) of the benchmark's own runner."""

import datetime
import json
import os
import re
import sys
import time

import numpy as np

from bench.peers import kxtaq_answers, taq_day

DATADATE = datetime.date.fromisoformat(taq_day.DATE)
DAY_NS = int(np.datetime64(DATADATE, "ns").astype(np.int64))


class DuckDb:
    def __init__(self, day, threads):
        import duckdb

        self.database = duckdb.connect()
        self.database.execute(f"set threads={threads}")
        names = ", ".join(f"'{name}'" for name in sorted(day.names("trade", "sym")))
        self.database.execute(f"create type sym_enum as enum ({names})")
        for table, types in taq_day.TABLES.items():
            rows = day.arrow(table)
            self.database.register("rows", rows)
            columns = []
            for name, letter in types.items():
                if letter == "n":
                    columns.append(f"make_timestamp_ns({DAY_NS} + {name}) as {name}")
                elif name == "sym":
                    columns.append("sym::sym_enum as sym")
                elif letter in "sc":
                    columns.append(f"{name}::varchar as {name}")
                else:
                    columns.append(name)
            self.database.execute(f"create table {table} as select {', '.join(columns)} from rows")
            self.database.unregister("rows")
            self.database.execute(f"create index index_{table} on {table} (sym)")
        self.database.execute("create table exnames (ex varchar, name varchar)")
        self.database.executemany("insert into exnames values (?, ?)", list(taq_day.EXCHANGES.items()))
        self.database.execute("create table timeBuckets (bucket varchar, bound time)")
        bounds = [(name, str(datetime.timedelta(seconds=s))) for name, s in taq_day.TIME_BUCKETS.items()]
        self.database.executemany("insert into timeBuckets values (?, ?)", bounds)
        self.parameters = day.parameters | {"datadate": DATADATE}
        for name, value in self.parameters.items():
            self.database.execute(f"set variable {name} = $1", [value])

    def ask(self, text, parameter):
        names = [name.strip() for name in parameter.split(",")] if parameter else []
        values = [self.parameters[name] for name in names]
        if re.search(r"\bpivot\b", text, re.IGNORECASE):  # DuckDB splits it into several statements, which take no parameters.
            text = re.sub(r"\$(\d)", lambda place: f"getvariable('{names[int(place[1]) - 1]}')", text)
            values = []
        begin = time.perf_counter_ns()
        answer = self.database.sql(text, params=values).to_arrow_table()
        ns = time.perf_counter_ns() - begin
        # Some versions put the name of a pivot's aggregate into the names of its columns, and others do not.
        aggregate = re.search(r"\busing\s+\w+\(\w+\)\s+as\s+(\w+)", text, re.IGNORECASE)
        if aggregate:
            answer = answer.rename_columns([name.removesuffix("_" + aggregate[1]) for name in answer.column_names])
        return answer, ns

    @staticmethod
    def columns(answer):
        return kxtaq_answers.of_arrow(answer, DAY_NS)


class Polars:
    def __init__(self, day, threads):
        os.environ["POLARS_MAX_THREADS"] = str(threads)
        import polars as pl

        def times(frame, types):
            return frame.with_columns(
                pl.col(name).cast(pl.Duration("ns")) for name, letter in types.items() if letter == "n"
            )

        bounds = list(taq_day.TIME_BUCKETS.items())
        self.names = day.parameters | {
            "pl": pl,
            "timedelta": datetime.timedelta,
            "datadate": DATADATE,
            "exnames": taq_day.EXCHANGES,
            "timeBuckets": pl.DataFrame(
                {"bucket": [name for name, _ in bounds], "bound": [s * taq_day.NS_PER_S for _, s in bounds]}
            ).with_columns(pl.col("bound").cast(pl.Duration("ns"))),
        }
        for table, types in taq_day.TABLES.items():
            frame = times(pl.from_arrow(day.arrow(table)), types)
            self.names[table] = frame.with_columns(pl.col("sym").cast(pl.Categorical)).sort("time")

    def ask(self, text, _):
        begin = time.perf_counter_ns()
        answer = eval(text, dict(self.names))  # The query is from a file that the user named.
        return answer, time.perf_counter_ns() - begin

    @staticmethod
    def columns(answer):
        return kxtaq_answers.of_arrow(answer.to_arrow(), DAY_NS)


ENGINES = {"duckdb": DuckDb, "polars": Polars}


def main():
    name, directory, threads = sys.argv[1:]
    replies, sys.stdout = sys.stdout, sys.stderr
    engine = ENGINES[name](taq_day.TaqDay(directory), int(threads))
    print(json.dumps({"ready": name}), file=replies, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer, ns = engine.ask(request["query"], request["parameter"])
            if request.get("answer"):
                np.savez(request["answer"], **engine.columns(answer))
            reply = {"ns": ns}
        except Exception as error:  # Any exception of a query is its answer.
            reply = {"error": f"{type(error).__name__}: {error}"[:300]}
        answer = None
        print(json.dumps(reply), file=replies, flush=True)


if __name__ == "__main__":
    main()

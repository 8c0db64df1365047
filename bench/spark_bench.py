#!/usr/bin/env python3
"""Times two queries of whole days in Spark and in an HDB, and compares the answers.

    spark_bench.py PROGRAM DB EXPORT     EXPORT: made by `tickstack hdb export DB EXPORT --spark`

`scan` reads four columns of all quotes; `asof` joins each trade with its prevailing quote. Each of DAYS (1,8) is a
number of days from the first one. Spark runs on each of WORKERS (1,2,4) workers with one core and MEMORY (2g) each, on
this machine. Each time is one of RUNS (3) after a run that does not count. `hdb cold` is an HDB that has just been
started, and whose files are not in the page cache. Needs examples/spark/requirements.txt."""

import ctypes
import math
import os
import pathlib
import statistics
import sys
import time

PROGRAM, DATABASE, EXPORT = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
os.environ["TICKSTACK_BIN"] = PROGRAM
del sys.argv[1:]
ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "examples/spark")]
import history_queries  # noqa: E402
from tests.support import stack  # noqa: E402

DAYS, WORKERS = ([int(number) for number in os.environ.get(name, default).split(",")]
                 for name, default in (("DAYS", "1,8"), ("WORKERS", "1,2,4")))
RUNS, MEMORY = int(os.environ.get("RUNS", "3")), os.environ.get("MEMORY", "2g")

# Per query: q with {first} and {last}, SQL with {first} and {last}.
QUERIES = {
    "scan": ("""
        0!select quotes:count i,high:max bid,vwab:bsize wavg bid by sym from quote where date within ({first};{last})
        """, """
        select sym, count(*) as quotes, max(bid) as high, sum(bsize * bid) / sum(bsize) as vwab
        from quote where date between {first} and {last} group by sym order by sym"""),
    "asof": ("""
        raze{{[d]select trades:count i,distance:sum abs price-.5*bid+ask from aj[`sym`time;
          select sym,time,price from trade where date=d;select sym,time,bid,ask from quote where date=d]
          where not null bid}}each date where date within ({first};{last})
        """, """
        with side_by_side as (
          select date, sym, ns, 0 as side, row, struct(bid, ask) as quote, null as price
          from quote where date between {first} and {last}
          union all
          select date, sym, ns, 1, row, null, price from trade where date between {first} and {last}),
        joined as (
          select date, price, last(quote, true) over prevailing as quote
          from side_by_side window prevailing as (partition by date, sym order by ns, side, row))
        select count(*) as trades, sum(abs(price - 0.5 * (quote.bid + quote.ask))) as distance
        from joined where price is not null and quote is not null group by date order by date"""),
}


def same(expected, found):
    """Within 1 us, a quote after a trade counts as one before it, since the export has times in us."""
    return len(expected) == len(found) and all(
        len(row) == len(other) and all(a == b or isinstance(b, float) and math.isclose(a, b, rel_tol=1e-6)
                                       for a, b in zip(row, other)) for row, other in zip(expected, found))


def drop(directory):
    """Drops the directory's files from the page cache."""
    for path in directory.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class Bench(stack.StackTest):
    def runTest(self):
        ctypes.CDLL(None).sync()
        self.dates = sorted(path.name for path in DATABASE.iterdir() if path.name[:1].isdigit())
        self.assertGreaterEqual(len(self.dates), max(DAYS))
        self.expected = {}
        print("engine|query|days|median_s|min_s|max_s", flush=True)
        self.hdb()
        for workers in WORKERS:
            self.spark(workers)

    def each(self):
        for name, texts in QUERIES.items():
            for days in DAYS:
                yield name, days, texts

    def report(self, engine, name, days, seconds):
        print(f"{engine}|{name}|{days}|{statistics.median(seconds):.3f}|{min(seconds):.3f}|{max(seconds):.3f}", flush=True)

    def ask_hdb(self, port, name, days, texts):
        with stack.kdb_ipc.connect_within(port) as hdb:
            text = " ".join(texts[0].format(first=self.dates[0], last=self.dates[days - 1]).split())
            begun = time.perf_counter()
            columns = hdb.call(f"value flip {text}")
            seconds = time.perf_counter() - begun
        rows = list(zip(*columns))
        self.assertEqual(self.expected.setdefault((name, days), rows), rows)
        return seconds

    def hdb(self):
        for name, days, texts in self.each():
            seconds = []
            for _ in range(RUNS):
                drop(DATABASE)
                port, process = self.start_process("hdb", "--db", str(DATABASE), "--query-nice", "0")
                seconds.append(self.ask_hdb(port, name, days, texts))
                process.terminate()
                process.wait()
            self.report("hdb cold", name, days, seconds)
        port, process = self.start_process("hdb", "--db", str(DATABASE), "--query-nice", "0")
        for name, days, texts in self.each():
            seconds = [self.ask_hdb(port, name, days, texts) for _ in range(RUNS + 1)][1:]
            self.report("hdb", name, days, seconds)
        process.terminate()
        process.wait()

    def spark(self, workers):
        spark = history_queries.start(f"local-cluster[{workers},1,{int(MEMORY[:-1]) * 1024}]", MEMORY)
        spark.sparkContext.setLogLevel("ERROR")
        history_queries.History(spark, EXPORT)
        for name, days, texts in self.each():
            dates = [history_queries.date_literal(date) for date in self.dates]
            text, seconds = texts[1].format(first=dates[0], last=dates[days - 1]), []
            for _ in range(RUNS + 1):
                begun = time.perf_counter()
                rows = [tuple(row) for row in spark.sql(text).collect()]
                seconds.append(time.perf_counter() - begun)
                self.assertTrue(same(self.expected[name, days], rows), (name, days))
            self.report(f"spark, {workers} workers", name, days, seconds[1:])
        spark.stop()


if __name__ == "__main__":
    stack.main()

#!/usr/bin/env python3
"""Times queries in Spark and in an HDB, and compares the answers.

    spark_bench.py PROGRAM DB EXPORT     EXPORT: made by `tickstack hdb export DB EXPORT --spark`
    ANSWERS=FILE spark_bench.py ...      FILE: made by `tickstack hdb queries DB --clients 1 --answers FILE`

Without ANSWERS, there are two queries of whole days: `scan` reads four columns of all quotes; `asof` joins each trade
with its prevailing quote. Each of DAYS (1,8) is a number of days from the first one. With ANSWERS, the queries are the
ten of `hdb queries`, about the days and symbols in FILE.

Spark runs on each of WORKERS (1,2,4) workers with one core and MEMORY (2g) each, on this machine; 0 workers are Spark's
threads on all cores, in one process. Each time is one of RUNS (3) after a run that does not count, and ends when this
program has decoded the answer. `hdb cold` is an HDB that has just been started, and whose files are not in the page
cache. The last column is the load average of the last minute. Needs examples/spark/requirements.txt."""

import ctypes
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
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
ANSWERS = os.environ.get("ANSWERS")
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


class WholeDays:
    """One of QUERIES, about the first `days` days."""

    def __init__(self, name, days, dates):
        self.name, self.days = name, days
        self.q = QUERIES[name][0].format(first=dates[0], last=dates[days - 1])
        first, last = (history_queries.date_literal(date) for date in (dates[0], dates[days - 1]))
        self.sql = QUERIES[name][1].format(first=first, last=last)

    def spark(self, history):
        return [tuple(row) for row in history.spark.sql(self.sql).collect()]

    def right(self, _, found, expected):
        return same(expected, found)


class OfSuite:
    """A question of `hdb queries`, with the HDB's answer."""

    def __init__(self, asked, dates):
        self.name, self.asked = asked["query"], asked
        self.days = sum(asked["from"] <= date <= asked["to"] for date in dates)
        symbols = "".join(f"`{symbol}" for symbol in asked["symbols"])
        values = {"from": asked["from"], "to": asked["to"], "begin": timespan(asked["begin_ns"]),
                  "end": timespan(asked["end_ns"]), "symbols": f"(enlist{symbols})" if symbols.count("`") == 1 else symbols}
        self.q = "0!" + re.sub(r"\{(from|to|begin|end|symbols)\}", lambda name: values[name[1]], suite_texts()[self.name])

    def spark(self, history):
        return history.answer(self.asked)

    def right(self, history, found, _):
        return not any(history.differences(self.asked, found))


def timespan(ns):
    seconds = ns // 10**9
    return f"0D{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{ns % 10**9:09}"


def suite_texts():
    """Returns the q of the queries of `hdb queries`: {name: text}."""
    listed = subprocess.run([PROGRAM, "hdb", "queries", "--list"], check=True, capture_output=True, text=True).stdout
    paragraphs = (paragraph.strip().split("\n", 1) for paragraph in listed.split("\n\n") if paragraph.strip())
    return {first.split(":")[0]: text for first, text in paragraphs}


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
        dates = sorted(path.name for path in DATABASE.iterdir() if path.name[:1].isdigit())
        if ANSWERS:
            with open(ANSWERS, encoding="utf-8") as file:
                self.questions = [OfSuite(json.loads(line), dates) for line in file]
        else:
            self.assertGreaterEqual(len(dates), max(DAYS))
            self.questions = [WholeDays(name, days, dates) for name in QUERIES for days in DAYS]
        self.expected = {}
        print("engine|query|days|median_s|min_s|max_s|load", flush=True)
        self.hdb()
        for workers in WORKERS:
            self.spark(workers)

    def report(self, engine, question, seconds):
        print(f"{engine}|{question.name}|{question.days}|{statistics.median(seconds):.4f}|{min(seconds):.4f}|"
              f"{max(seconds):.4f}|{os.getloadavg()[0]:.1f}", flush=True)

    def ask_hdb(self, port, question):
        with stack.kdb_ipc.connect_within(port) as hdb:
            text = " ".join(question.q.split())
            begun = time.perf_counter()
            columns = hdb.call(f"value flip {text}")
            seconds = time.perf_counter() - begun
        rows = list(zip(*columns))
        # As texts, since null floats are NaN, which differs from itself.
        self.assertEqual(repr(self.expected.setdefault(question, rows)), repr(rows))
        return seconds

    def hdb(self):
        for question in self.questions:
            seconds = []
            for _ in range(RUNS):
                drop(DATABASE)
                port, process = self.start_process("hdb", "--db", str(DATABASE), "--query-nice", "0")
                seconds.append(self.ask_hdb(port, question))
                process.terminate()
                process.wait()
            self.report("hdb cold", question, seconds)
        port, process = self.start_process("hdb", "--db", str(DATABASE), "--query-nice", "0")
        for question in self.questions:
            seconds = [self.ask_hdb(port, question) for _ in range(RUNS + 1)][1:]
            self.report("hdb", question, seconds)
        process.terminate()
        process.wait()

    def spark(self, workers):
        master = f"local-cluster[{workers},1,{int(MEMORY[:-1]) * 1024}]" if workers else "local[*]"
        spark = history_queries.start(master, MEMORY)
        spark.sparkContext.setLogLevel("ERROR")
        history = history_queries.History(spark, EXPORT)
        for question in self.questions:
            seconds = []
            for _ in range(RUNS + 1):
                begun = time.perf_counter()
                rows = question.spark(history)
                seconds.append(time.perf_counter() - begun)
                self.assertTrue(question.right(history, rows, self.expected[question]), (question.name, question.days))
            self.report(f"spark, {workers} workers", question, seconds[1:])
        spark.stop()


if __name__ == "__main__":
    stack.main()

#!/usr/bin/env python3
"""Asks Spark the questions that `tickstack hdb queries` asked an HDB, and compares the answers.

    tickstack hdb queries DB --answers answers
    tickstack hdb export DB exported --spark
    history_queries.py exported answers --check
    history_queries.py exported answers --only nbbo --clients 1 --repeat 3 --master 'local-cluster[2,1,2048]'
    history_queries.py warehouse answers --iceberg --check     # Iceberg tables that iceberg_table.py made

Prints a line per question: query, client, rows, and ms until the driver has the answer, as the median and range of
--repeat answers. Exit status 1 if an answer differs from the HDB's.

`first`, `last`, running sums and as-of joins depend on the order of rows. Each partition is one Parquet file in the
partition's order, so a row's number in its file, `row` in the views below, gives that order.

As-of joins are partitioned sort-merge joins. A union puts both sides into one table, which Spark partitions by symbol
and sorts by time; a window function carries the last row of the right side forward. The driver receives only answers
and, for nbbo, the names of the exchanges. docs/scale.md says when to use Spark.
"""

import argparse
import datetime
import json
import math
import pathlib
import re
import statistics
import sys
import time

from pyspark.sql import SparkSession

OF_SUBJECT = "date between {from} and {to} and sym in ({symbols})"

AVERAGE_BID = f"""
    select sym, sum(bsize * bid) / sum(bsize) as vwab
    from quote where {OF_SUBJECT} group by sym order by sym"""

# The queries of docs/operating/history-queries.md. Names in braces are replaced by the subject of a question, as in the
# q there. {begin} and {end} are ns since 1970.
QUERIES = {
    "year_high_bid": f"""
        select sym, max(bid) as high from quote where {OF_SUBJECT} group by sym order by sym""",
    "vwab_1_day": AVERAGE_BID,
    "vwab_1_day_overlap": AVERAGE_BID,
    "vwab_12_days": AVERAGE_BID,
    "vwab_12_days_overlap": AVERAGE_BID,

    # {latest} has a column for each exchange, such as `last(if(ex = 'A', quoted, null), true) over book as latest_0`: the
    # exchange's latest quote, carried forward. array_max and array_min skip nulls: exchanges without a quote. A price
    # of 0 removes an exchange's quote on that side, as in the HDB.
    "nbbo": """
        with running as (
          select row, ns, sym, {latest}
          from (select row, ns, sym, ex, struct(nullif(bid, 0) as bid, nullif(ask, 0) as ask) as quoted
            from quote where date = {from} and sym in ({symbols}))
          window book as (partition by sym order by row))
        select ns as time, sym, array_max(array({bids})) as bid, array_min(array({asks})) as ask
        from running order by row""",

    # Both as-of joins share one sort. `side` sorts the moment after rows of the same time, which therefore count.
    "market_snapshot": """
        with side_by_side as (
          select sym, ns, 0 as side, row, struct(bid, ask, bsize, asize) as quote, null as trade
          from quote where date = {from} and sym in ({symbols})
          union all
          select sym, ns, 0, row, null, struct(price, size) from trade where date = {from} and sym in ({symbols})
          union all
          select explode(array({symbols})), {begin}, 1, 0, null, null),
        joined as (
          select sym, ns, side, last(quote, true) over prevailing as quote, last(trade, true) over prevailing as trade
          from side_by_side window prevailing as (partition by sym order by ns, side, row))
        select sym, ns as time, quote.*, trade.* from joined where side = 1 order by sym""",

    # `closed` is an as-of join, too, but by traded volume, and to the next trade instead of the last one: in descending
    # order, the window that ends at the current row has all later trades. A window that begins at the current row
    # would take quadratic time in Spark.
    "theoretical_pnl": """
        with traded as (
          select sym, price, size, row_number() over trades - 1 as n, sum(size) over trades as volume,
            count_if(date = {from}) over (partition by sym) as first_day
          from trade where date between {from} and {to} and sym in ({symbols})
          window trades as (partition by sym order by date, row)),
        bought as (
          select sym, n, price, size, times, volume + times * size as target
          from traded lateral view explode(array(2, 4, 20)) as times
          where n < first_day and array_contains(transform(sequence(0, 9), tenth -> first_day * tenth div 10), n)),
        side_by_side as (
          select sym, volume as at, 0 as side, n, price as closing, null as entry from traded
          union all
          select sym, target, 1, n, null, struct(price, size, times) from bought),
        closed as (
          select sym, entry, last(closing, true) over later as closing
          from side_by_side window later as (partition by sym order by at desc, side, n desc)),
        gains as (
          select sym, entry.times as times, count(*) as trades, count(closing) as closed,
            coalesce(sum((closing - entry.price) * entry.size), 0d) as pnl
          from closed where entry is not null group by sym, entry.times)
        select asked.sym, asked.times, coalesce(trades, 0) as trades, coalesce(closed, 0) as closed,
          coalesce(pnl, 0d) as pnl
        from (select sym, times from (select explode(array({symbols})) as sym) lateral view explode(array(2, 4, 20)) as
          times) asked left join gains on asked.sym = gains.sym and asked.times = gains.times
        order by asked.sym, asked.times""",

    "interval_statistics": """
        with asked as (
          select sym, ns div 60000000000 % 1440 div 10 * 10 as minute, bid
          from quote where date = {from} and ns between {begin} and {end})
        select sym, format_string('%02d:%02d', minute div 60, minute % 60) as minute, count(*) as quotes,
          min(bid) as low, max(bid) as high, avg(bid) as mean, stddev_pop(bid) as deviation
        from asked group by sym, minute order by sym, minute""",
    "intraday_aggregates": """
        with asked as (
          select sym, ns div 60000000000 % 1440 div 15 * 15 as minute, row, price, size
          from trade where date = {from} and sym in ({symbols}))
        select sym, format_string('%02d:%02d', minute div 60, minute % 60) as minute, min_by(price, row) as open,
          max(price) as high, min(price) as low, max_by(price, row) as close, sum(size) as volume,
          sum(size * price) / sum(size) as vwap
        from asked group by sym, minute order by sym, minute""",
}

EXCHANGES = f"select distinct ex from quote where {OF_SUBJECT} order by ex"
LATEST = "last(if(ex = {ex}, quoted, null), true) over book as latest_{number}"


# Iceberg tables are CATALOG.NAMESPACE.quote and CATALOG.NAMESPACE.trade. The runtime is of one version of Spark.
CATALOG, NAMESPACE = "history", "ticks"
ICEBERG = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"


def start(master, memory, warehouse=None, jar=None):
    """Returns a session. Its driver listens on the loopback interface only; for a cluster of several machines, set
    spark.driver.host and spark.driver.bindAddress to an address that executors reach.

    With a warehouse, the session has a catalog of the Iceberg tables in that directory, without a server. A catalog of
    this kind needs a file system that renames in one step (a disk, HDFS). `jar` is the file of Iceberg's runtime; without
    one, Spark downloads it."""
    builder = SparkSession.builder
    if warehouse:
        builder = (builder.config(f"spark.sql.catalog.{CATALOG}", "org.apache.iceberg.spark.SparkCatalog")
                   .config(f"spark.sql.catalog.{CATALOG}.type", "hadoop")
                   .config(f"spark.sql.catalog.{CATALOG}.warehouse", f"file:{pathlib.Path(warehouse).resolve()}")
                   .config("spark.jars" if jar else "spark.jars.packages", jar or ICEBERG))
    return (builder.master(master).appName("history_queries")
            .config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
            .config("spark.executor.memory", memory)
            .config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.session.timeZone", "UTC")
            .config("spark.sql.legacy.parquet.nanosAsLong", "true")  # For exports without --spark.
            .getOrCreate())


class History:
    """The views `quote` and `trade` of an export. `row` is a row's number in its partition, and `ns` its time in ns
    since 1970. An export with --spark has times in us, rounded down; otherwise they are exact.

    Without an export, the views are of the Iceberg tables in the session's catalog, as they were at `at_ms` (ms since
    1970) or are now. An error of Spark if they did not exist then."""

    def __init__(self, spark, export=None, at_ms=None):
        self.spark = spark
        self.resolution_ns = 1
        for table in ("quote", "trade"):
            row = "_metadata.row_index"
            if export:
                frame = spark.read.parquet(f"{export}/{table}")
            else:
                row = "_pos"
                options = {"timestampAsOf": timestamp_literal(at_ms)} if at_ms else {}
                frame = spark.read.options(**options).table(f"{CATALOG}.{NAMESPACE}.{table}")
            ns = "time"
            if dict(frame.dtypes)["time"] != "bigint":
                ns, self.resolution_ns = "unix_micros(cast(time as timestamp)) * 1000", 1000
            frame.selectExpr("*", f"{row} as row", f"{ns} as ns").createOrReplaceTempView(table)

    def sql_of(self, asked):
        """Returns the SQL of a question. For nbbo, this asks Spark for the names of the exchanges."""
        midnight = ns_of(asked["from"].replace(".", "-") + "T00:00:00.0")
        values = {"from": date_literal(asked["from"]), "to": date_literal(asked["to"]),
                  "symbols": ", ".join(map(literal, asked["symbols"])),
                  "begin": self.rounded(midnight + asked["begin_ns"]), "end": self.rounded(midnight + asked["end_ns"])}
        text = QUERIES[asked["query"]]
        if "{latest}" in text:
            names = [row.ex for row in self.spark.sql(EXCHANGES.format(**values)).collect()]
            values["latest"] = ", ".join(LATEST.format(ex=literal(ex), number=i) for i, ex in enumerate(names)) or "0"
            values["bids"] = ", ".join(f"latest_{i}.bid" for i in range(len(names)))
            values["asks"] = ", ".join(f"latest_{i}.ask" for i in range(len(names)))
        return text.format(**values)

    def answer(self, asked):
        return [row.asDict() for row in self.spark.sql(self.sql_of(asked)).collect()]

    def rounded(self, ns):
        return ns // self.resolution_ns * self.resolution_ns

    def differences(self, asked, answer):
        """Yields a line for each value that differs from the HDB's. Floats may differ by the order of additions."""
        where = f"{asked['query']}: client {asked['client']}"
        if len(answer) != len(asked["answer"]):
            yield f"{where}: expected {len(asked['answer'])} rows, found {len(answer)}"
        for number, (expected, found) in enumerate(zip(asked["answer"], answer)):
            if list(expected) != list(found):
                yield f"{where}: row {number}: expected columns {list(expected)}, found {list(found)}"
                continue
            for column, value in expected.items():
                other = found[column]
                if column == "time":
                    value, other = self.rounded(ns_of(value)), self.rounded(other)
                if not equal(value, other):
                    yield f"{where}: row {number}: {column}: expected {value!r}, found {other!r}"


def equal(value, other):
    if isinstance(other, float) and isinstance(value, (int, float)):  # JSON has 6 for 6.0.
        return math.isclose(value, other, rel_tol=1e-9, abs_tol=1e-9)
    return type(value) is type(other) and value == other


def ns_of(text):
    """Returns ns since 1970 of a time such as 2024-01-04T14:30:00.000000001."""
    seconds, fraction = text.split(".")
    return int(datetime.datetime.fromisoformat(seconds + "+00:00").timestamp()) * 10**9 + int(fraction.ljust(9, "0"))


def timestamp_literal(ms):
    return f"{datetime.datetime.fromtimestamp(ms // 1000, datetime.timezone.utc):%Y-%m-%d %H:%M:%S}.{ms % 1000:03}"


def date_literal(text):
    return f"date'{datetime.date.fromisoformat(text.replace('.', '-'))}'"


def literal(text):
    if re.search(r"['\\\\]", text):
        raise SystemExit(f"{text!r}: a symbol or exchange with a quote or backslash cannot be asked for")
    return f"'{text}'"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("export", help="directory or URL of the export: s3a://..., hdfs://..., a path; with --iceberg, "
                        "the warehouse directory")
    parser.add_argument("answers", help="file that `hdb queries --answers` wrote")
    parser.add_argument("--check", action="store_true", help="compare with the HDB's answers")
    parser.add_argument("--only", help="names of queries, separated by commas (default: all)")
    parser.add_argument("--clients", type=int, help="only questions of clients 1 to N (default: all)", metavar="N")
    parser.add_argument("--repeat", type=int, default=1, help="times to ask each question (default: 1)")
    parser.add_argument("--master", default="local[*]", help="Spark's master (default: local[*])")
    parser.add_argument("--memory", default="1g", help="memory of an executor (default: 1g)")
    parser.add_argument("--iceberg", action="store_true", help="reads Iceberg tables that iceberg_table.py made")
    parser.add_argument("--at", type=int, help="with --iceberg: reads the tables as they were at this time, in ms since "
                        "1970 (default: now)", metavar="MS")
    parser.add_argument("--jar", help="with --iceberg: file of Iceberg's Spark runtime (default: Spark downloads it)")
    return parser.parse_args()


def questions(args):
    only = args.only.split(",") if args.only else list(QUERIES)
    for name in only:
        if name not in QUERIES:
            raise SystemExit(f"--only {name}: no such query; the queries are {', '.join(QUERIES)}")
    with open(args.answers, encoding="utf-8") as file:
        asked = [json.loads(line) for line in file]
    chosen = [each for each in asked if each["query"] in only and each["client"] <= (args.clients or each["client"])]
    if not chosen:
        raise SystemExit(f"{args.answers}: no question of {', '.join(only)}")
    return chosen


def main():
    args = arguments()
    chosen = questions(args)
    spark = start(args.master, args.memory, args.export if args.iceberg else None, args.jar)
    spark.sparkContext.setLogLevel("ERROR")
    history = History(spark, None if args.iceberg else args.export, args.at)
    wrong = 0
    print("query|client|rows|median_ms|min_ms|max_ms", flush=True)
    for asked in chosen:
        ms = []
        for _ in range(args.repeat):
            begun = time.perf_counter()
            answer = history.answer(asked)
            ms.append(1000 * (time.perf_counter() - begun))
        times = f"{statistics.median(ms):.0f}|{min(ms):.0f}|{max(ms):.0f}"
        print(f"{asked['query']}|{asked['client']}|{len(answer)}|{times}", flush=True)
        if args.check:
            differences = list(history.differences(asked, answer))
            wrong += len(differences) > 0
            for line in differences[:5]:
                print(line, file=sys.stderr)
    spark.stop()
    if args.check:
        print(f"{len(chosen)} answers compared, {wrong} differ from the HDB's", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""bench/peers/run history: past days in tickstack's database, and the same rows in DuckDB: in Parquet and in
its native format.


Generates a database of some days with `tickstack hdb generate`, gives its columns to DuckDB, compares every
answer, and then times each question alternately: tickstack, and DuckDB on each of its formats. All files are in
the page cache.

For fairness, DuckDB gets the rows sorted by date, symbol and time, as our partitions are, so that the bounds of
its row groups exclude irrelevant rows; one Parquet file per day, which DuckDB finds by its folder's name; and
symbols as a dictionary (Parquet) or an ENUM (native). Parquet is written with several row group sizes and
compressions, which are timed separately, and the fastest counts. A time ends when the answer is complete in
memory: an Arrow table there, a Value here."""

import argparse
import json
import os
import pathlib
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.peers import answers, decode, report
from bench.peers.day import UNIX_NS_OF_KDB_EPOCH
from bench.peers.lines import EXCHANGES, NS_PER_HOUR, Line
from bench.peers.processes import ROOT, Conversation, Failed

BEGIN, END = "<!-- bench/peers/run history writes from here -->", "<!-- to here: history -->"
COLUMNS = {"time": "<i8", "bid": "<f8", "ask": "<f8", "bsize": "<i8", "ex": "S1"}
ENUM_HEADER_BYTES, VECTOR_HEADER_BYTES = 4096, 16
NS_PER_DAY = 24 * NS_PER_HOUR
# Compression and rows per row group; DuckDB's own has 122,880.
PARQUET = (("zstd", 122_880), ("none", 122_880), ("none", 16_384))
FIRST_MS, LAST_MS = (15 * 60 + 30) * 60_000, (19 * 60 + 30) * 60_000 - 1  # Time of day; both inclusive.
FULL_QUOTES, FULL_DAYS = 2_000_000, 12


def arguments():
    parser = argparse.ArgumentParser(prog="bench/peers/run history", description="Compares queries of past days.")
    parser.add_argument("--days", type=int, default=FULL_DAYS, help="(default: %(default)s)")
    parser.add_argument("--quotes", type=int, default=FULL_QUOTES, help="a day (default: %(default)s)")
    parser.add_argument("--symbols", type=int, default=8_000)
    parser.add_argument("--runs", type=int, default=9, help="of each question and format (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="of each system (default: %(default)s)")
    parser.add_argument("--check", action="store_true", help="compare answers only")
    parser.add_argument("--json", type=pathlib.Path, help="write all figures there")
    parser.add_argument("--no-docs", action="store_true", help="leave docs/benchmarks.md alone, as fewer rows do")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/peers", help="for files while it runs")
    parser.add_argument("--tickstack", type=pathlib.Path, default=ROOT / "build/release/cli/tickstack")
    parser.add_argument("--peers-history", type=pathlib.Path, default=ROOT / "build/release/bench/peers_history")
    return parser.parse_args()


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


class PastDays:
    """The generated database, with columns read from its files."""

    def __init__(self, root):
        self.root = root
        self.dates = sorted(path.name for path in root.glob("????.??.??"))
        # ff 01 0b, an attribute and a count, then NUL-terminated names.
        self.names = (root / "sym").read_bytes()[8:].decode("ascii").split("\0")[:-1]

    def quotes(self, date):
        folder = self.root / date / "quote"
        rows = {
            name: np.fromfile(folder / name, kind, offset=VECTOR_HEADER_BYTES) for name, kind in COLUMNS.items()
        }
        count = len(rows["time"])
        rows["sym"] = np.fromfile(folder / "sym", "<i8", count, offset=ENUM_HEADER_BYTES)
        return rows

    def basket(self):
        """Returns every hundredth symbol in the order of quote counts, starting with the tenth, as numbers."""
        counts = sum(np.bincount(self.quotes(date)["sym"], minlength=len(self.names)) for date in self.dates)
        ranks = np.argsort(-counts, kind="stable")
        return [int(number) for number in ranks[min(9, len(ranks) - 1) :: 100]]


def iso(date):
    return date.replace(".", "-")


def arrow_of(rows, names):
    """Returns one day's rows in the form that DuckDB gets."""
    times = rows["time"] + UNIX_NS_OF_KDB_EPOCH
    exchanges = np.array(sorted(EXCHANGES), "S1")
    return pa.table(
        {
            "time": pa.array(times).cast(pa.timestamp("ns")),
            "sym": pa.DictionaryArray.from_arrays(pa.array(rows["sym"].astype(np.int32)), pa.array(names)),
            "bid": rows["bid"],
            "ask": rows["ask"],
            "bsize": rows["bsize"],
            "ex": pa.DictionaryArray.from_arrays(
                pa.array(np.searchsorted(exchanges, rows["ex"]).astype(np.int32)), pa.array(sorted(EXCHANGES))
            ),
        }
    )


class Duck:
    """DuckDB with the quotes of all days in one format."""

    def __init__(self, database, source):
        self.database, self.source = database, source

    def ask(self, sql):
        begin = time.perf_counter_ns()
        answer = self.database.sql(sql.replace("QUOTE", self.source)).to_arrow_table()
        return answer, time.perf_counter_ns() - begin


def questions(days):
    basket = days.basket()
    names = "".join("`" + days.names[number] for number in basket)
    quoted = ",".join(f"'{days.names[number]}'" for number in basket)
    first, last, middle = days.dates[0], days.dates[-1], days.dates[len(days.dates) // 2]
    between = f"date between '{iso(first)}' and '{iso(last)}'"
    # By time of day, and by a range of times for each day, which can be compared with the bounds of row groups.
    hours = "time::time between time '15:30:00' and time '19:29:59.999'"
    windows = " or ".join(
        f"(time >= '{iso(date)} 15:30:00' and time < '{iso(date)} 19:29:59.999000001')" for date in days.dates
    )
    quote_of = "last_value(case when ex = '{0}' then {1} end ignore nulls) over by_symbol"
    bids = ", ".join(quote_of.format(ex, "bid") for ex in EXCHANGES)
    asks = ", ".join(quote_of.format(ex, "ask") for ex in EXCHANGES)
    weighted = "select sym, sum(bsize * bid) / sum(bsize) as bid from QUOTE where {} group by sym"
    lines = [
        (
            Line(
                "basket",
                f"volume-weighted bid, {len(basket)} symbols, 4 hours of {len(days.dates)} days",
                f"select bsize wavg bid by sym from quote where date within {first} {last},sym in {names},"
                "time.time within 15:30:00.000 19:29:59.999",
                ("sym",),
                ("bid",),
                2,
            ),
            [
                weighted.format(f"{between} and sym in ({quoted}) and {hours}"),
                weighted.format(f"{between} and sym in ({quoted}) and ({windows})"),
            ],
        ),
        (
            Line(
                "nbbo",
                "NBBO over ten exchanges, all symbols of one day",
                f"select time,sym,bid,ask from nbbo[`sym`ex`bid`ask;select from quote where date={middle}]",
                ("time", "sym", "bid", "ask"),
                goal=2,
            ),
            [
                f"""select time, sym, greatest({bids}) as bid, least({asks}) as ask from QUOTE
                    where date = '{iso(middle)}'
                    window by_symbol as (partition by sym order by row)"""
            ],
        ),
        (
            Line(
                "by_sym",
                "avg, dev and weighted bid by symbol, all days",
                "select a:avg bid,d:dev bid,w:bsize wavg bid by sym from quote",
                ("sym",),
                ("a", "w"),
            ),
            [
                "select sym, avg(bid) as a, stddev_pop(bid) as d, sum(bsize * bid) / sum(bsize) as w from QUOTE "
                "group by sym"
            ],
        ),
        (
            Line(
                "by_date",
                "highest bid by date and symbol",
                "select bid:max bid by date,sym from quote",
                ("date", "sym", "bid"),
            ),
            ["select date, sym, max(bid) as bid from QUOTE group by date, sym"],
        ),
        (
            Line("scan", "sum of sizes where bid > 50", "select size:sum bsize from quote where bid>50", ("size",)),
            ["select sum(bsize)::bigint as size from QUOTE where bid > 50"],
        ),
    ]
    return lines


class Comparison:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.samples, self.failures = {}, []

    def prepare(self):
        options = self.options
        root = self.folder / "db"
        say(f"making {options.days} days of {options.quotes} quotes")
        subprocess.run(
            [options.tickstack, "hdb", "generate", root, "--days", str(options.days), "--quotes", str(options.quotes)]
            + ["--symbols", str(options.symbols)],
            check=True,
            stderr=subprocess.DEVNULL,
        )
        self.days = PastDays(root)
        self.ours = Conversation([str(options.peers_history), "--db", str(root)])
        self.ducks = self.load_duckdb()
        self.lines = questions(self.days)
        for file in root.rglob("*"):
            if file.is_file():
                file.read_bytes()

    def load_duckdb(self):
        database = duckdb.connect(str(self.folder / "quotes.duckdb"))
        database.execute(f"set threads={self.options.threads}")
        database.execute(f"set temp_directory='{self.folder}/spill'")
        enum = ",".join(f"'{name}'" for name in sorted(self.days.names))
        database.execute(f"create type symbol as enum ({enum})")
        database.execute(f"create type exchange as enum ({','.join(repr(ex) for ex in sorted(EXCHANGES))})")
        database.execute(
            "create table quotes (date date, time timestamp_ns, sym symbol, bid double, ask double, bsize bigint, "
            "ex exchange, row integer)"
        )
        row = 0
        for date in self.days.dates:
            rows = arrow_of(self.days.quotes(date), self.days.names)
            rows = rows.append_column("row", pa.array(np.arange(row, row + len(rows), dtype=np.int32)))
            row += len(rows)
            for compression, group in PARQUET:
                folder = self.folder / f"{compression}.{group}" / f"date={iso(date)}"
                folder.mkdir(parents=True)
                pq.write_table(rows, folder / "quotes.parquet", compression=compression, row_group_size=group)
            database.register("day", rows)
            database.execute(f"insert into quotes select '{iso(date)}'::date, * from day")
            database.unregister("day")
        database.execute("checkpoint")
        database.execute("set parquet_metadata_cache=true")
        ducks = {"DuckDB's own format": Duck(database, "quotes")}
        for compression, group in PARQUET:
            files = f"{self.folder}/{compression}.{group}/*/*.parquet"
            source = f"read_parquet('{files}', hive_partitioning=true, hive_types={{'date': date}})"
            ducks[f"Parquet, {compression}, row groups of {group:,}"] = Duck(database, source)
        self.database = database
        return ducks

    def evaluate(self, line, answer=None):
        request = {"evaluate": line.q, "threads": self.options.threads}
        return self.ours.ask(request | ({"answer": str(answer)} if answer else {}))["ns"]

    def our_columns(self, line):
        path = self.folder / "answer.q"
        self.evaluate(line, path)
        found = decode.columns_of(decode.decode(path.read_bytes()), self.days)
        if "date" in found:
            found["date"] = found["date"].astype(np.int64) * NS_PER_DAY + UNIX_NS_OF_KDB_EPOCH
        return found

    def their_columns(self, answer):
        found = {}
        for name in answer.column_names:
            column = answer[name].combine_chunks()
            if name == "sym":
                texts = column.cast(pa.string()).to_numpy(zero_copy_only=False).astype("S8")
                known = np.array(self.days.names, "S8")
                order = np.argsort(known)
                found[name] = order[np.searchsorted(known, texts, sorter=order)]
            elif name in ("time", "date"):
                found[name] = column.cast(pa.timestamp("ns")).to_numpy(zero_copy_only=False).view(np.int64)
            else:
                found[name] = column.to_numpy(zero_copy_only=False)
        return found

    def failed(self, line, who, why):
        say(f"FAILED {line.name}, {who}: {why}")
        self.failures.append({"line": line.name, "who": who, "why": str(why)})

    def check(self, line, texts):
        """Returns the ways to ask DuckDB that give tickstack's answer: (format, text)."""
        ours = answers.summarise(line, self.our_columns(line), self.folder / "ours.npz")
        right = []
        for name, duck in self.ducks.items():
            for text in texts:
                try:
                    theirs = self.their_columns(duck.ask(text)[0])
                    found = answers.summarise(line, theirs, self.folder / "theirs.npz")
                except (duckdb.Error, ValueError) as error:
                    self.failed(line, name, error)
                    continue
                wrong = answers.difference(line, found, ours)
                answers.forget(found)
                if wrong:
                    self.failed(line, name, f"wrong answer: {wrong}")
                else:
                    right.append((name, text))
        answers.forget(ours)
        return right

    def measure(self, line, ways):
        samples = self.samples.setdefault(line.name, {})
        for _ in range(self.options.runs):
            samples.setdefault("tickstack", []).append(self.evaluate(line))
            for name, text in ways:
                samples.setdefault((name, text), []).append(self.ducks[name].ask(text)[1])

    def median(self, line, name):
        """Returns the fastest text of a format."""
        samples = self.samples.get(line.name, {})
        if name == "tickstack":
            return statistics.median(samples[name]) if name in samples else None
        return min((statistics.median(ns) for who, ns in samples.items() if who[0] == name), default=None)

    def run(self):
        self.prepare()
        try:
            for line, texts in self.lines:
                try:
                    ways = self.check(line, texts)
                except Failed as error:
                    self.failed(line, "tickstack", error)
                    continue
                if not self.options.check:
                    self.measure(line, ways)
                say(f"{line.name}: done")
        finally:
            self.ours.close()
            self.database.close()

    def rows(self):
        formats = list(self.ducks)
        parquets = formats[1:]
        for line, _ in self.lines:
            ours = self.median(line, "tickstack")
            times = {name: self.median(line, name) for name in formats}
            own, parquet = times[formats[0]], min((times[name] for name in parquets if times[name]), default=None)
            factors = [other / ours if ours and other else None for other in (own, parquet)]
            goal = ""
            if line.goal:
                met = all(factor is not None and factor >= line.goal for factor in factors)
                goal = f"{line.goal}, {'met' if met else 'missed'}"
            yield line, ours, times, factors, goal

    def markdown(self):
        options, formats = self.options, list(self.ducks)
        command = "bench/peers/run history " + " ".join(sys.argv[1:])
        text = [
            f"`{command.strip()}`, {time.strftime('%d %B %Y', time.gmtime()).lstrip('0')}, commit {report.commit()}. "
            f"{self.ours.ready['machine']}; Python {platform.python_version()}, duckdb {duckdb.__version__}; "
            f"{options.threads} threads each. {len(self.days.dates)} days of {options.quotes:,} quotes, "
            f"{options.symbols:,} symbols. Medians of {options.runs} runs in turns, in milliseconds, all files in "
            "the page cache.",
            "",
            "| ms | tickstack | " + " | ".join(formats) + " | times as long: own format | Parquet | goal |",
            "|" + " --- |" * (len(formats) + 5),
        ]
        for line, ours, times, factors, goal in self.rows():
            cells = [report.milliseconds(ns) for ns in (ours, *times.values())]
            cells += ["" if factor is None else report.times(factor) for factor in factors]
            text.append("| " + " | ".join([line.title, *cells, goal]) + " |")
        text += [f"\nFailed: {failure['line']}, {failure['who']}: {failure['why']}" for failure in self.failures]
        return "\n".join(text) + "\n"

    def as_json(self):
        return {
            "commit": report.commit(),
            "lines": [
                {
                    "line": line.name,
                    "q": line.q,
                    "tickstack_ns": ours,
                    "duckdb_ns": times,
                    "factor_own": factors[0],
                    "factor_parquet": factors[1],
                    "goal": goal,
                }
                for line, ours, times, factors, goal in self.rows()
            ],
            "failures": self.failures,
        }


def main():
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    options.folder.mkdir(parents=True, exist_ok=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="history-", dir=options.folder))
    try:
        comparison = Comparison(options, folder)
        comparison.run()
    finally:
        shutil.rmtree(folder)
    if options.check:
        print(f"{len(comparison.lines)} lines compared, {len(comparison.failures)} failures")
        return 1 if comparison.failures else 0
    text = comparison.markdown()
    print(text)
    if options.json:
        options.json.write_text(json.dumps(comparison.as_json(), indent=1) + "\n", encoding="utf-8")
    if options.days >= FULL_DAYS and options.quotes >= FULL_QUOTES and not options.no_docs:
        report.put_into(report.DOCS, text, BEGIN, END)
    return 1 if comparison.failures else 0


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())

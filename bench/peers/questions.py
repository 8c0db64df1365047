"""Questions in q and in SQL about generated tables, for tickstack and DuckDB: the common part of
`bench/peers/run tsbs` and `bench/peers/run h2o`.

A table is a dictionary of columns by name: numpy arrays, or Names for texts. Each answer is compared with
DuckDB's before it is timed; then both are asked alternately, and medians are compared. A time ends when the
answer is complete in memory: an Arrow table there, a Value here."""

import argparse
import dataclasses
import json
import pathlib
import shutil
import signal
import statistics
import sys
import tempfile
import time

import duckdb
import numpy as np
import pyarrow as pa

from bench.peers import decode, kxtaq_answers
from bench.peers.day import UNIX_NS_OF_KDB_EPOCH
from bench.peers.processes import ROOT, Conversation, Failed

LETTERS = {"int32": "i", "int64": "j", "float64": "f", "datetime64[ns]": "p"}
NAME_BYTES_MAX = 64


@dataclasses.dataclass
class Names:
    """A column of symbols: for each row the index of its text in `texts`."""

    numbers: np.ndarray
    texts: list


@dataclasses.dataclass(frozen=True)
class Question:
    name: str
    q: str
    sql: str
    place: str = "memory"  # Name of the tickstack system that answers it.


def letter_of(column):
    return "s" if isinstance(column, Names) else LETTERS[str(column.dtype)]


def write_tables(directory, tables):
    """Writes files for peers_tables, see loaded_tables.h."""
    directory.mkdir(parents=True, exist_ok=True)
    lines = []
    for table, columns in tables.items():
        for name, column in columns.items():
            path = directory / f"{table}.{name}"
            if isinstance(column, Names):
                column.numbers.astype(np.int32).tofile(path)
                (directory / f"{path.name}.names").write_text("\n".join(column.texts) + "\n", encoding="ascii")
            elif column.dtype.kind == "M":
                (column.astype(np.int64) - UNIX_NS_OF_KDB_EPOCH).tofile(path)
            else:
                column.tofile(path)
        lines.append(f"{table} " + ", ".join(f"{name} {letter_of(column)}" for name, column in columns.items()))
    (directory / "tables").write_text("\n".join(lines) + "\n", encoding="ascii")


def arrow_of(columns):
    def array(column):
        if isinstance(column, Names):
            return pa.DictionaryArray.from_arrays(pa.array(column.numbers.astype(np.int32)), pa.array(column.texts))
        return pa.array(column)

    return pa.table({name: array(column) for name, column in columns.items()})


class Duck:
    def __init__(self, threads):
        self.database = duckdb.connect()
        self.database.execute(f"set threads={threads}")

    def load(self, table, columns):
        self.database.register("rows", arrow_of(columns))
        self.database.execute(f"create table {table} as select * from rows")
        self.database.unregister("rows")

    def ask(self, sql):
        begin = time.perf_counter_ns()
        answer = self.database.sql(sql).to_arrow_table()
        return answer, time.perf_counter_ns() - begin


class Here:
    """A program that answers q, see answerer.h."""

    def __init__(self, command, threads, folder):
        self.threads, self.folder = threads, folder
        self.talk = Conversation([str(word) for word in command])

    def run(self, q):
        return self.talk.ask({"evaluate": q, "threads": self.threads})["ns"]

    def answer(self, q):
        path = self.folder / "answer"
        self.talk.ask({"evaluate": q, "threads": self.threads, "answer": str(path)})
        try:
            return kxtaq_answers.of_bytes(decode.decode(path.read_bytes(), NAME_BYTES_MAX))
        finally:
            path.unlink()

    def close(self):
        self.talk.close()


def parser_of(name, description):
    parser = argparse.ArgumentParser(prog=f"bench/peers/run {name}", description=description)
    parser.add_argument("--threads", type=int, default=2, help="of each system (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=7, help="of each question and system (default: %(default)s)")
    parser.add_argument("--check", action="store_true", help="compare answers only")
    parser.add_argument("--json", type=pathlib.Path, help="write all figures there")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/peers", help="for files while it runs")
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build/release/bench")
    return parser


def difference(duck, here, question):
    """Returns what is wrong with our answer, or None."""
    try:
        found = here.answer(question.q)
    except (Failed, ValueError) as failure:
        return str(failure)
    # As in q, times are ns since 2000.
    expected = kxtaq_answers.of_arrow(duck.ask(question.sql)[0], UNIX_NS_OF_KDB_EPOCH)
    return kxtaq_answers.difference(expected, found)


def compare(options, questions, systems, duck):
    """Prints a line for each question; returns how many failed."""
    failures, samples = [], []
    if not options.check:
        print(f"Milliseconds: median (range) of {options.runs} runs, {options.threads} threads each.\n")
        print("| question | tickstack | duckdb | times duckdb |\n|---|---|---|---|")
    for question in questions:
        here = systems[question.place]
        problem = difference(duck, here, question)
        if problem is not None:
            failures.append(f"{question.name}: {problem}")
            continue
        if options.check:
            continue
        times = {"tickstack": [], "duckdb": []}
        for _ in range(options.runs):
            times["tickstack"].append(here.run(question.q))
            times["duckdb"].append(duck.ask(question.sql)[1])
        samples.append({"question": question.name, "ns": times})
        cells = [
            f"{statistics.median(ns) / 1e6:.2f} ({min(ns) / 1e6:.2f} to {max(ns) / 1e6:.2f})" for ns in times.values()
        ]
        factor = statistics.median(times["tickstack"]) / statistics.median(times["duckdb"])
        print(f"| {question.name} | {' | '.join(cells)} | {factor:.2f} |", flush=True)
    for failure in failures:
        print(failure)
    print(f"{len(questions)} questions, {len(questions) - len(failures)} answers are duckdb's")
    if options.json:
        options.json.write_text(json.dumps({"samples": samples, "failures": failures}) + "\n", encoding="utf-8")
    return len(failures)


def run(options, compare_in):
    """Calls compare_in(folder) with a temporary folder; returns the exit code."""
    # When it is ended from outside, it still ends its processes and removes its files.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    options.folder.mkdir(parents=True, exist_ok=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="questions-", dir=options.folder))
    try:
        return 1 if compare_in(folder) else 0
    finally:
        shutil.rmtree(folder)

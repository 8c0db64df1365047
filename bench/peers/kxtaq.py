"""bench/peers/run kxtaq: the KX benchmark's queries on a generated day in the shape of NYSE TAQ, in tickstack,
DuckDB and Polars.

The queries are not part of this repository: `--queries` names a clone of KxSystems/NYSETAQBenchmarks, whose
The queries are not part of this repository: `--queries` names a clone of KxSystems/NYSETAQBenchmarks, whose
artifacts/queries/inmemory has each query in q, in SQL and for Polars. Every answer is compared with DuckDB's
before it is timed. Polars' answers are only timed: some of its queries compute a different figure from the q,
such as the deviation of a sample instead of the population's."""

import argparse
import csv
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import sys
import tempfile
import time

import numpy as np

from bench.peers import decode, kxtaq_answers, taq_day
from bench.peers.processes import ROOT, Conversation, Failed

PEERS = ("duckdb", "polars")
REFERENCE = "duckdb"
NAME_BYTES_MAX = 64  # Longest name of a symbol or column, in bytes.
SLOW_S = 2.0  # A system that takes longer is asked once more, and less often than the others.
TIMES_MAX = 2.0  # Limit on the ratio of a query's time to that of the fastest peer.


def arguments():
    parser = argparse.ArgumentParser(prog="bench/peers/run kxtaq", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--queries", type=pathlib.Path, required=True, help="the benchmark's repository, or its folder")
    parser.add_argument("--quotes", type=int, default=9_400_000, help="a tenth as many trades (default: %(default)s)")
    parser.add_argument("--symbols", type=int, default=259, help="(default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="another one, another day")
    parser.add_argument("--threads", type=int, default=2, help="of each system (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=7, help="of each query and system (default: %(default)s)")
    parser.add_argument("--only", type=numbers, help="numbers of queries, such as 1-9,24 (default: all)")
    parser.add_argument("--peers", type=lambda text: text.split(","), default=list(PEERS), help="(default: all)")
    parser.add_argument("--check", action="store_true", help="compare answers only")
    parser.add_argument("--json", type=pathlib.Path, help="write all figures there")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/peers", help="for files while it runs")
    parser.add_argument("--day", type=pathlib.Path, help="keep the day in this folder, and use the one that is there")
    parser.add_argument("--peers-tables", type=pathlib.Path, default=ROOT / "build/release/bench/peers_tables")
    options = parser.parse_args()
    if unknown := set(options.peers) - set(PEERS):
        parser.error(f"--peers {', '.join(sorted(unknown))}: expected some of {', '.join(PEERS)}")
    return options


def numbers(text):
    """Returns the numbers that a text such as `1-9,24` names."""
    out = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        out |= set(range(int(first), int(last or first) + 1))
    return out


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


# ---- Files from the user's clone.


class Queries:
    """The benchmark's files: each query's text by system and number, and its pivot function."""

    def __init__(self, folder):
        candidates = (folder, folder / "artifacts/queries/inmemory")
        found = next((path for path in candidates if (path / "kdb.psv").is_file()), None)
        if found is None:
            raise FileNotFoundError(f"{folder}: expected kdb.psv, here or in artifacts/queries/inmemory")
        self.texts = {name: read_queries(found / f"{name}.psv") for name in ("kdb", *PEERS)}
        self.pivot = next(
            (path / "src/pivot.q" for path in found.resolve().parents if (path / "src/pivot.q").is_file()), None
        )


def read_queries(path):
    """Returns number: (text, parameters) of a file whose lines are idx|tags|query|parameter. Skips queries that
    begin with #, as the benchmark's runner does."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="|", quoting=csv.QUOTE_NONE)
        texts = {int(row["idx"]): (row["query"].strip(), (row["parameter"] or "").strip()) for row in rows}
    return {number: text for number, text in texts.items() if text[0] and not text[0].startswith("#")}


def statements(script):
    """Returns the statements of a q script: a line that begins with a blank continues the previous one; a line
    that begins with / is a comment."""
    out = []
    for line in script.splitlines():
        if not line.strip() or re.match(r"\s*/", line):
            continue
        if line[0].isspace() and out or line.startswith("}") and out:
            out[-1] += "\n" + line
        else:
            out.append(line)
    return [statement.rstrip().rstrip(";") for statement in out]


def quoted(text):
    """Returns a q string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def defined_names(script):
    """Returns the names that a script assigns at its outermost level, in order."""
    found = (re.match(r"([A-Za-z]\w*)\s*:(?!:)", statement) for statement in statements(script))
    return [match.group(1) for match in found if match]


# ---- The systems.


class Ours:
    def __init__(self, options, day, queries):
        self.threads = options.threads
        self.talk = Conversation([str(options.peers_tables), "--dir", str(day.directory)])
        self.machine = self.talk.ready["machine"]
        texts = definitions(day.parameters)
        self.define(list(texts), texts.values())
        if queries.pivot is not None:
            script = queries.pivot.read_text(encoding="utf-8")
            names = [f".pvt.{name}" for name in defined_names(script)]
            # Statement by statement, as a script is loaded: `system "d .pvt"` affects the statements after it.
            texts = ";".join(quoted(statement) for statement in statements(script))
            self.define(names, names, f"value each ({texts};::);")

    def define(self, names, values, before=""):
        # With a final null it is always a list, never an atom or a vector.
        items = f"-1 _ ({';'.join(values)};::)"
        try:
            self.talk.ask({"define": names, "q": before + items})
        except Failed as failure:
            say(f"cannot define {', '.join(names)}: {failure}")

    def run(self, query):
        return self.talk.ask({"evaluate": query[0], "threads": self.threads})["ns"]

    def answer(self, query, path):
        self.talk.ask({"evaluate": query[0], "threads": self.threads, "answer": str(path)})
        try:
            return kxtaq_answers.of_bytes(decode.decode(path.read_bytes(), NAME_BYTES_MAX))
        finally:
            path.unlink()

    def close(self):
        self.talk.close()


def definitions(parameters):
    """Returns the q definitions of what the queries find by name."""

    def symbols(names):
        return "`$(" + ";".join(f'"{name}"' for name in names) + ")"

    seconds = " ".join(f"{bound}" for bound in taq_day.TIME_BUCKETS.values())
    buckets = "".join("`" + name for name in taq_day.TIME_BUCKETS)
    exchanges = "".join(taq_day.EXCHANGES)
    return {
        "freqInstr": f'`$"{parameters["freqInstr"]}"',
        "infreqInstr": f'`$"{parameters["infreqInstr"]}"',
        "fiftyInstrs": symbols(parameters["fiftyInstrs"]),
        "thousandInfreqInstrs": symbols(parameters["thousandInfreqInstrs"]),
        "exnames": f'"{exchanges}"!{symbols(taq_day.EXCHANGES.values())}',
        "timeBuckets": f"{buckets}!0D00:00:01*{seconds}",
        "timeBucketsStep": f"`s#(0D00:00:01*{seconds})!{buckets}",
    }


class Peer:
    def __init__(self, name, options, day):
        environment = os.environ | {"PYTHONPATH": str(ROOT), "POLARS_MAX_THREADS": str(options.threads)}
        command = [sys.executable, "-m", "bench.peers.kxtaq_engines", name, str(day.directory), str(options.threads)]
        self.talk = Conversation(command, env=environment)

    def run(self, query):
        return self.talk.ask({"query": query[0], "parameter": query[1]})["ns"]

    def answer(self, query, path):
        path = path.with_suffix(".npz")
        self.talk.ask({"query": query[0], "parameter": query[1], "answer": str(path)})
        try:
            with np.load(path) as columns:
                return {name: columns[name] for name in columns.files}
        finally:
            path.unlink()

    def close(self):
        self.talk.close()


# ---- The run.


class Comparison:
    def __init__(self, options, queries, folder):
        self.options, self.queries, self.folder = options, queries, folder
        self.samples = {}  # (number, system): ns of each run.
        self.failures = []  # (number, system, what).
        self.numbers = sorted(set(queries.texts["kdb"]) & (options.only or set(queries.texts["kdb"])))

    def check(self, number, systems):
        """Returns whether our answer equals the reference's."""
        answers = {}
        for name in ("tickstack", REFERENCE):
            if name not in systems:
                continue
            try:
                answers[name] = systems[name].answer(self.query(number, name), self.folder / f"answer{number}")
            except (Failed, ValueError) as failure:
                self.failures.append((number, name, str(failure)))
        if len(answers) == 2:
            problem = kxtaq_answers.difference(answers[REFERENCE], answers["tickstack"])
            if problem is not None:
                self.failures.append((number, "tickstack", problem))

    def query(self, number, system):
        return self.queries.texts["kdb" if system == "tickstack" else system].get(number, ("", ""))

    def measure(self, number, systems):
        """Asks each system alternately, and once before the timed runs."""
        failed = {name for query, name, _ in self.failures if query == number}
        asked = {name: system for name, system in systems.items() if name not in failed}
        for turn in range(self.options.runs + 1):
            for name, system in list(asked.items()):
                samples = self.samples.setdefault((number, name), [])
                if samples and samples[0] > SLOW_S * 1e9 and len(samples) > 1:
                    continue
                try:
                    ns = system.run(self.query(number, name))
                except Failed as failure:
                    del asked[name], self.samples[number, name]
                    if name != REFERENCE and name != "tickstack":
                        say(f"{number} {name}: {failure}")
                    else:
                        self.failures.append((number, name, str(failure)))
                    continue
                if turn > 0:
                    samples.append(ns)

    def run(self, day):
        systems = {"tickstack": Ours(self.options, day, self.queries)}
        try:
            for name in self.options.peers:
                say(f"{name} loads the day")
                systems[name] = Peer(name, self.options, day)
            self.machine = systems["tickstack"].machine
            for number in self.numbers:
                self.check(number, systems)
                if not self.options.check:
                    self.measure(number, systems)
                    say(self.row(number))
        finally:
            for system in systems.values():
                system.close()

    def median_ms(self, number, name):
        samples = self.samples.get((number, name))
        return statistics.median(samples) / 1e6 if samples else None

    def times(self, number):
        """Returns the ratio of tickstack's time to that of the fastest peer."""
        ours = self.median_ms(number, "tickstack")
        peers = [ms for name in self.options.peers if (ms := self.median_ms(number, name)) is not None]
        return ours / min(peers) if ours and peers else None

    def row(self, number):
        def cell(name):
            samples = self.samples.get((number, name))
            if not samples:
                return "failed"
            low, high = min(samples) / 1e6, max(samples) / 1e6
            return f"{statistics.median(samples) / 1e6:.2f} ({low:.2f} to {high:.2f})"

        times = self.times(number)
        cells = [cell(name) for name in ("tickstack", *self.options.peers)]
        return f"| {number} | {' | '.join(cells)} | {'' if times is None else f'{times:.2f}'} |"

    def report(self):
        if not self.options.check:
            print(f"Milliseconds: median (range) of {self.options.runs} runs, {self.options.threads} threads each.\n")
            print(f"| query | tickstack | {' | '.join(self.options.peers)} | times the fastest peer |")
            print("|---|---|" + "---|" * len(self.options.peers) + "---|")
            for number in self.numbers:
                print(self.row(number))
            slow = [number for number in self.numbers if (self.times(number) or 0) > TIMES_MAX]
            print(f"\nMore than {TIMES_MAX:.0f} times the fastest peer: {', '.join(map(str, slow)) or 'none'}")
        for number, name, what in self.failures:
            print(f"query {number}: {name}: {what}")
        failed = {number for number, _, _ in self.failures}
        print(f"{len(self.numbers)} queries, {len(self.numbers) - len(failed)} answers are {REFERENCE}'s")

    def as_json(self):
        return {
            "machine": self.machine,
            "quotes": self.options.quotes,
            "symbols": self.options.symbols,
            "threads": self.options.threads,
            "samples_ns": [
                {"query": number, "system": name, "ns": ns} for (number, name), ns in sorted(self.samples.items())
            ],
            "failures": [{"query": number, "system": name, "what": what} for number, name, what in self.failures],
        }


def make_day(options, folder):
    directory = options.day or folder / "day"
    if not (directory / "parameters.json").is_file():
        directory.mkdir(parents=True, exist_ok=True)
        say(f"{options.quotes} quotes of {options.symbols} symbols")
        taq_day.write(directory, options.quotes, options.symbols, options.seed)
    return taq_day.TaqDay(directory)


def main():
    options = arguments()
    # When it is ended from outside, it still ends its processes and removes its files.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        queries = Queries(options.queries)
    except FileNotFoundError as missing:
        print(f"bench/peers/run kxtaq: {missing}", file=sys.stderr)
        return 2
    options.folder.mkdir(parents=True, exist_ok=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="kxtaq-", dir=options.folder))
    try:
        comparison = Comparison(options, queries, folder)
        comparison.run(make_day(options, folder))
    finally:
        shutil.rmtree(folder)
    comparison.report()
    if options.json:
        options.json.write_text(json.dumps(comparison.as_json(), indent=1) + "\n", encoding="utf-8")
    return 1 if comparison.failures else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""examples/spark/history_queries.py: Spark's answers to the queries of `hdb queries` are the HDB's. Run by
run_spark_test.sh, which installs Spark. TICKSTACK_SEED=N repeats the rows of the second test."""

import importlib.util
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import stack  # noqa: E402
from tests.support.kdb_bytes import enum, names, vector  # noqa: E402

EXAMPLE = stack.ROOT / "examples/spark/history_queries.py"
# A master, and two workers with one core each: three processes besides the driver's.
CLUSTER = "local-cluster[2,1,1024]"
QUERIES, CLIENTS = 10, 2
SECOND_NS = 10**9
MINUTE_NS = 60 * SECOND_NS
DAY, MIDNIGHT_NS = "2024.01.02", 8767 * 24 * 60 * MINUTE_NS  # ns since 2000.


def write_table(directory, columns):
    directory.mkdir(parents=True)
    for name, content in columns.items():
        (directory / name).write_bytes(content)
    (directory / ".d").write_bytes(names(*(name.encode() for name in columns)))


def changed(value):
    """Returns a wrong value of the same type."""
    return value + "x" if isinstance(value, str) else value + 1


@unittest.skipUnless(importlib.util.find_spec("pyspark"), "pyspark is not installed: make test-spark")
@unittest.skipUnless(shutil.which("java"), "no java; install a JDK")
class SparkSuiteTest(stack.StackTest):
    def tickstack(self, *arguments):
        done = self.run_program(*map(str, arguments))
        self.assertEqual(0, done.returncode, done.stderr)

    def questions(self, database):
        """Returns the questions of `hdb queries`, with the HDB's answers."""
        answers = self.folder / "answers"
        self.tickstack("hdb", "queries", database, "--drop", "files", "--clients", CLIENTS, "--seconds", 0.01,
                       "--answers", answers)
        asked = [json.loads(line) for line in answers.read_text().splitlines()]
        self.assertEqual(QUERIES * CLIENTS, len(asked))
        return asked

    def spark(self, export, asked, *arguments):
        """Returns exit status, lines of the table without the first, and lines about differences."""
        path = self.folder / "asked"
        path.write_text("".join(json.dumps(each) + "\n" for each in asked))
        done = subprocess.run([sys.executable, str(EXAMPLE), str(export), str(path), "--check", *arguments],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=1200)
        table = done.stdout.splitlines()
        self.assertEqual(["query|client|rows|median_ms|min_ms|max_ms"], table[:1], done.stderr)
        # Spark and Java write to stderr, too.
        return done.returncode, table[1:], [line for line in done.stderr.splitlines()
                                            if re.match(r"\w+: client \d+: |\d+ answers compared", line)]

    def test_answers_are_those_of_the_hdb(self):
        database, export = self.folder / "db", self.folder / "export"
        self.tickstack("hdb", "generate", database, "--days", 13, "--quotes", 6000, "--trades", 3000, "--symbols", 40,
                       "--seed", 3)
        asked = self.questions(database)
        baskets = [row for each in asked if each["query"] == "theoretical_pnl" for row in each["answer"]]
        self.assertTrue(any(row["closed"] > 0 for row in baskets))
        # Several groups of rows in each file: Spark counts a file's rows across them.
        self.tickstack("hdb", "export", database, export, "--spark", "--row-group", 1000)

        with self.subTest("on two workers"):
            status, table, differences = self.spark(export, asked, "--master", CLUSTER)
            self.assertEqual((0, ["20 answers compared, 0 differ from the HDB's"]), (status, differences))
            self.assertEqual([[each["query"], str(each["client"]), str(len(each["answer"]))] for each in asked],
                             [line.split("|")[:3] for line in table])

        with self.subTest("a changed answer is found"):
            wrong, expected = json.loads(json.dumps(asked)), []
            for number, each in enumerate(wrong):
                answer = each["answer"]
                if each["client"] > 1:
                    continue
                row = len(answer) - 1
                column = list(answer[row])[-1 - number // CLIENTS % 2]  # The last or last but one.
                answer[row][column] = changed(answer[row][column])
                value = answer[row][column]
                expected.append(f"{each['query']}: client 1: row {row}: {column}: expected {value!r}, found ")
            missing = next(each for each in wrong if (each["query"], each["client"]) == ("interval_statistics", 2))
            rows = len(missing["answer"])
            del missing["answer"][-1]
            status, _, differences = self.spark(export, wrong, "--master", "local[2]")
            self.assertEqual((1, "20 answers compared, 11 differ from the HDB's"), (status, differences.pop()))
            found = [line for line in differences if "client 1" in line]
            self.assertEqual(len(expected), len(found), found)
            for line, start in zip(found, expected):
                self.assertEqual(start, line[:len(start)])
            self.assertEqual([f"interval_statistics: client 2: expected {rows - 1} rows, found {rows}"],
                             [line for line in differences if "client 1" not in line])

    def write_ties(self, database, seed):
        """Writes a day on which every three rows of a symbol have the same time, or times within 1 us. Returns, for each
        quote of A and the trade of the same row: (ns since midnight, columns)."""
        rng = random.Random(seed)
        times = [10 * 60 * MINUTE_NS + number * 20 * SECOND_NS + (offset if number % 2 else 0)
                 for number in range(900) for offset in (1, 400, 700)]
        rows = 2 * len(times)
        stamps = [MIDNIGHT_NS + ns for ns in times] * 2
        bids = [rng.randrange(100, 900) / 8 for _ in range(rows)]
        asks = [bid + rng.randrange(1, 9) / 8 for bid in bids]
        prices = [rng.randrange(100, 900) / 8 for _ in range(rows)]
        bid_sizes, ask_sizes, sizes = ([rng.randrange(1, 50) * 100 for _ in range(rows)] for _ in range(3))
        database.mkdir()
        (database / "sym").write_bytes(names(b"A", b"B"))
        common = {"sym": enum([0] * len(times) + [1] * len(times)), "time": vector(12, "q", stamps)}
        write_table(database / DAY / "quote", common | {
            "bid": vector(9, "d", bids), "ask": vector(9, "d", asks), "bsize": vector(6, "i", bid_sizes),
            "asize": vector(6, "i", ask_sizes), "ex": vector(10, "B", rng.choices(b"NPZ", k=rows))})
        write_table(database / DAY / "trade", common | {"price": vector(9, "d", prices), "size": vector(6, "i", sizes)})
        columns = ("bid", "ask", "bsize", "asize", "price", "size")
        return [(ns, dict(zip(columns, row)))
                for ns, *row in zip(times, bids, asks, bid_sizes, ask_sizes, prices, sizes)]

    def test_ties_and_the_resolution_of_times(self):
        """Rows of the same time, or within 1 us, keep the partition's order. An export with --spark differs from the
        HDB only if a row is within 1 us of a question's own moment."""
        seed = int(os.environ.get("TICKSTACK_SEED", random.randrange(1 << 30)))
        database, exact, rounded = (self.folder / name for name in ("db", "exact", "rounded"))
        rows = self.write_ties(database, seed)
        asked = self.questions(database)
        self.tickstack("hdb", "export", database, exact)
        self.tickstack("hdb", "export", database, rounded, "--spark", "--row-group", 1000)

        at = 3 * 451  # Three rows 1, 400 and 700 ns after a whole us; the moment is 450 ns after it.
        moment = rows[at][0] + 449
        expected, found = rows[at + 1][1], rows[at + 2][1]
        self.assertTrue(rows[at + 1][0] < moment < rows[at + 2][0])
        hour, minute, second = moment // (60 * MINUTE_NS), moment // MINUTE_NS % 60, moment // SECOND_NS % 60
        time = f"2024-01-02T{hour:02}:{minute:02}:{second:02}.000000450"
        question = {"client": 3, "from": DAY, "to": DAY, "symbols": ["A"], "begin_ns": moment, "end_ns": moment}
        asked += [question | {"query": "market_snapshot", "answer": [{"sym": "A", "time": time} | expected]},
                  question | {"query": "interval_statistics", "answer": []}]  # No row has this very time.

        status, _, differences = self.spark(exact, asked, "--master", "local[2]")
        self.assertEqual((0, ["22 answers compared, 0 differ from the HDB's"]), (status, differences), f"seed {seed}")

        status, _, differences = self.spark(rounded, asked, "--master", "local[2]")
        self.assertEqual((1, "22 answers compared, 2 differ from the HDB's"), (status, differences.pop()),
                         f"seed {seed}")
        late = [f"market_snapshot: client 3: row 0: {name}: expected {expected[name]}, found {found[name]}"
                for name in expected if expected[name] != found[name]]
        self.assertEqual([*late[:5], "interval_statistics: client 3: expected 0 rows, found 2"], differences,
                         f"seed {seed}")


if __name__ == "__main__":
    stack.main()

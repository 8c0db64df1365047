#!/usr/bin/env python3
"""`tickstack hdb queries` on a small database of two directories: every answer is compared with the query's definition, computed
here from the files by another reader; and its tables, notices and errors."""

import collections
import datetime
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kdb_files, stack  # noqa: E402

DAYS, CLIENTS = 26, 3
ROUNDS = ("query|clients|phase|answers|rows|mean_ms|p50_ms|p99_ms|max_ms|queries_per_s|storage_mb|storage_mb_per_s|"
          "cached_pct|served_by|skew")
QUERIES = ["year_high_bid", "vwab_1_day", "vwab_1_day_overlap", "vwab_12_days", "vwab_12_days_overlap", "nbbo",
           "market_snapshot", "theoretical_pnl", "interval_statistics", "intraday_aggregates"]
SECOND_NS, DAY_NS = 10**9, 86_400 * 10**9
EPOCH = datetime.datetime(2000, 1, 1)


def iso(ns):
    return f"{EPOCH + datetime.timedelta(seconds=ns // SECOND_NS):%Y-%m-%dT%H:%M:%S}.{ns % SECOND_NS:09}"


def minute(ns, width):
    number = ns % DAY_NS // (60 * SECOND_NS) // width * width
    return f"{number // 60:02}:{number % 60:02}"


def by_key(rows, key):
    """Returns the rows by key, in ascending order of the keys."""
    groups = collections.defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return sorted(groups.items())


class Definitions:
    """The queries as plain loops. Rows are dictionaries, in the order of the files."""

    def __init__(self, root):
        domains = kdb_files.Domains(root)
        self.days = {}
        for date, directory in kdb_files.partitions(root):
            self.days[date] = {}
            for name in ("trade", "quote"):
                table = kdb_files.read_table(os.path.join(directory, name), domains)
                columns = [column.values for column in table.values()]
                self.days[date][name] = [dict(zip(table, row)) for row in zip(*columns)]

    def rows(self, table, asked):
        return [row for date, day in sorted(self.days.items()) if asked["from"] <= date <= asked["to"] for row in day[table]]

    def of(self, table, asked):
        symbols = set(asked["symbols"])
        return [row for row in self.rows(table, asked) if row["sym"] in symbols]

    def year_high_bid(self, asked):
        return [{"sym": sym, "high": max(row["bid"] for row in rows)}
                for sym, rows in by_key(self.of("quote", asked), lambda row: row["sym"])]

    def average_bid(self, asked):
        return [{"sym": sym, "vwab": sum(row["bid"] * row["bsize"] for row in rows) / sum(row["bsize"] for row in rows)}
                for sym, rows in by_key(self.of("quote", asked), lambda row: row["sym"])]

    vwab_1_day = vwab_1_day_overlap = vwab_12_days = vwab_12_days_overlap = average_bid

    def nbbo(self, asked):
        answer, latest = [], {}
        for row in self.of("quote", asked):
            latest[row["sym"], row["ex"]] = row
            quotes = [quote for (sym, _), quote in latest.items() if sym == row["sym"]]
            answer.append({"time": iso(row["time"]), "sym": row["sym"], "bid": max(quote["bid"] for quote in quotes),
                           "ask": min(quote["ask"] for quote in quotes)})
        return answer

    def market_snapshot(self, asked):
        midnight = int((datetime.datetime.strptime(asked["from"], "%Y.%m.%d") - EPOCH).total_seconds()) * SECOND_NS
        moment = midnight + asked["begin_ns"]
        answer = []
        for sym in asked["symbols"]:
            row = {"sym": sym, "time": iso(moment)}
            for table, names in (("quote", ("bid", "ask", "bsize", "asize")), ("trade", ("price", "size"))):
                past = [found for found in self.of(table, asked) if found["sym"] == sym and found["time"] <= moment]
                row.update({name: past[-1][name] if past else None for name in names})
            answer.append(row)
        return answer

    def theoretical_pnl(self, asked):
        answer = []
        for sym in asked["symbols"]:
            trades = [row for row in self.of("trade", asked) if row["sym"] == sym]
            first_day = sum(row["sym"] == sym for row in self.days[asked["from"]]["trade"])
            basket = sorted({first_day * tenth // 10 for tenth in range(10)}) if first_day else []
            for times in (2, 4, 20):
                gains = []
                for entry in basket:
                    volume, bought = 0, trades[entry]
                    for later in trades[entry + 1:]:
                        volume += later["size"]
                        if volume >= times * bought["size"]:
                            gains.append((later["price"] - bought["price"]) * bought["size"])
                            break
                answer.append({"sym": sym, "times": times, "trades": len(basket), "closed": len(gains), "pnl": sum(gains, 0.0)})
        return answer

    def interval_statistics(self, asked):
        rows = [row for row in self.rows("quote", asked) if asked["begin_ns"] <= row["time"] % DAY_NS <= asked["end_ns"]]
        answer = []
        for (sym, begin), group in by_key(rows, lambda row: (row["sym"], minute(row["time"], 10))):
            bids = [row["bid"] for row in group]
            answer.append({"sym": sym, "minute": begin, "quotes": len(bids), "low": min(bids), "high": max(bids),
                           "mean": statistics.fmean(bids), "deviation": statistics.pstdev(bids)})
        return answer

    def intraday_aggregates(self, asked):
        answer = []
        for (sym, begin), group in by_key(self.of("trade", asked), lambda row: (row["sym"], minute(row["time"], 15))):
            prices, volume = [row["price"] for row in group], sum(row["size"] for row in group)
            answer.append({"sym": sym, "minute": begin, "open": prices[0], "high": max(prices), "low": min(prices),
                           "close": prices[-1], "volume": volume,
                           "vwap": sum(row["price"] * row["size"] for row in group) / volume})
        return answer


class HdbQueriesTest(stack.StackTest):
    def setUp(self):
        super().setUp()
        self.database = self.folder / "db"

    def generate(self, days, *directories):
        self.database.mkdir()
        for directory in directories:
            (self.folder / directory).mkdir()
        if directories:
            (self.database / "par.txt").write_text("".join(f"{self.folder / name}\n" for name in directories))
        done = self.run_program("hdb", "generate", str(self.database), "--days", str(days), "--quotes", "1500",
                                "--trades", "1500", "--symbols", "300", "--seed", "5")
        self.assertEqual(0, done.returncode, done.stderr)

    def queries(self, *arguments):
        """Runs the command; `files` leaves the machine's page cache alone."""
        return self.run_program("hdb", "queries", str(self.database), "--drop", "files", *arguments)

    def assert_same(self, expected, answer, what):
        """Floats may differ by the order in which terms were added."""
        self.assertEqual([list(row) for row in expected], [list(row) for row in answer], what)
        for wanted, row in zip(expected, answer, strict=True):
            for name, value in wanted.items():
                if isinstance(value, float):
                    self.assertAlmostEqual(value, row[name], delta=1e-9 * max(1, abs(value)), msg=f"{what}: {name} of {row}")
                else:
                    self.assertEqual(value, row[name], f"{what}: {name} of {row}")

    def test_answers_are_those_of_the_definitions(self):
        self.generate(DAYS, "disk0", "disk1")
        answers, results = self.folder / "answers", self.folder / "results"
        done = self.queries("--clients", f"1,{CLIENTS}", "--seconds", "0.02", "--answers", str(answers),
                            "--results", str(results))
        self.assertEqual(0, done.returncode, done.stderr)
        self.check_answers([json.loads(line) for line in answers.read_text().splitlines()])
        rounds, spread = done.stdout.split("\n\n")
        self.assertEqual(rounds + "\n", (results / "queries.psv").read_text())
        self.assertEqual(spread, (results / "directories.psv").read_text())
        self.check_tables(rounds.splitlines(), spread.splitlines())
        self.check_page((results / "queries.html").read_text(), rounds.splitlines()[1:])
        again = self.queries("--results", str(results))
        self.assertEqual(1, again.returncode)
        self.assertIn(f"{results}/queries.psv: has results of an earlier run", again.stderr)

    def check_page(self, page, rounds):
        """Checks that the page has every query's definition, and a row for each line of the table."""
        self.assertIn(f"{len(QUERIES)} queries of {DAYS} days", page)
        for name in QUERIES:
            self.assertIn(f"<h3>{name}</h3>", page)
        rows = re.findall(r'<tr><th scope="row">(\d+) (cold|warm)</th>(.*)</tr>', page)
        self.assertEqual([line.split("|")[1:3] for line in rounds], [[clients, phase] for clients, phase, _ in rows])
        for line, (_, _, cells) in zip(rounds, rows):
            answers, rows_of_answer, served_by = (line.split("|")[i] for i in (3, 4, 13))
            values = re.findall("<td>([^<]*)</td>", cells)
            self.assertEqual([answers, rows_of_answer, served_by],
                             [values[i].replace(",", "") for i in (3, 5, 8)], line)

    def check_answers(self, asked):
        self.assertEqual([(name, client + 1) for name in QUERIES for client in range(CLIENTS)],
                         [(each["query"], each["client"]) for each in asked])
        definitions = Definitions(str(self.database))
        self.assertEqual(DAYS, len(definitions.days))
        rows = collections.Counter()
        for each in asked:
            self.assert_same(getattr(definitions, each["query"])(each), each["answer"], each["q"])
            rows[each["query"]] += len(each["answer"])
            overlaps = [other["q"] == each["q"] for other in asked if other["query"] == each["query"]]
            self.assertEqual(CLIENTS if each["query"].endswith("_overlap") else 1, sum(overlaps), each["q"])
        self.assertEqual(set(QUERIES), {name for name, count in rows.items() if count > CLIENTS}, rows)
        self.assertTrue(any(row["closed"] > 0 for each in asked if each["query"] == "theoretical_pnl" for row in each["answer"]))

    def check_tables(self, rounds, spread):
        self.assertEqual(ROUNDS, rounds[0])
        table = [dict(zip(ROUNDS.split("|"), line.split("|"), strict=True)) for line in rounds[1:]]
        self.assertEqual([(name, clients, phase) for name in QUERIES for clients in ("1", str(CLIENTS))
                          for phase in ("cold", "warm")], [(row["query"], row["clients"], row["phase"]) for row in table])
        for row in table:
            self.assertEqual(row["phase"] == "cold", row["skew"] != "", row)
            if row["phase"] == "cold":
                self.assertEqual(row["clients"], row["answers"])
            self.assertLessEqual(float(row["p50_ms"]), float(row["max_ms"]))
        self.assertEqual("query|clients|directory|read_mb|share_pct", spread[0])
        self.assertEqual(2 * 2 * len(QUERIES), len(spread) - 1)
        self.assertEqual({str(self.folder / "disk0"), str(self.folder / "disk1")},
                         {line.split("|")[2] for line in spread[1:]})

    def test_errors_are_named(self):
        self.generate(1)
        unknown = self.queries("--only", "nbbo,vwap")
        self.assertEqual(2, unknown.returncode)
        self.assertIn("--only vwap: no such query", unknown.stderr)
        for _, directory in kdb_files.partitions(str(self.database)):
            (pathlib.Path(directory) / "quote/bid").write_bytes(b"nonsense" * 100)
        damaged = self.queries("--only", "nbbo", "--clients", "2")
        self.assertEqual((1, ""), (damaged.returncode, damaged.stdout))
        self.assertRegex(damaged.stderr, rf"hdb queries: .*{self.database}/\d+\.\d\d\.\d\d/quote/bid")

    def test_a_signal_ends_it_with_the_rounds_so_far(self):
        self.generate(1)
        scratch = self.folder / "scratch"
        scratch.mkdir()
        process = subprocess.Popen([stack.PROGRAM, "hdb", "queries", str(self.database), "--drop", "files", "--clients", "1",
                                    "--seconds", "600"], env=os.environ | {"TMPDIR": str(scratch)}, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        while " cold " not in (line := process.stderr.readline()):
            self.assertNotEqual("", line, "the first cold round")
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=60)
        self.assertEqual(1, process.returncode)
        self.assertIn("hdb queries: year_high_bid: ended by SIGTERM\n", errors)
        self.assertEqual([ROUNDS, "year_high_bid|1|cold|1"], [output.splitlines()[0], output.splitlines()[1][:22]])
        self.assertEqual([], os.listdir(scratch))

    def test_a_database_is_generated_only_if_asked_for(self):
        nothing = self.queries()
        self.assertEqual(1, nothing.returncode)
        self.assertIn("no days to query; --years 1 generates a year", nothing.stderr)
        self.assertFalse(self.database.exists())


if __name__ == "__main__":
    stack.main()

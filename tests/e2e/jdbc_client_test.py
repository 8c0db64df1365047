#!/usr/bin/env python3
"""KX's JDBC driver does what a database tool does: it connects, lists tables and columns, and runs statements with and without
parameters, whole and in blocks of rows. Run by run_clients_test.sh, which builds the driver and JdbcClient.java; CLASSPATH says
where they are."""

import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import stack  # noqa: E402

CONFIG = "[tickerplant]\nbatch_ms = 10\n[[rdb]]\n[hdb]\n"
UPD = ('.u.upd[`trade;(2020.03.09D09:30 2020.03.09D09:31:00.5 2020.03.09D09:32;`aig`bac`aig;1.5 2.5 0n;100 200 0Ni;010b;"x y";'
       '"NNQ")]')
TRADE = ["time", "sym", "price", "size", "stop", "cond", "ex"]
GUID = "ddb87915-b672-2c32-a6cf-296061671e9d"
# A column of each type with a null in it: its name, in q, the items that the driver makes of it.
COLUMNS = (
    ("flag", "101b", [True, False, True]),
    ("guid", f'"G"$("{GUID}";"";"{GUID}")', [GUID, None, GUID]),
    ("byte", "0x00ff7f", [0, -1, 127]),
    ("short", "-5 0N 32766h", [-5, None, 32766]),
    ("int", "-5 0N 2147483646i", [-5, None, 2147483646]),
    ("long", "-5 0N 9007199254740993", [-5, None, 9007199254740993]),
    ("real", "-1.5 0N 0.25e", [-1.5, None, 0.25]),
    ("float", "0.1 0n -1e-300", [0.1, None, -1e-300]),
    ("char", '"a \\""', ["a", None, '"']),
    ("sym", '`AIG`,`$"<b>&"', ["AIG", None, "<b>&"]),
    ("timestamp", "2013.10.07D09:30:00.000000001 0N 1999.12.31D23:59:59.999999999",
     ["2013-10-07 09:30:00.000000001", None, "1999-12-31 23:59:59.999999999"]),
    ("month", "2013.10 0N 1999.12m", ["2013-10", None, "1999-12"]),
    ("date", "2013.10.07 0N 1999.12.31", ["2013-10-07", None, "1999-12-31"]),
    ("datetime", "2013.10.07T09:30:00.125 0N 1999.12.31T12:00:00.000",
     ["Mon Oct 07 09:30:00 UTC 2013", None, "Fri Dec 31 12:00:00 UTC 1999"]),
    ("span", "0D09:30:00.000000001 0N -1D00:00:00.000000000", ["09:30:00.000000001", None, "-1D00:00:00.000000000"]),
    ("minute", "09:30 0N 23:59", ["09:30", None, "23:59"]),
    ("second", "09:30:01 0N 23:59:59", ["09:30:01", None, "23:59:59"]),
    ("time", "09:30:00.125 0N 23:59:59.999", ["09:30:00", None, "23:59:59"]),
    ("text", '("x,\\"y\\"";"";"<i>")', ['x,"y"', "", "<i>"]),
    ("longs", "(1 0N;0#0;enlist 3)", [[1, -2**63], [], [3]]),
)


class JdbcTest(stack.StackTest):
    def setUp(self):
        super().setUp()
        self.stack = self.start_stack(CONFIG, "--date", "2020.03.09")

    def ask(self, name, *requests):
        """The answers of one connection to a process. A request is a list of fields."""
        done = subprocess.run(
            ["java", "-Duser.timezone=UTC", "JdbcClient", f"jdbc:q:localhost:{self.stack.port(name)}"],
            input="".join("\t".join(map(str, request)) + "\n" for request in requests),
            capture_output=True, encoding="utf-8", timeout=60, check=False)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(len(requests), len(answers))
        return answers

    def query(self, name, text, most=0, block=0):
        return self.ask(name, ["query", text, most, block])[0]

    def publish(self):
        self.stack.ask("tickerplant", UPD)
        stack.wait_until(lambda: self.stack.count("trade") == 3, what="three trades in the rdb")

    def fill_database(self):
        done = self.run_program("hdb", "generate", str(self.stack.data / "hdb"), "--quotes", "2000", "--days", "2",
                                "--from", "2020.03.05")
        self.assertEqual(0, done.returncode, done.stderr)
        self.stack.ask("hdb", ".hdb.reload[]")

    def test_a_tool_finds_tables_columns_and_types_at_its_start(self):
        self.fill_database()
        for name in ("tickerplant", "rdb", "hdb"):
            valid, product, catalogs, schemas, kinds, types, tables, views, columns, everything = self.ask(
                name, ["valid"], ["product"], ["catalogs"], ["schemas"], ["tableTypes"], ["types"], ["tables", "TABLE,VIEW"],
                ["tables", "VIEW"], ["columns", "trade"], ["columns", "%"])
            self.assertEqual((True, "kdb"), (valid, product))
            self.assertEqual([[], []], [catalogs["rows"], schemas["rows"]])
            self.assertEqual([["TABLE"], ["VIEW"]], kinds["rows"])
            codes = [row[1] for row in types["rows"]]
            self.assertEqual((11, sorted(codes)), (len(codes), codes))
            self.assertEqual([[None, None, "quote", "TABLE"], [None, None, "trade", "TABLE"]], tables["rows"])
            self.assertEqual([], views["rows"])
            trade = sorted([*TRADE, "date"]) if name == "hdb" else sorted(TRADE)
            self.assertEqual(trade, sorted(row[3] for row in columns["rows"]))
            self.assertEqual(list(range(1, len(trade) + 1)), [row[16] for row in columns["rows"]])
            self.assertEqual({"quote", "trade"}, {row[2] for row in everything["rows"]})

    def test_what_the_driver_does_not_support_is_its_own_error(self):
        for request in ("primaryKeys", "indexes", "importedKeys"):
            (answer,) = self.ask("rdb", [request, "trade"])
            self.assertIn("not supported", answer["error"])
        null_kinds, after = self.ask("rdb", ["tables"], ["tables", "TABLE"])
        self.assertEqual({"error": "null"}, null_kinds, "the driver fails before it sends anything")
        self.assertEqual(2, len(after["rows"]))

    def test_statements_give_tables(self):
        self.publish()
        self.fill_database()
        by_symbol = self.query("rdb", "q)select sum size,last price by sym from trade")
        self.assertEqual([["sym", 12], ["size", 4], ["price", 8]], by_symbol["columns"])
        self.assertEqual([["aig", 100, None], ["bac", 200, 2.5]], by_symbol["rows"])
        self.assertEqual(TRADE, [name for name, _ in self.query("tickerplant", "q)trade")["columns"]])
        self.assertEqual([["2020-03-05", 200], ["2020-03-06", 200]],
                         self.query("hdb", "q)select n:count i by date from trade")["rows"])
        self.assertEqual("date", self.query("hdb", "q)trade", most=1)["columns"][0][0])
        self.assertEqual("t", self.query("rdb", "q)meta trade")["columns"][1][0])

    def test_every_type_and_its_null(self):
        table = self.query("rdb", "q)([]" + ";".join(f"{name}:{q}" for name, q, _ in COLUMNS) + ")")
        self.assertEqual(len(COLUMNS), len(table["columns"]))
        for (name, _, items), column, (found, _) in zip(COLUMNS, zip(*table["rows"]), table["columns"]):
            self.assertEqual((name, items), (found, list(column)))

    def test_most_rows_and_blocks_of_rows(self):
        for most, block, rows in ((0, 0, 10), (4, 0, 4), (0, 3, 10), (5, 3, 5), (0, 10, 10), (0, 1, 10), (100, 4, 10)):
            answer = self.query("rdb", "q)([]a:til 10)", most, block)
            self.assertEqual([[a] for a in range(rows)], answer["rows"], (most, block))
        self.fill_database()
        self.assertEqual(400, len(self.query("hdb", "q)select from trade", 0, 90)["rows"]))

    def test_parameters_are_the_items_of_a_list(self):
        kinds = (("boolean", "true", True), ("short", "-5", -5), ("int", "6", 6), ("long", "9007199254740993", 9007199254740993),
                 ("float", "8.5", 8.5), ("double", "0.1", 0.1), ("string", "aig", "aig"), ("date", "2020-03-09", "2020-03-09"),
                 ("time", "09:30:00", "09:30:00"), ("timestamp", "2020-03-09 09:30:00.5", "2020-03-09 09:30:00.5"),
                 ("null", 4, None), ("null", 12, None), ("null", 93, None))
        answers = self.ask("rdb", *(["prepared", "q){([]v:x 0 0;n:count x)}", f"{kind}={value}"] for kind, value, _ in kinds))
        for (kind, _, item), answer in zip(kinds, answers):
            self.assertEqual([[item, 1], [item, 1]], answer["rows"], kind)
        self.publish()
        for text in ("q){select size from trade where sym=x 0,size>x 1}", "q){[s;n]select size from trade where sym=s,size>n}."):
            (found,) = self.ask("rdb", ["prepared", text, "string=aig", "int=50"])
            self.assertEqual([[100]], found["rows"], text)
        (whole,) = self.ask("rdb", ["prepared", "q)select size from trade"])
        self.assertEqual([[100], [200], [None]], whole["rows"])

    def test_names_last_as_long_as_the_connection(self):
        answers = self.ask("rdb", ["execute", "q)mine:([]a:1 2);"], ["query", "q)mine", 0, 0], ["tables", "TABLE"])
        self.assertEqual((False, [[1], [2]]), (answers[0], answers[1]["rows"]))
        self.assertEqual(["mine", "quote", "trade"], [row[2] for row in answers[2]["rows"]])
        self.assertEqual({"error": "mine"}, self.query("rdb", "q)mine"))

    def test_errors_say_what_is_wrong_and_the_connection_lives_on(self):
        type_error, name, column, sql, no_table, after = self.ask(
            "rdb", ["query", "q)1+`a", 0, 0], ["query", "q)nosuch", 0, 0], ["columns", "nosuch"],
            ["query", "SELECT * FROM trade", 0, 0], ["query", "q)1+1", 0, 0], ["query", "q)([]a:1 2)", 0, 0])
        self.assertEqual(["type", "nosuch", "nosuch"], [answer["error"] for answer in (type_error, name, column)])
        self.assertEqual("nyi: SQL; write q with q) in front: q)select from trade", sql["error"])
        self.assertIn("did not produce a ResultSet", no_table["error"])
        self.assertEqual([[1], [2]], after["rows"])


if __name__ == "__main__":
    unittest.main()

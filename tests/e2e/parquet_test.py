#!/usr/bin/env python3
"""`tickstack query --parquet` and `--arrow`: DuckDB, Polars and Arrow read the same from these files as --json gives for
the same answer. Run by run_duckdb_test.sh, which installs them."""

import datetime
import io
import json
import pathlib
import subprocess
import sys

import duckdb
import polars
import pyarrow.ipc
import pyarrow.parquet

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import stack  # noqa: E402

CONFIG = "[tickerplant]\nbatch_ms = 5\n[[rdb]]\nquery_threads = 1\n"
EVERY_TYPE = """([]
 b:1001b; g:"G"$("01020304-0506-0708-090a-0b0c0d0e0f10";"";"ffffffff-ffff-ffff-ffff-ffffffffffff";"00000000-0000-0000-0000-000000000001");
 x:0x00017fff; h:1 0N -3 0Wh; i:1 0N -3 0Wi; j:1 0N -3 0Wj; e:"e"$1.5 0n -2 0w; f:0.1 0n -0w 1e300; c:"a b\\"";
 s:(`IBM;`;`$"x y";`IBM); p:2013.10.07D09:30:00.000000001 0N 1969.12.31D23:59:59.999999999 0W;
 m:2013.10 0N 1999.12 2000.01m; d:2013.10.07 0N 1900.01.01 9999.12.31; z:2013.10.07T09:30:00.123 0N 1970.01.01T00:00:00.001 0W;
 n:0D09:30 0N 0D00 0D23:59:59.999999999; u:09:30 0N 00:00 23:59; v:09:30:01 0N 00:00:00 23:59:59;
 t:09:30:00.001 0N 00:00:00.000 23:59:59.999; long:0D25:00 0N -0D01 0D00;
 text:("abc";"";"\\303\\251";"\\377"))"""
EXPECTED = {
    "b": [True, False, False, True],
    "x": [0, 1, 127, 255], "h": [1, None, -3, 32767], "i": [1, None, -3, 2**31 - 1], "j": [1, None, -3, 2**63 - 1],
    "e": [1.5, None, -2.0, float("inf")], "f": [0.1, None, float("-inf"), 1e300],
    "c": ["a", " ", "b", '"'], "s": ["IBM", None, "x y", "IBM"],
    "p": ["2013-10-07 09:30:00.000000001", None, "1969-12-31 23:59:59.999999999", None],
    "m": [datetime.date(2013, 10, 1), None, datetime.date(1999, 12, 1), datetime.date(2000, 1, 1)],
    "d": [datetime.date(2013, 10, 7), None, datetime.date(1900, 1, 1), datetime.date(9999, 12, 31)],
    "z": ["2013-10-07 09:30:00.123", None, "1970-01-01 00:00:00.001", None],
    "n": ["09:30:00", None, "00:00:00", "23:59:59.999999999"],
    "u": ["09:30:00", None, "00:00:00", "23:59:00"], "v": ["09:30:01", None, "00:00:00", "23:59:59"],
    "t": ["09:30:00.001", None, "00:00:00", "23:59:59.999"],
    "long": [25 * 3600 * 10**9, None, -3600 * 10**9, 0],
    "text": ["abc", "", "\u00e9", "\ufffd"],
}
TYPES = {
    "b": "BOOLEAN", "g": "UUID", "x": "UTINYINT", "h": "SMALLINT", "i": "INTEGER", "j": "BIGINT", "e": "FLOAT", "f": "DOUBLE",
    "c": "VARCHAR", "s": "VARCHAR", "p": "TIMESTAMP_NS", "m": "DATE", "d": "DATE", "z": "TIMESTAMP_NS",
    "u": "TIME", "v": "TIME", "t": "TIME", "long": "BIGINT", "text": "VARCHAR",
}


class ParquetTest(stack.StackTest):
    def setUp(self):
        super().setUp()
        self.running = self.start_stack(CONFIG)
        self.address = f"127.0.0.1:{self.running.port('rdb')}"

    def ask(self, query, *flags):
        return subprocess.run([stack.PROGRAM, "query", self.address, query, *flags], capture_output=True, timeout=60,
                              check=False)

    def file_of(self, query):
        done = self.ask(query, "--parquet")
        self.assertEqual((0, b""), (done.returncode, done.stderr))
        path = self.folder / "answer.parquet"
        path.write_bytes(done.stdout)
        return path

    def test_every_type_is_read_as_what_it_means(self):
        path = self.file_of(EVERY_TYPE)
        described = duckdb.sql(f"describe select * from '{path}'").fetchall()
        types = {row[0]: row[1] for row in described}
        self.assertEqual(TYPES, {name: types[name] for name in TYPES})
        self.assertTrue(types["n"].startswith("TIME"), types["n"])
        for name, expected in EXPECTED.items():
            shown = name in ("p", "z", "n", "u", "v", "t")  # As text: Python has no nanoseconds.
            what = f"{name}::varchar" if shown else name
            self.assertEqual(expected, [row[0] for row in duckdb.sql(f"select {what} from '{path}'").fetchall()], name)
        self.assertEqual(["01020304-0506-0708-090a-0b0c0d0e0f10", None],
                         [row[0] for row in duckdb.sql(f"select g::varchar from '{path}' limit 2").fetchall()])
        arrow = pyarrow.parquet.read_table(path)
        self.assertEqual(list(EXPECTED), [name for name in arrow.column_names if name != "g"])
        for name in ("b", "x", "h", "i", "j", "f", "c", "s", "m", "d", "long", "text"):
            self.assertEqual(EXPECTED[name], arrow[name].to_pylist(), name)
        self.assertEqual([34200 * 10**9, None, 0, 86400 * 10**9 - 1], arrow["n"].cast("int64").to_pylist())

    def stream_of(self, query):
        done = self.ask(query, "--arrow")
        self.assertEqual((0, b""), (done.returncode, done.stderr))
        return done.stdout

    def test_arrow_has_every_type(self):
        stream = self.stream_of(EVERY_TYPE)
        table = pyarrow.ipc.open_stream(stream).read_all()
        table.validate(full=True)
        types = {field.name: str(field.type) for field in table.schema}
        self.assertEqual({
            "b": "bool", "x": "uint8", "h": "int16", "i": "int32", "j": "int64", "e": "float", "f": "double", "c": "string",
            "s": "string", "p": "timestamp[ns]", "m": "date32[day]", "d": "date32[day]", "z": "timestamp[ns]",
            "n": "time64[ns]", "u": "time32[s]", "v": "time32[s]", "t": "time32[ms]", "long": "duration[ns]",
            "text": "string"}, {name: kind for name, kind in types.items() if name != "g"})
        for name in ("b", "x", "h", "i", "j", "e", "f", "c", "s", "m", "d", "text"):
            self.assertEqual(EXPECTED[name], table[name].to_pylist(), name)
        for name, units in (("long", EXPECTED["long"]), ("n", [34200 * 10**9, None, 0, 86400 * 10**9 - 1]),
                            ("p", [1381138200 * 10**9 + 1, None, -1, None])):
            self.assertEqual(units, table[name].cast("int64").to_pylist(), name)
        for name, units in (("u", [34200, None, 0, 86340]), ("v", [34201, None, 0, 86399]),
                            ("t", [34200001, None, 0, 86399999])):
            self.assertEqual(units, table[name].cast("int32").to_pylist(), name)
        self.assertEqual("01020304-0506-0708-090a-0b0c0d0e0f10", str(table["g"].to_pylist()[0]))
        frame = polars.read_ipc_stream(io.BytesIO(stream))
        for name in ("b", "j", "f", "c", "s", "d", "text"):
            self.assertEqual(EXPECTED[name], frame[name].to_list(), name)

    def test_arrow_has_all_rows(self):
        table = pyarrow.ipc.open_stream(self.stream_of("([]i:til 300000;s:300000#`a`b```c)")).read_all()
        table.validate(full=True)
        self.assertEqual([65536] * 4 + [37856], [len(part) for part in table["i"].chunks])
        self.assertEqual(list(range(300000)), table["i"].to_pylist())
        self.assertEqual(["a", "b", None, None, "c"] * 60000, table["s"].to_pylist())
        self.assertEqual((0, ["time", "sym"]), (lambda t: (t.num_rows, t.column_names[:2]))(
            pyarrow.ipc.open_stream(self.stream_of("0#trade")).read_all()))
        done = self.ask("1", "--arrow")
        self.assertEqual((1, b""), (done.returncode, done.stdout))
        self.assertIn(b"expected a table", done.stderr)
        self.assertEqual(2, self.ask("1", "--arrow", "--parquet").returncode)

    def test_many_rows_are_the_rows_of_the_answer(self):
        path = self.file_of("([]i:til 300000;s:300000#`a`b```c;x:@[0.5*til 300000;7*til 40000;:;0n])")
        count, total, names, numbers, distinct = duckdb.sql(
            f"select count(*), sum(i), count(s), count(x), count(distinct s) from '{path}'").fetchall()[0]
        self.assertEqual((300000, 44999850000, 180000, 260000, 3), (count, total, names, numbers, distinct))
        self.assertEqual([(131072, None), (299999, "c")],
                         duckdb.sql(f"select i, s from '{path}' where i in (131072, 299999) order by i").fetchall()[:2])
        self.assertEqual(3, pyarrow.parquet.ParquetFile(path).num_row_groups)

    def test_long_texts_and_names_take_several_pages(self):
        path = self.file_of('([]t:2000#("x";20000#"y");s:`$(string til 2000),\\:20000#"n")')
        self.assertEqual((2000, 1000 * 20001, 2000, "7" + 20000 * "n"), duckdb.sql(
            f"select count(*), sum(length(t)), count(distinct s), max(s) filter (s like '7n%') from '{path}'").fetchall()[0])
        self.assertEqual(2000, pyarrow.parquet.read_table(path).num_rows)

    def test_keyed_and_empty_tables(self):
        self.assertEqual([("a", 1), ("b", 2)], duckdb.sql(f"select * from '{self.file_of('([k:`a`b]v:1 2)')}'").fetchall())
        self.assertEqual([(0,)], duckdb.sql(f"select count(*) from '{self.file_of('0#trade')}'").fetchall())
        nothing = duckdb.sql(f"select * from '{self.file_of('([]s:```;j:3#0N)')}'").fetchall()
        self.assertEqual([(None, None)] * 3, nothing)

    def test_what_is_no_table_says_so(self):
        for query, why in (("1", b"expected a table"), ("([]a:1 2;b:(1 2;3 4))", b"column b has lists"), ("1+`a", b"'type")):
            done = self.ask(query, "--parquet")
            self.assertEqual((1, b""), (done.returncode, done.stdout))
            self.assertIn(why, done.stderr)
        self.assertEqual(2, self.ask("1", "--parquet", "--csv").returncode)
        self.assertEqual([{"a": 1}], json.loads(self.ask("([]a:enlist 1)", "--json").stdout))


if __name__ == "__main__":
    stack.main()

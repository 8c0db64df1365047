#!/usr/bin/env python3
"""`tickstack hdb export`: DuckDB, Polars and Arrow read what the database has; and `hdb import` of their files. Run by
run_duckdb_test.sh, which installs them. With --spark only what Spark reads; run by run_spark_test.sh.
TICKSTACK_SEED=N repeats a random database."""

import datetime
import json
import math
import os
import pathlib
import random
import struct
import sys
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import stack  # noqa: E402
from tests.support.kdb_bytes import enum, names, vector  # noqa: E402

SPARK = "--spark" in sys.argv and sys.argv.pop(sys.argv.index("--spark"))
if SPARK:
    from pyspark.sql import SparkSession
else:
    import duckdb
    import polars
    import pyarrow
    import pyarrow.ipc
    import pyarrow.parquet

ROOT = pathlib.Path(__file__).resolve().parents[2]
EPOCH = datetime.datetime(2000, 1, 1)
UNIX_NS = 946_684_800_000_000_000
DAYS = 10_957  # From 1970 to 2000.
QUOTES, DATES = 60_000, ("2024-01-04", "2024-01-05", "2024-01-08")
NULL16, NULL32, NULL64 = -(1 << 15), -(1 << 31), -(1 << 63)

# The values of tests/data/export/exact.parquet, which interchange/partition_export_test.cc describes.
GUIDS = [uuid.UUID(bytes=bytes(range(1, 17))), None, uuid.UUID(int=(1 << 128) - 1), uuid.UUID(int=(1 << 128) - 1)]
GOLDEN = {
    "b": [True, False, False, True], "x": [0, 1, 127, 255], "h": [1, None, -3, 32767], "i": [1, None, -3, 2**31 - 1],
    "j": [1, None, -3, 2**63 - 1], "e": [1.5, None, -0.0, 2.0], "f": [0.1, None, float("-inf"), 1e300],
    "c": ["a", " ", "\ufffd", '"'], "s": ["MSFT", None, "\ufffd", None], "s32": ["AAPL", None, "MSFT", "AAPL"],
    "m": [datetime.date(2013, 10, 1), None, datetime.date(1999, 12, 1), None],
    "d": [datetime.date(2013, 10, 7), None, datetime.date(1900, 1, 1), None],
    "n": [34_200_000_000_000, None, -5, None], "text": ["abc", "", "\u00e9", "\ufffd"],
    "plain": ["one", None, "three", "four"],
}
GOLDEN_NS = {"p": [434_367_000_000_000_001 + UNIX_NS, None, UNIX_NS - 1, None],
             "z": [434_462_400_000_000_000 + UNIX_NS, None, UNIX_NS - 108_000_000_000_000, None]}
GOLDEN_MS = {"u": [34_200_000, None, 86_340_000, None], "v": [34_201_000, None, 86_399_000, None],
             "t": [34_200_001, None, 86_399_999, None]}
GOLDEN_NUMBERS = {"u": [570, None, 1439, None], "v": [34_201, None, 86_399, None], "t": GOLDEN_MS["t"]}


def texts(values):
    return b"\xff\x01\0\0" + struct.pack("<i", len(values)) + b"".join(
        b"\x0a\0" + struct.pack("<i", len(text)) + text for text in values)


class RandomColumns:
    """Columns of every type that hold random values: each as a file of kdb+ and as what Arrow should read."""

    def __init__(self, rng, rows, symbols):
        self.rng, self.rows, self.files, self.expected = rng, rows, {}, {}
        for name, kind, form, null, low, high in (
            ("h", 5, "h", NULL16, -99, 99), ("i", 6, "i", NULL32, -2**31 + 1, 2**31 - 1),
            ("j", 7, "q", NULL64, -2**63 + 1, 2**63 - 1), ("n", 16, "q", NULL64, -2**63 + 2, 2**63 - 2),
        ):
            self.add(name, kind, form, null, lambda low=low, high=high: rng.randint(low, high))
        self.add("x", 4, "B", None, lambda: rng.randint(0, 255))
        self.add("b", 1, "B", None, lambda: rng.randint(0, 1), bool)
        self.add("f", 9, "d", math.nan, lambda: rng.choice([0.0, -0.0, math.inf, rng.uniform(-1e300, 1e300)]))
        self.add("p", 12, "q", NULL64, lambda: rng.randint(-10**18, 8 * 10**18), lambda ns: ns + UNIX_NS)
        self.add("d", 14, "i", NULL32, lambda: rng.randint(-10**5, 10**5), lambda days: days + DAYS)
        self.add("m", 13, "i", NULL32, lambda: rng.randint(-2000, 2000), self.first_day)
        self.add("u", 17, "i", NULL32, lambda: rng.randint(0, 1439), lambda minute: minute * 60_000)
        self.add("t", 19, "i", NULL32, lambda: rng.randint(0, 86_399_999))
        self.add("c", 10, "B", None, lambda: rng.randint(32, 126), chr)
        positions = [rng.choice([NULL64, rng.randrange(len(symbols))]) for _ in range(rows)]
        self.files["s"] = enum(positions)
        self.expected["s"] = [None if at == NULL64 else symbols[at].decode() for at in positions]
        values = ["".join(rng.choices("abc\u00e9", k=rng.randint(0, 5))) for _ in range(rows)]
        self.files["text"], self.expected["text"] = texts([text.encode() for text in values]), values

    def add(self, name, kind, form, null, draw, shown=lambda value: value):
        share = self.rng.choice([0.0, 0.3, 1.0]) if null is not None else 0.0
        drawn = [None if self.rng.random() < share else draw() for _ in range(self.rows)]
        self.files[name] = vector(kind, form, [null if value is None else value for value in drawn])
        self.expected[name] = [None if value is None else shown(value) for value in drawn]

    @staticmethod
    def first_day(months):
        return (datetime.date(2000 + months // 12, months % 12 + 1, 1) - datetime.date(1970, 1, 1)).days


class ExportTest(stack.StackTest):
    def export(self, database, *flags):
        done = self.run_program("hdb", "export", str(database), str(self.folder / "export"), "--json", *flags)
        self.assertEqual(0, done.returncode, done.stderr)
        return json.loads(done.stdout)

    def generate(self):
        database = self.folder / "db"
        done = self.run_program("hdb", "generate", str(database), "--quotes", str(QUOTES), "--symbols", "300", "--days",
                                str(len(DATES)), "--from", "2024.01.04", "--compression", "lz4")
        self.assertEqual(0, done.returncode, done.stderr)
        return database

    def sums(self, database):
        """Returns the hdb's own answers: per date the rows, sums and extremes of quotes."""
        port, _ = self.start_process("hdb", "--db", str(database))
        with stack.kdb_ipc.connect_within(port) as hdb:
            found = {}
            for date in DATES:
                q = date.replace("-", ".")
                row = hdb.call(f"value exec n:count i,bsize:sum bsize,asize:sum asize,bid:sum bid,low:min `long$time,"
                               f"high:max `long$time,symbols:count distinct sym,modes:sum mode=\"R\" from quote where date={q}")
                found[date] = list(row)
        return found

    def compare(self, expected, found):
        """`found`: per date the same numbers, times in ns since 1970."""
        self.assertEqual(set(expected), set(found))
        for date, row in expected.items():
            n, bsize, asize, bid, low, high, symbols, modes = row
            got = list(found[date])
            self.assertEqual([n, bsize, asize, low + UNIX_NS, high + UNIX_NS, symbols, modes], got[:3] + got[4:], date)
            self.assertTrue(math.isclose(bid, got[3], rel_tol=1e-9), (date, bid, got[3]))


class ReadersTest(ExportTest):
    def test_sums_are_those_of_the_hdb(self):
        database = self.generate()
        report = self.export(database, "--row-group", "20000")
        self.assertEqual((2 * len(DATES), 0), (report["written"], report["unchanged"]))
        self.assertEqual(len(DATES) * (QUOTES + QUOTES // 10), report["rows"])
        self.assertEqual((0, 6), tuple(self.export(database, "--row-group", "20000")[key] for key in ("written", "unchanged")))
        expected = self.sums(database)
        folder = self.folder / "export" / "quote"
        with self.subTest("DuckDB"):
            self.compare(expected, {str(row[0]): row[1:] for row in duckdb.sql(f"""
                select date, count(*), sum(bsize)::bigint, sum(asize)::bigint, sum(bid), epoch_ns(min(time)),
                  epoch_ns(max(time)), count(distinct sym), count(*) filter (mode = 'R')
                from read_parquet('{folder}/*/*.parquet', hive_partitioning = true) group by date""").fetchall()})
        with self.subTest("Polars"):
            c = polars.col
            frame = polars.scan_parquet(folder, hive_partitioning=True).group_by("date").agg(
                polars.len(), c("bsize").sum(), c("asize").sum(), c("bid").sum(), c("time").min().cast(polars.Int64),
                c("time").max().cast(polars.Int64).alias("high"), c("sym").n_unique(), (c("mode") == "R").sum()).collect()
            self.compare(expected, {str(row[0]): row[1:] for row in frame.rows()})
        with self.subTest("groups are skipped by symbol"):
            one = duckdb.sql(f"select sym from read_parquet('{folder}/*/*.parquet') limit 1").fetchall()[0][0]
            file = pyarrow.parquet.ParquetFile(next(folder.glob("*/*.parquet")))
            column = file.schema_arrow.get_field_index("sym")
            ranges = [file.metadata.row_group(i).column(column).statistics for i in range(file.num_row_groups)]
            self.assertEqual(3, len(ranges))
            self.assertLess(sum(group.min <= one <= group.max for group in ranges), 3)
            self.assertEqual(0, ranges[0].null_count)

    def test_parquet_of_other_programs_is_imported(self):
        """DuckDB writes Parquet; pyarrow and Polars turn it into Arrow's format; the hdb has DuckDB's rows."""
        parquet, mapping = self.folder / "ticks.parquet", self.folder / "mapping.toml"
        duckdb.sql(f"""copy (select timestamp_ns '2024-01-04 14:30:00' + to_milliseconds(i * 7) as ts,
            case when i % 11 > 0 then 'S' || i % 50 end as ticker, i / 8 as price, (i % 1000)::int as qty, i % 3 = 0 as odd,
            time '09:30:00' + to_milliseconds(i) as at, case when i % 4 > 0 then date '2024-01-04' + i::int end as due,
            'note, ' || i as note from range(20000) t(i)) to '{parquet}'""")
        mapping.write_text('table = "tick"\n' + "".join(
            f'[[column]]\nname = "{name}"\ntype = "{kind}"\nfrom = "{source}"\n' for name, kind, source in (
                ("sym", "s", "ticker"), ("time", "p", "ts"), ("price", "f", "price"), ("size", "i", "qty"),
                ("odd", "b", "odd"), ("at", "n", "at"), ("due", "d", "due"), ("note", "C", "note"))), encoding="utf-8")
        source = pyarrow.parquet.ParquetFile(parquet)
        with pyarrow.ipc.new_stream(str(self.folder / "one.arrows"), source.schema_arrow) as stream:
            for batch in source.iter_batches(batch_size=3000):
                stream.write(batch)
        frame = polars.read_parquet(parquet).with_columns(polars.col("ticker").cast(polars.Categorical))
        frame.write_ipc_stream(self.folder / "two.arrows", compat_level=polars.CompatLevel.oldest())
        expected = duckdb.sql(f"""select ticker, count(*), sum(price), sum(qty), count(*) filter (odd), count(due),
            sum(epoch_ns(ts) - epoch_ns(timestamp '2024-01-04')), sum(length(note)) from '{parquet}' group by all order by ticker nulls first""").fetchall()
        for name in ("one", "two"):
            with self.subTest(name):
                database = self.folder / name
                done = self.run_program("hdb", "import", str(database), str(self.folder / f"{name}.arrows"), "--mapping",
                                        str(mapping))
                self.assertEqual(0, done.returncode, done.stderr)
                port, _ = self.start_process("hdb", "--db", str(database))
                with stack.kdb_ipc.connect_within(port) as hdb:
                    columns = hdb.call("value flip 0!select n:count i,price:sum price,size:sum size,odd:sum odd,"
                                       "due:sum not null due,time:sum `long$time-2024.01.04D0,note:sum count each note by sym from tick "
                                       "where date=2024.01.04")
                    first = hdb.call("value exec first at,first note,first due from tick where time=2024.01.04D14:30:00.007")
                rows = [(row[0] or None, row[1], row[2], row[3], row[4], *row[5:]) for row in zip(*columns)]
                self.assertEqual([tuple(row) for row in expected], rows)
                self.assertEqual([34_200_001_000_000, b"note, 1", 8770], [bytes(x, "ascii") if isinstance(x, str) else x
                                                                         for x in first])

    def test_a_stream_that_does_not_fit_is_refused(self):
        path, mapping = self.folder / "a.arrows", self.folder / "mapping.toml"
        mapping.write_text('table = "t"\ndate = "2024.01.04"\n[[column]]\nname = "a"\ntype = "i"\n', encoding="utf-8")
        for column, why in ((pyarrow.array([1, None, 2**40]), "a.arrows: row 2: a: expected a value of type int, found 1099511627776"),
                            (pyarrow.array([1.5]), "row 0: a: expected a value of type int, found the float 1.5"),
                            (pyarrow.array(["1", "x"]), 'row 1: a: expected a value of type int, found "x"'),
                            (pyarrow.array([[1]]), "column a has Arrow's type 12"),
                            (pyarrow.array([1], pyarrow.timestamp("us")), "found a timestamp or date")):
            table = pyarrow.table({"a": column})
            with pyarrow.ipc.new_stream(str(path), table.schema) as stream:
                stream.write_table(table)
            done = self.run_program("hdb", "import", str(self.folder / "db"), str(path), "--mapping", str(mapping))
            self.assertEqual(1, done.returncode)
            self.assertIn(why, done.stderr)
        options = pyarrow.ipc.IpcWriteOptions(compression="zstd")
        with pyarrow.ipc.new_stream(str(path), table.schema, options=options) as stream:
            stream.write_table(pyarrow.table({"a": pyarrow.array([1], pyarrow.timestamp("us"))}))
        done = self.run_program("hdb", "import", str(self.folder / "db"), str(path), "--mapping", str(mapping))
        self.assertIn("write the stream without compression", done.stderr)
        self.assertFalse((self.folder / "db").exists())

    def test_the_golden_file_has_every_type(self):
        path = ROOT / "tests/data/export/exact.parquet"
        arrow = pyarrow.parquet.read_table(path)
        self.assertEqual(repr(GOLDEN), repr({name: arrow[name].to_pylist() for name in GOLDEN}))
        self.assertEqual(GOLDEN_NS, {name: arrow[name].cast("int64").to_pylist() for name in GOLDEN_NS})
        self.assertEqual(GOLDEN_MS, {name: arrow[name].cast("int32").to_pylist() for name in GOLDEN_MS})
        self.assertEqual([guid and guid.bytes for guid in GUIDS], [
            value if value is None or isinstance(value, bytes) else value.bytes for value in arrow["g"].to_pylist()])
        rows = duckdb.sql(f"select * from '{path}'")
        self.assertEqual(GUIDS, [row[0] for row in rows.select("g").fetchall()])
        for name in ("b", "x", "h", "i", "j", "c", "s", "s32", "m", "d", "n", "text", "plain"):
            self.assertEqual(GOLDEN[name], [row[0] for row in rows.select(name).fetchall()], name)
        self.assertEqual(["09:30:00", None, "23:59:00", None],
                         [row[0] for row in duckdb.sql(f"select u::varchar from '{path}'").fetchall()])
        frame = polars.read_parquet(path, columns=[name for name in GOLDEN if name != "g"])
        for name in GOLDEN:
            self.assertEqual(repr(GOLDEN[name]), repr(frame[name].to_list()), name)
        spark = pyarrow.parquet.read_table(ROOT / "tests/data/export/spark.parquet")
        self.assertEqual({name: [None if ns is None else ns // 1000 for ns in values] for name, values in GOLDEN_NS.items()},
                         {name: spark[name].cast("int64").to_pylist() for name in GOLDEN_NS})
        self.assertEqual(GOLDEN_NUMBERS, {name: spark[name].to_pylist() for name in GOLDEN_NUMBERS})
        self.assertEqual([guid and str(guid) for guid in GUIDS], spark["g"].to_pylist())

    def test_random_tables_are_read_as_they_were_written(self):
        seed = int(os.environ.get("TICKSTACK_SEED", random.randrange(1 << 30)))
        rng = random.Random(seed)
        symbols = [f"S{i}".encode() for i in range(40)]
        columns = {}
        (self.folder / "db").mkdir()
        (self.folder / "db/sym").write_bytes(names(*symbols))
        for day in range(1, 13):
            table = self.folder / f"db/2024.02.{day:02}/t"
            table.mkdir(parents=True)
            columns[day] = RandomColumns(rng, rng.choice([0, 1, 7, 8, 9, 64, 500]), symbols)
            for name, content in columns[day].files.items():
                (table / name).write_bytes(content)
            (table / ".d").write_bytes(names(*(name.encode() for name in columns[day].files)))
        self.export(self.folder / "db", "--row-group", "1000", "--zstd", str(rng.randint(0, 5)))
        for day, expected in columns.items():
            arrow = pyarrow.parquet.read_table(self.folder / f"export/t/date=2024-02-{day:02}/part-0.parquet", partitioning=None)
            for name, kind in (("p", "int64"), ("d", "int32"), ("m", "int32"), ("u", "int32"), ("t", "int32")):
                arrow = arrow.set_column(arrow.column_names.index(name), name, arrow[name].cast(kind))
            found = {name: arrow[name].to_pylist() for name in expected.expected}
            self.assertEqual(repr(expected.expected), repr(found), f"seed {seed}, day {day}")


class SparkTest(ExportTest):
    def test_sums_are_those_of_the_hdb(self):
        database = self.generate()
        self.export(database, "--spark", "--row-group", "20000")
        expected = self.sums(database)
        spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config(
            "spark.driver.bindAddress", "127.0.0.1").config("spark.sql.session.timeZone", "UTC").getOrCreate()
        self.addCleanup(spark.stop)
        spark.read.parquet(str(self.folder / "export" / "quote")).createOrReplaceTempView("quote")
        rows = spark.sql("""select date, count(*), sum(bsize), sum(asize), sum(bid), unix_micros(min(time)::timestamp),
            unix_micros(max(time)::timestamp), count(distinct sym), count_if(mode = 'R') from quote group by date""").collect()
        for row in expected.values():
            row[4], row[5] = (time // 1000 * 1000 for time in row[4:6])  # Rounded down to us.
        self.compare(expected, {str(row[0]): [*row[1:5], row[5] * 1000, row[6] * 1000, *row[7:]] for row in rows})
        golden = spark.read.parquet(str(ROOT / "tests/data/export/spark.parquet")).collect()
        for name, values in {**GOLDEN, **GOLDEN_NUMBERS, "g": [guid and str(guid) for guid in GUIDS]}.items():
            self.assertEqual(repr(values), repr([row[name] for row in golden]), name)


if SPARK:
    del ReadersTest
else:
    del SparkTest
del ExportTest


if __name__ == "__main__":
    stack.main()

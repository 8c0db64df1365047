#!/usr/bin/env python3
"""examples/spark/iceberg_table.py: exports become Iceberg tables, whose answers to the queries of `hdb queries` are the
HDB's, now and as of an earlier export. Run by run_spark_test.sh, which installs the Spark that Iceberg supports and sets
TICKSTACK_ICEBERG_JAR."""

import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import stack  # noqa: E402

EXAMPLES = stack.ROOT / "examples/spark"
sys.path.insert(0, str(EXAMPLES))
JAR = os.environ.get("TICKSTACK_ICEBERG_JAR", "")
CLUSTER = "local-cluster[2,1,1024]"
QUERIES, CLIENTS = 10, 2


@unittest.skipUnless(importlib.util.find_spec("pyspark"), "pyspark is not installed: make test-spark")
@unittest.skipUnless(JAR, "TICKSTACK_ICEBERG_JAR is not set: make test-spark")
class IcebergTest(stack.StackTest):
    def setUp(self):
        super().setUp()
        self.database, self.exported, self.warehouse = (self.folder / name for name in ("db", "exported", "warehouse"))

    def tickstack(self, *arguments):
        done = self.run_program(*map(str, arguments))
        self.assertEqual(0, done.returncode, done.stderr)

    def example(self, name, *arguments):
        return subprocess.run([sys.executable, str(EXAMPLES / name), *map(str, arguments), "--jar", JAR],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=1200)

    def register(self):
        """Exports and registers. Returns {table: (new, replaced, unchanged, only in the table)}, and the time."""
        self.tickstack("hdb", "export", self.database, self.exported, "--spark", "--row-group", 1000)
        done = self.example("iceberg_table.py", self.exported, self.warehouse)
        self.assertEqual(0, done.returncode, done.stderr)
        header, *lines, time = [line.split("|") for line in done.stdout.splitlines()]
        self.assertEqual("table|new|replaced|unchanged|only_in_table|snapshot", "|".join(header))
        return {line[0].rpartition(".")[2]: tuple(map(int, line[1:5])) for line in lines}, int(time[1])

    def hdb_answers(self, name):
        path = self.folder / name
        self.tickstack("hdb", "queries", self.database, "--drop", "files", "--clients", CLIENTS, "--seconds", 0.01,
                       "--answers", path)
        return path

    def compare(self, answers, *arguments):
        """Compares Iceberg's answers with those of the HDB. Returns the line with the result."""
        done = self.example("history_queries.py", self.warehouse, answers, "--iceberg", "--check", *arguments)
        result = [line for line in done.stderr.splitlines() if "answers compared" in line]
        self.assertEqual(1, len(result), done.stderr)
        return result[0]

    def files(self, directory):
        return {path: path.stat() for path in directory.rglob("*.parquet")}

    def spark(self):
        """Returns a session of this process, which ends with the test."""
        import history_queries
        spark = history_queries.start("local[2]", "1g", self.warehouse, JAR)
        self.addCleanup(spark.stop)
        spark.conf.set("spark.sql.shuffle.partitions", "4")
        spark.sparkContext.setLogLevel("ERROR")
        return spark

    def test_days_are_added_and_replaced_and_old_snapshots_stay(self):
        corrected = self.folder / "corrected"
        for database, trades in ((self.database, 3000), (corrected, 3500)):
            self.tickstack("hdb", "generate", database, "--days", 13, "--quotes", 2 * trades, "--trades", trades,
                           "--symbols", 40, "--seed", 3)
        self.assertEqual((self.database / "sym").read_bytes(), (corrected / "sym").read_bytes())
        *days, last = sorted(path.name for path in self.database.iterdir() if path.is_dir())
        (self.database / last).rename(self.folder / last)

        self.assertEqual({"quote": (12, 0, 0, 0), "trade": (12, 0, 0, 0)}, self.register()[0])
        (self.folder / last).rename(self.database / last)
        counts, before = self.register()
        self.assertEqual({"quote": (1, 0, 12, 0), "trade": (1, 0, 12, 0)}, counts)
        # Nothing has changed: no snapshot, so the time is that of the last one.
        self.assertEqual(({"quote": (0, 0, 13, 0), "trade": (0, 0, 13, 0)}, before), self.register())
        old_answers = self.hdb_answers("old")

        shutil.rmtree(self.database / days[3])
        shutil.copytree(corrected / days[3], self.database / days[3])
        counts, after = self.register()
        self.assertEqual({"quote": (0, 1, 12, 0), "trade": (0, 1, 12, 0)}, counts)
        new_answers = self.hdb_answers("new")

        with self.subTest("answers are those of the HDB"):
            local = ("--master", "local[2]", "--clients", 1)
            self.assertEqual(f"{QUERIES * CLIENTS} answers compared, 0 differ from the HDB's",
                             self.compare(new_answers, "--master", CLUSTER))
            self.assertEqual(f"{QUERIES} answers compared, 0 differ from the HDB's",
                             self.compare(old_answers, "--at", before, *local))
            self.assertEqual("1 answers compared, 1 differ from the HDB's",
                             self.compare(old_answers, "--at", after, "--only", "vwab_12_days", *local))

        with self.subTest("one snapshot for each export, and no file is copied"):
            spark = self.spark()
            for table in ("quote", "trade"):
                snapshots = spark.sql(f"select operation, summary from history.ticks.{table}.snapshots "
                                      "order by committed_at").collect()
                self.assertEqual(["append", "append", "overwrite"], [each.operation for each in snapshots])
                self.assertEqual(("1", "1"), tuple(snapshots[2].summary[f"{what}-data-files"]
                                                   for what in ("added", "deleted")))
            exported = {stat.st_ino for stat in self.files(self.exported).values()}
            linked = {stat.st_ino for stat in self.files(self.warehouse).values()}
            self.assertEqual((26, 28), (len(exported), len(linked)))  # Two more: the replaced files.
            self.assertLess(exported, linked)

        with self.subTest("rows have their numbers, also if several tasks read a file"):
            spark.sql("alter table history.ticks.quote set tblproperties ('read.split.target-size' = '40000', "
                      "'read.split.open-file-cost' = '1')")
            day = days[5].replace(".", "-")
            whole = spark.sql(f"select _pos, * from history.ticks.quote where date = date'{day}'")
            self.assertGreater(whole.rdd.getNumPartitions(), 1)
            expected = spark.read.parquet(str(self.exported / "quote")).where(f"date = date'{day}'").selectExpr(
                "_metadata.row_index as _pos", "*").orderBy("_pos").collect()
            self.assertEqual(expected, whole.orderBy("_pos").collect())

        with self.subTest("a day that left the export stays"):
            shutil.rmtree(self.exported / "trade" / f"date={day}")
            shutil.rmtree(self.database / days[5])
            self.assertEqual({"quote": (0, 0, 13, 0), "trade": (0, 0, 12, 1)}, self.register()[0])
            self.assertEqual(3000, spark.table("history.ticks.trade").where(f"date = date'{day}'").count())

    def test_types(self):
        """Every type of an export with --spark is the same through Iceberg; others are named."""
        golden = stack.ROOT / "tests/data/export"
        day = self.exported / "all" / "date=2024-01-02"
        day.mkdir(parents=True)
        shutil.copy(golden / "spark.parquet", day / "part-0.parquet")
        done = self.example("iceberg_table.py", self.exported, self.warehouse)
        self.assertEqual(0, done.returncode, done.stderr)
        spark = self.spark()
        expected = spark.read.parquet(str(golden / "spark.parquet"))
        found = spark.table("history.ticks.all").orderBy("_pos").drop("date")
        self.assertEqual(expected.columns, found.columns)
        self.assertEqual(repr(expected.collect()), repr(found.collect()))  # repr: NaN is equal to NaN.

        further = self.exported / "all" / "date=2024-01-03"
        further.mkdir()
        shutil.copy(golden / "exact.parquet", further / "part-0.parquet")
        done = self.example("iceberg_table.py", self.exported, self.warehouse)
        self.assertEqual(1, done.returncode, done.stderr)
        refused = next(line for line in done.stderr.splitlines() if line.startswith("iceberg_table: "))
        self.assertEqual(
            f"iceberg_table: {further}/part-0.parquet: columns of types that no Iceberg table for Spark has: "
            "g (FIXED_LEN_BYTE_ARRAY UUID), p (INT64 TIMESTAMP(NANOS,false)), z (INT64 TIMESTAMP(NANOS,false)), "
            "u (INT32 TIME(MILLIS,false)), v (INT32 TIME(MILLIS,false)), t (INT32 TIME(MILLIS,false)); "
            "export with --spark", refused)
        self.assertEqual(1, len(self.files(self.warehouse)))

    def test_of_two_runs_at_the_same_time_one_fails(self):
        spark = self.spark()
        import iceberg_table
        for date in ("2024-01-02", "2024-01-03"):
            day = self.exported / "all" / f"date={date}"
            day.mkdir(parents=True)
            shutil.copy(stack.ROOT / "tests/data/export/spark.parquet", day / "part-0.parquet")
            first, second = (iceberg_table.Table(spark, self.exported / "all") for _ in range(2))
            self.assertEqual([date], second.changed)
            first.register()
            with self.assertRaisesRegex(Exception, "already exists|Found conflicting files"):
                second.register()
        rows = spark.table("history.ticks.all").groupBy("date").count().collect()
        self.assertEqual(2, len(rows))
        self.assertEqual(rows[0]["count"], rows[1]["count"])

    def write_day(self, spark, date, *columns):
        """Writes a day of one row. Its file replaces that of the same date, as in an export."""
        written = self.folder / "written"
        spark.range(1).selectExpr(*columns).coalesce(1).write.mode("overwrite").parquet(str(written))
        day = self.exported / "all" / f"date={date}"
        day.mkdir(parents=True, exist_ok=True)
        next(written.glob("*.parquet")).rename(day / "part-0.parquet")

    def test_columns_that_come_and_change_and_snapshots_that_expire(self):
        spark = self.spark()
        import iceberg_table

        def rows():
            return [tuple(row) for row in spark.sql(
                "select cast(date as string), x, y from history.ticks.all order by date").collect()]

        self.write_day(spark, "2024-01-02", "1 as x")
        iceberg_table.Table(spark, self.exported / "all").register()
        self.write_day(spark, "2024-01-03", "2 as x", "'new' as y")
        iceberg_table.Table(spark, self.exported / "all").register()
        self.assertEqual([("2024-01-02", 1, None), ("2024-01-03", 2, "new")], rows())

        self.write_day(spark, "2024-01-02", "3 as x", "'corrected' as y")
        iceberg_table.Table(spark, self.exported / "all").register()
        self.write_day(spark, "2024-01-04", "4 as x", "'later' as y")
        later = iceberg_table.Table(spark, self.exported / "all")
        later.register()
        self.assertEqual(4, len(self.files(self.warehouse)))
        later.load().expireSnapshots().expireOlderThan(2**62).retainLast(1).commit()
        self.assertEqual(3, len(self.files(self.warehouse)))  # Without the file before the correction.
        self.assertEqual([("2024-01-02", 3, "corrected"), ("2024-01-03", 2, "new"), ("2024-01-04", 4, "later")], rows())
        self.assertEqual(3, len(self.files(self.exported)))

        self.write_day(spark, "2024-01-05", "2.5d as x")
        with self.assertRaisesRegex(iceberg_table.Refused, "column x is double, expected int as in other days"):
            iceberg_table.Table(spark, self.exported / "all")

    def test_what_is_no_export_of_days(self):
        (self.exported / "quote" / "month=2024-01").mkdir(parents=True)
        done = self.example("iceberg_table.py", self.exported, self.warehouse)
        self.assertEqual(1, done.returncode, done.stderr)
        self.assertIn(f"iceberg_table: {self.exported}/quote/month=2024-01: expected a directory date=YYYY-MM-DD with one "
                      "Parquet file, found 0 files", done.stderr)
        self.assertFalse((self.warehouse / "ticks").exists())
        (self.exported / "quote" / "month=2024-01").rmdir()
        done = self.example("iceberg_table.py", self.exported, self.warehouse)
        self.assertEqual(1, done.returncode, done.stderr)
        self.assertIn(f"iceberg_table: {self.exported}/quote: no days\n", done.stderr)
        done = self.example("iceberg_table.py", self.folder / "none", self.warehouse)
        self.assertEqual((1, f"{self.folder / 'none'}: no exported tables"), (done.returncode, done.stderr.strip()))


if __name__ == "__main__":
    stack.main()

#!/usr/bin/env python3
"""Makes Iceberg tables of an export, without copying its files. Repeat it after each export.

    tickstack hdb export DB exported --spark
    iceberg_table.py exported warehouse
    history_queries.py warehouse answers --iceberg --check

Prints a line per table: days that are new, replaced, unchanged, or only in the table, and the table's snapshot. New and
replaced days of a table become one snapshot, so readers see all of them or none. The last line is the time for
`history_queries.py --at`, which reads the tables as they were then.

An export replaces a corrected day's file under the same name, but old snapshots still need the old file. Each file
therefore gets a second name in the warehouse, a hard link, and the table has that name. The old file's bytes are kept
until Iceberg's expire_snapshots removes the link; a file of the export is never changed or removed. Warehouse and
export have to be on one file system that has hard links.

A day is unchanged if the table's file and the export's are the same file on disk. `hdb export` leaves the files of
unchanged days alone. A day that is no longer in the export stays in the table.

Iceberg's Spark 4.1 runtime needs Spark 4.1: see iceberg-requirements.txt. docs/scale.md says which columns are possible.
"""

import argparse
import os
import pathlib
import re
import sys

from history_queries import CATALOG, NAMESPACE, start

# Types of Parquet columns and their types in Iceberg, as Spark SQL. Any other type is an error.
TYPES = {
    "BOOLEAN": "boolean",
    "INT32 INTEGER(8,false)": "int",  # Iceberg has neither unsigned nor short integers; an int holds all values.
    "INT32 INTEGER(16,true)": "int",
    "INT32 INTEGER(32,true)": "int",
    "INT32": "int",
    "INT64 INTEGER(64,true)": "bigint",
    "INT64": "bigint",
    "FLOAT": "float",
    "DOUBLE": "double",
    "BINARY STRING": "string",
    "INT64 TIMESTAMP(MICROS,false)": "timestamp_ntz",
    "INT32 DATE": "date",
}


class Refused(Exception):
    """The export cannot be registered. Says which file and why."""


def location_of(path):
    return f"file:{path}"  # Unlike a URI, without escapes: Hadoop would take them literally.


def path_of(location):
    return pathlib.Path(re.sub("^file:/+", "/", location))


def columns_of(spark, path):
    """Returns the columns of a Parquet file, {name: type in Spark SQL}, from its footer."""
    jvm = spark._jvm
    file = jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(
        jvm.org.apache.hadoop.fs.Path(location_of(path)), spark._jsc.hadoopConfiguration())
    reader = jvm.org.apache.parquet.hadoop.ParquetFileReader.open(file)
    try:
        fields = list(reader.getFooter().getFileMetaData().getSchema().getFields())
    finally:
        reader.close()
    columns, impossible = {}, []
    for field in fields:
        annotation = field.getLogicalTypeAnnotation()
        found = field.asPrimitiveType().getPrimitiveTypeName().name() if field.isPrimitive() else "GROUP"
        found += f" {annotation.toString()}" if annotation else ""
        columns[field.getName()] = TYPES.get(found)
        if found not in TYPES:
            impossible.append(f"{field.getName()} ({found})")
    if impossible:
        raise Refused(f"{path}: columns of types that no Iceberg table for Spark has: {', '.join(impossible)}; "
                      "export with --spark")
    return columns


def days_of(directory):
    """Returns the files of an exported table: {date: path}."""
    days = {}
    for each in sorted(directory.iterdir()):
        if each.name.startswith((".", "_")):
            continue
        match = re.fullmatch(r"date=(\d{4}-\d\d-\d\d)", each.name)
        files = sorted(each.glob("*.parquet")) if each.is_dir() else []
        if not match or len(files) != 1:
            raise Refused(f"{each}: expected a directory date=YYYY-MM-DD with one Parquet file, found {len(files)} files")
        days[match[1]] = files[0].resolve()
    if not days:
        raise Refused(f"{directory}: no days")
    return days


class Table:
    """An exported table beside the one in the warehouse, which need not exist yet.

    Errors: Refused, from the constructor, for files and columns that the warehouse's table cannot have. register()
    raises Iceberg's ValidationException, and changes nothing, if another program changed the table meanwhile."""

    def __init__(self, spark, directory):
        self.spark, self.jvm = spark, spark._jvm
        self.name = f"{CATALOG}.{NAMESPACE}.{directory.name}"
        self.table, self.base, self.current, self.columns = None, None, {}, {}
        if spark.catalog.tableExists(self.name):
            self.table = self.load()
            self.base = self.table.currentSnapshot()
            self.current = self.files()
            self.columns = dict(spark.table(self.name).dtypes)
        self.days = days_of(directory)
        self.changed = [date for date, path in self.days.items() if not self.has(date, path)]
        self.replaced = [date for date in self.changed if date in self.current]
        self.new_columns = self.check_columns()

    def load(self):
        return self.jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(self.spark._jsparkSession, self.name)

    def files(self):
        """Returns the files of the snapshot `base`: {date: Iceberg's DataFile}."""
        files = {}
        if self.base is None:
            return files
        tasks = self.table.newScan().useSnapshot(self.base.snapshotId()).planFiles()
        each = tasks.iterator()
        while each.hasNext():
            task = each.next()
            date = re.fullmatch(r"date=(\d{4}-\d\d-\d\d)", task.spec().partitionToPath(task.file().partition()))
            if not date or date[1] in files:
                raise Refused(f"{task.file().location()}: expected one file for each date; was the table rewritten?")
            files[date[1]] = task.file()
        tasks.close()
        return files

    def has(self, date, path):
        if date not in self.current:
            return False
        link = path_of(self.current[date].location())
        return link.exists() and link.samefile(path)

    def check_columns(self):
        """Returns the columns that the table lacks: {name: type}. Older days have null there."""
        lacking = {}
        for date in self.changed:
            path = self.days[date]
            for column, found in columns_of(self.spark, path).items():
                if column.lower() == "date":
                    raise Refused(f"{path}: column {column} has the name of the partitions; export with --skip")
                expected = self.columns.get(column) or lacking.setdefault(column, found)
                if expected != found:
                    raise Refused(f"{path}: column {column} is {found}, expected {expected} as in other days")
        return lacking

    def register(self):
        """Adds the new and the replaced days in one snapshot. Returns the table's current snapshot."""
        columns = ", ".join(f"`{name}` {kind}" for name, kind in self.new_columns.items())
        if self.table is None:
            self.create(columns)
        elif columns:
            self.spark.sql(f"alter table {self.name} add columns ({columns})")
        self.table.refresh()
        if self.changed:
            change = self.table.newOverwrite()
            for date in self.changed:
                change.addFile(self.data_file(date))
            for date in self.replaced:
                change.deleteFile(self.current[date])
            # Two runs at the same time would otherwise add a day twice.
            if self.base is not None:
                change.validateFromSnapshot(self.base.snapshotId())
            change.conflictDetectionFilter(self.jvm.org.apache.iceberg.expressions.Expressions.alwaysTrue())
            change.validateNoConflictingData()
            change.validateNoConflictingDeletes()
            change.commit()
        return self.table.currentSnapshot()

    def create(self, columns):
        self.spark.sql(f"create table {self.name} ({columns}, `date` date) using iceberg partitioned by (`date`) "
                       "tblproperties ('format-version' = '2')")
        # Exported files lack the numbers that Iceberg gives to columns, so readers find columns by name.
        self.table = self.load()
        mapping = self.jvm.org.apache.iceberg.mapping
        names = mapping.NameMappingParser.toJson(mapping.MappingUtil.create(self.table.schema()))
        self.table.updateProperties().set("schema.name-mapping.default", names).commit()

    def data_file(self, date):
        """Links a day's file into the warehouse. Returns Iceberg's description of the link."""
        source = self.days[date]
        folder = path_of(self.table.location()) / "data" / f"date={date}"
        folder.mkdir(parents=True, exist_ok=True)
        # While the link exists, no other file has its number on this file system. A run that ended before its commit
        # therefore left either no link or this one.
        link = folder / f"{source.stat().st_ino}.parquet"
        try:
            if not link.exists():
                os.link(source, link)
            elif not link.samefile(source):
                raise Refused(f"{link}: is not the file {source}, although its number is the same")
        except OSError as error:
            raise Refused(f"{link}: cannot link {source}: {error.strerror}") from error
        iceberg = self.jvm.org.apache.iceberg
        file = self.table.io().newInputFile(location_of(link))
        metrics = iceberg.parquet.ParquetUtil.fileMetrics(
            file, iceberg.MetricsConfig.forTable(self.table),
            iceberg.mapping.NameMappingParser.fromJson(self.table.properties()["schema.name-mapping.default"]))
        return (iceberg.DataFiles.builder(self.table.spec()).withInputFile(file).withFormat("parquet")
                .withPartitionPath(f"date={date}").withMetrics(metrics).build())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("export", type=pathlib.Path, help="directory that `hdb export --spark` wrote")
    parser.add_argument("warehouse", type=pathlib.Path, help="directory of the Iceberg tables; created if missing")
    parser.add_argument("--jar", help="file of Iceberg's Spark runtime (default: Spark downloads it)")
    args = parser.parse_args()
    directories = [each for each in sorted(args.export.iterdir())
                   if each.is_dir() and not each.name.startswith((".", "_"))] if args.export.is_dir() else []
    if not directories:
        raise SystemExit(f"{args.export}: no exported tables")
    args.warehouse.mkdir(parents=True, exist_ok=True)
    if args.warehouse.stat().st_dev != args.export.stat().st_dev:
        raise SystemExit(f"{args.warehouse}: must be on the file system of {args.export}, for hard links")
    spark = start("local[*]", "1g", args.warehouse, args.jar)
    spark.sparkContext.setLogLevel("ERROR")
    try:
        tables = [Table(spark, each) for each in directories]  # Checks everything before the first table changes.
        times = []
        print("table|new|replaced|unchanged|only_in_table|snapshot", flush=True)
        for table in tables:
            snapshot = table.register()
            new = len(table.changed) - len(table.replaced)
            print(f"{table.name}|{new}|{len(table.replaced)}|{len(table.days) - len(table.changed)}|"
                  f"{len(table.current.keys() - table.days.keys())}|{snapshot.snapshotId()}", flush=True)
            times.append(snapshot.timestampMillis())
        print(f"time|{max(times)}")
    except Refused as refused:
        print(f"iceberg_table: {refused}", file=sys.stderr)
        return 1
    finally:
        spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())

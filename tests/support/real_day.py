"""7 October 2013, AIG, BAC and IBM on all exchanges: the archives go through feed, tickerplant and RDB on one side, and
into DuckDB on the other. The base of tests that query both, in the environment of run_duckdb_test.sh."""

import duckdb

from tests.support import duckdb_archives, lean_archives, stack

DATE = "2013.10.07"
SYMBOLS = ("AIG", "BAC", "IBM")


class RealDayTest(stack.StackTest):
    """`running` is the stack, `rdb` a connection to its RDB, which has the whole day; `database` is DuckDB's."""

    RDBS = ("rdb",)
    MORE_PROCESSES = ""  # Sections of stack.toml.

    def setUp(self):
        super().setUp()
        path = self.fixture("lean-ticks")
        self.database = duckdb.connect()
        self.addCleanup(self.database.close)
        self.running = self.start_stack(lean_archives.STACK.format(path=path) + self.MORE_PROCESSES, "--date", DATE)
        duckdb_archives.load(self.database, path, DATE, SYMBOLS, self.folder)
        rows = {
            table: self.database.execute(f"select count(*) from {table}").fetchone()[0] for table in ("trade", "quote")
        }
        stack.wait_until(
            lambda: all(self.running.count(table, rdb) == rows[table] for table in rows for rdb in self.RDBS),
            120, f"{rows} in {self.RDBS}"
        )
        self.rdb = self.running.connect("rdb")
        self.addCleanup(self.rdb.close)

#!/usr/bin/env python3
"""Publishes the rows of a CSV file to a table, each exactly once.

    feed.py trades.csv --port 5010

Row numbers make it exact: the tickerplant counts the rows that it has logged under the feed's name,
and the feed resumes with the row after them. So it may be killed and started again, and so may the
tickerplant. The file's first line names the table's columns.
"""

import argparse
import sys
import time
import uuid

import kola
import polars as pl

BATCH_ROWS = 1000
RETRY_S = 0.2
LOGIN_FAILURES_MAX = 5


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="CSV file with a header")
    parser.add_argument("--table", default="trade")
    parser.add_argument("--name", help="the feed's name; always the same for the same rows (default: the file's name)")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=5010, help="the tickerplant's port")
    parser.add_argument("--user", default="feed")
    parser.add_argument("--password", default="")
    parser.add_argument("--tls", action="store_true")
    parser.add_argument("--rate", type=float, default=0, help="rows per second; 0 publishes as fast as possible")
    return parser.parse_args()


class Feed:
    def __init__(self, args):
        self.args = args
        self.name = args.name or args.file.rsplit("/", 1)[-1]
        # Identifies this run. The tickerplant gives the name back to it after a lost connection, and refuses it to a
        # second feed that was started by mistake.
        self.instance = uuid.uuid4().hex
        self.tickerplant = None

    def claim(self):
        """Connects, claims the feed's name and returns the number of rows that are logged under it."""
        args = self.args
        self.tickerplant = kola.Q(args.host, args.port, args.user, args.password, enable_tls=args.tls)
        return self.tickerplant.sync(".u.feed", self.name, self.instance)[args.table]

    def read(self):
        """Returns the file's rows with the column names and types of the table."""
        table = self.tickerplant.sync("0#" + self.args.table)
        rows = pl.read_csv(self.args.file, schema_overrides={"time": pl.String, "sym": pl.String})
        return rows.select(to_type(rows[name], dtype) for name, dtype in table.schema.items())

    def publish(self, rows, logged):
        """Publishes the rows after the first `logged` ones. A synchronous call returns when its rows are logged."""
        for first in range(logged, len(rows), BATCH_ROWS):
            batch = rows[first:first + BATCH_ROWS]
            self.tickerplant.sync(".u.updn", self.name, first, self.args.table, batch)
            if self.args.rate:
                time.sleep(len(batch) / self.args.rate)


def to_type(column, dtype):
    if column.dtype == pl.String and dtype == pl.Datetime("ns"):
        return column.str.to_datetime(time_unit="ns")
    return column.cast(dtype)


def main():
    feed = Feed(arguments())
    rows, login_failures = None, 0
    while True:
        try:
            logged = feed.claim()
            login_failures = 0
            rows = feed.read() if rows is None else rows
            print(f"{logged} of {len(rows)} rows are logged", flush=True)
            feed.publish(rows, logged)
            print(f"all {len(rows)} rows are logged", flush=True)
            return 0
        except kola.KolaIOError as error:  # The tickerplant is not there, or was lost.
            print(f"retrying: {error}", file=sys.stderr, flush=True)
        except kola.KolaAuthError as error:  # kola's error also for a connection that ended during the login.
            login_failures += 1
            if login_failures > LOGIN_FAILURES_MAX:
                raise
            print(f"retrying: {error}", file=sys.stderr, flush=True)
        except kola.KolaError as error:
            if "held:" not in str(error):  # Rows or rights are wrong: trying again does not help.
                raise
            print(f"waiting for the name: {error}", file=sys.stderr, flush=True)
        time.sleep(RETRY_S)


if __name__ == "__main__":
    sys.exit(main())

"""Compares tables in an rdb with rows that an independent decoder made of the same file."""

import math
import time

from tests.support import stack

EMPTY = {"s": "", "c": " ", "b": False}


def wait_until_sent(running, seconds=120):
    """Returns the feed's statistics once it has sent everything, or failed."""
    give_up = time.monotonic() + seconds
    while time.monotonic() < give_up:
        stats = running.ask("feed", ".feed.stats[]")
        if stats["state"] in ("done", "failed"):
            return stats
        time.sleep(0.02)
    raise AssertionError(f"the feed did not end: {stats}")


def compare(test, running, tables, expected, venue, by=None):
    """`expected`: table -> list of rows, each a dictionary; a column that is not there is null. `tables`: those of
    the source; a table without expected rows must be empty. `by`: a column whose values may interleave, as channels do
    that are independent."""
    test.assertLessEqual(set(expected), set(tables))
    # The feed is done when the last row is logged; the rdb has it after the next publication.
    for table in tables:
        stack.wait_until(lambda table=table: running.count(table) >= len(expected.get(table, [])), 120, f"the rows of {table}")
    with running.connect("rdb") as rdb:
        for table in tables:
            wanted = expected.get(table, [])
            test.assertEqual(len(wanted), rdb.call(f"count {table}"), table)
            if not wanted:
                continue
            types = dict(zip(*_meta(rdb, table)))
            found = rdb.call(f"select from {table}")
            order = range(len(wanted))
            if by:
                wanted = sorted(wanted, key=lambda row: row[by])
                order = sorted(order, key=found[by].__getitem__)
            for column, letter in types.items():
                values = found[column]
                if letter == "c":
                    values = values.decode("latin-1")
                given = [row.get(column, venue if column == "venue" else EMPTY.get(letter)) for row in wanted]
                have = [None if isinstance(value, float) and math.isnan(value) else value for value in values]
                have = [have[number] for number in order]
                if letter in "C ":  # Strings.
                    have = [value.decode("latin-1") for value in have]
                for number, (want, got) in enumerate(zip(given, have, strict=True)):
                    test.assertEqual(want, got, f"{table}.{column}, row {number}: {wanted[number]}")


def _meta(rdb, table):
    meta = rdb.call(f"0!meta {table}")
    return meta["c"], meta["t"].decode("ascii")

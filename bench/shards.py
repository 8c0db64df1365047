#!/usr/bin/env python3
"""Rows per second of a stack with one tickerplant and of stacks with shards: the same simulated rows, as fast as they
are taken, in turn.

    bench/shards.py [--shards 1,2] [--rows 22000000] [--rounds 5] [--one]

Each round starts each stack, and counts the rows that its rdbs have from the first tenth on until the last row. For
each number of shards it prints the median and all rates, and the processor time of each kind of process per row. With
--one, only the first shard gets rows, from a feed of its own: it is one of as many machines that share nothing. It gets
about --rows rows, so the source has as many times more as there are shards."""

import argparse
import os
import pathlib
import shutil
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tests.support import kdb_ipc, stack  # noqa: E402

CONFIG = """
[tickerplant]
[[rdb]]
[feed]
source = "sim"
symbols = {symbols}
rate = 0
rows = {rows}
batch_rows = {batch_rows}
"""
KINDS = ("feed", "tickerplant", "rdb")


def config_of(shards, options):
    # A stack with one shard has no section [[shard]].
    names = [f'[[shard]]\nname = "s{i}"\n' for i in range(shards)] if shards > 1 else []
    rows = options.rows * shards if options.one else options.rows
    config = CONFIG.format(symbols=options.symbols, rows=rows, batch_rows=options.batch_rows)
    return "".join(names) + config + ('shards = ["s0"]\n' if options.one and shards > 1 else "")


def processor_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(shards, options):
    """Returns rows per second, and nanoseconds of processor time per row by kind of process."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tickstack-bench-", dir=options.folder))
    with_rows = 1 if options.one else shards
    suffixes = [f"-s{i}" for i in range(with_rows)] if shards > 1 else [""]
    running = stack.Stack(folder, config_of(shards, options), ())
    try:
        running.wait_until_ready()
        names = [f"{kind}{suffix}" for kind in ("tickerplant", "rdb") for suffix in suffixes] + ["feed"]
        pids = {name: running.pid(name) for name in names}
        rdbs = [running.connect(f"rdb{suffix}") for suffix in suffixes]

        def rows_of(rdb):
            try:
                return rdb.call("(count trade)+count quote")
            except kdb_ipc.QError:
                return 0  # It has no tables before it has heard from its tickerplant.

        rows = lambda: sum(rows_of(rdb) for rdb in rdbs)

        def state():
            return time.monotonic(), rows(), {name: processor_seconds(pid) for name, pid in pids.items()}

        begin = state()
        while begin[1] < options.rows // 10:
            time.sleep(0.01)
            begin = state()
        end, expected = begin, float("inf") if options.one else options.rows
        feed = running.connect("feed")
        while end[1] < expected:
            time.sleep(0.02)
            end = state()
            if end[0] - begin[0] > 300:
                raise TimeoutError(f"{end[1]} rows after 300 s")
            if options.one and feed.call(".feed.stats[]`state") == "done":
                expected = sum(feed.call("value .feed.stats[]`rows"))
        feed.close()
        if rows() != expected:
            raise AssertionError(f"{rows()} rows, expected {expected}")
        done = end[1] - begin[1]
        spent = {kind: 1e9 * sum(end[2][name] - begin[2][name] for name in names if name.split("-")[0] == kind) / done
                 for kind in KINDS}
        for rdb in rdbs:
            rdb.close()
        running.stop()
        return done / (end[0] - begin[0]), spent
    finally:
        running.destroy()
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shards", default="1,2")
    parser.add_argument("--rows", type=int, default=22_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--symbols", type=int, default=8000)
    parser.add_argument("--batch-rows", type=int, default=2400)
    parser.add_argument("--one", action="store_true")
    parser.add_argument("--folder", help="where the logs are; default: the folder for temporary files")
    options = parser.parse_args()
    numbers = [int(each) for each in options.shards.split(",")]
    found = {shards: [] for shards in numbers}
    for _ in range(options.rounds):
        for shards in numbers:
            found[shards].append(measure(shards, options))
    for shards in numbers:
        rates = [rate for rate, _ in found[shards]]
        spent = {kind: statistics.median(each[kind] for _, each in found[shards]) for kind in KINDS}
        print(f"{shards} shards: {statistics.median(rates) / 1e6:.2f} M rows/s "
              f"({', '.join(f'{rate / 1e6:.2f}' for rate in rates)}); ns per row: "
              + ", ".join(f"{kind} {ns:.0f}" for kind, ns in spent.items()))
    first = statistics.median(rate for rate, _ in found[numbers[0]])
    for shards in numbers[1:]:
        print(f"{shards} shards to {numbers[0]}: {statistics.median(rate for rate, _ in found[shards]) / first:.2f}")


if __name__ == "__main__":
    main()

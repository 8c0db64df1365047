#!/usr/bin/env python3
"""What a gateway costs: the same queries sent to an rdb and through a gateway, in turn.

    bench/gateway.py [--rounds 2000] [--rows 2000000]

Prints, for each query, the median and the 99th percentile of both and the difference, in microseconds; for a large
answer, milliseconds and the ratio. `--program` is the program to measure."""

import argparse
import pathlib
import shutil
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tests.support import stack  # noqa: E402
from tests.support.kdb_ipc import SYNC, Typed, encode, message  # noqa: E402

CONFIG = """
[tables]
trade = "time n, sym s, price f, size j"
[tickerplant]
[[rdb]]
[[rdb]]
name = "rdb2"
port = 5016
[gateway]
"""
SMALL = ["1+1", "exec last price from trade where sym=`S7", "select max price by sym from trade where sym in `S1`S2"]
ROWS_PER_MESSAGE = 100_000


def publish(running, rows):
    with running.connect("tickerplant") as feed:
        for begin in range(0, rows, ROWS_PER_MESSAGE):
            n = min(ROWS_PER_MESSAGE, rows - begin)
            feed.call([b".u.upd", "trade", [Typed("n", list(range(begin, begin + n))), [f"S{i % 100}" for i in range(n)],
                                            [0.25 * (i % 400) for i in range(n)], Typed("j", [i % 1000 for i in range(n)])]])
    for rdb in ("rdb", "rdb2"):
        stack.wait_until(lambda: running.count("trade", rdb) == rows, 120, "all rows")


def ask(connection, query):
    """Returns the seconds until the whole answer was received; it is not decoded."""
    begin = time.perf_counter()
    connection.socket.sendall(message(SYNC, encode(query.encode())))
    connection.receive()
    return time.perf_counter() - begin


def in_turn(direct, gateway, query, rounds):
    times = {direct: [], gateway: []}
    for _ in range(rounds):
        for connection, took in times.items():
            took.append(ask(connection, query))
    return [sorted(times[connection]) for connection in (direct, gateway)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--rows", type=int, default=2_000_000)
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tickstack-bench-"))
    running = stack.Stack(folder, CONFIG, ())
    try:
        running.wait_until_ready()
        publish(running, options.rows)
        with running.connect("rdb") as direct, running.connect("gateway") as gateway:
            for query in SMALL:
                in_turn(direct, gateway, query, 100)
                took = in_turn(direct, gateway, query, options.rounds)
                p50, p99 = [[1e6 * each[len(each) * percent // 100] for each in took] for percent in (50, 99)]
                print(f"{query}\n  p50 us: direct {p50[0]:.0f}, gateway {p50[1]:.0f}, more {p50[1] - p50[0]:.0f}; "
                      f"p99 us: direct {p99[0]:.0f}, gateway {p99[1]:.0f}")
            query = "select from trade"
            took = [statistics.median(each) for each in in_turn(direct, gateway, query, 15)]
            print(f"{query}, {options.rows} rows\n  median ms: direct {1e3 * took[0]:.1f}, gateway {1e3 * took[1]:.1f}, "
                  f"ratio {took[1] / took[0]:.2f}")
        running.stop()
    finally:
        running.destroy()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""What a gateway costs: the same queries sent to an rdb and through a gateway, in turn.

    bench/gateway.py [--rounds 2000] [--rows 2000000] [--shards]

With --shards, the symbols are in two shards, and the queries about S7 are sent to the rdb that has it. Prints, for each query, the median and the 99th percentile of both and the difference, in microseconds; for a large
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
SHARDED = "".join(f'[[shard]]\nname = "{name}"\nsymbols = {[f"S{i}" for i in numbers]}\n'
                  for name, numbers in (("a", range(50)), ("b", range(50, 100)))) + """
[tables]
trade = "time n, sym s, price f, size j"
[tickerplant]
[[rdb]]
[gateway]
"""
# About one symbol, about symbols of both shards, and about all rows.
OF_SHARDS = ["exec last price from trade where sym=`S7", "select max price by sym from trade where sym in `S1`S77",
             "exec count i from trade"]
SMALL = ["1+1", "exec last price from trade where sym=`S7", "select max price by sym from trade where sym in `S1`S2"]
ROWS_PER_MESSAGE = 100_000


def publish(running, rows, shards):
    """Publishes the rows of the symbols S0 to S99, to the tickerplants of their shards."""
    for shard, numbers in shards.items():
        with running.connect("tickerplant" + shard) as feed:
            for begin in range(0, rows, ROWS_PER_MESSAGE):
                at = [i for i in range(begin, min(begin + ROWS_PER_MESSAGE, rows)) if i % 100 in numbers]
                feed.call([b".u.upd", "trade", [Typed("n", at), [f"S{i % 100}" for i in at],
                                                [0.25 * (i % 400) for i in at], Typed("j", [i % 1000 for i in at])]])
    rdbs = ["rdb" + shard for shard in shards] + (["rdb2"] if "" in shards else [])
    for rdb in rdbs:
        expected = sum(1 for i in range(rows) if i % 100 in shards[rdb[3:] if rdb[3:] in shards else ""])
        stack.wait_until(lambda: running.count("trade", rdb) == expected, 120, "all rows")


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
    parser.add_argument("--shards", action="store_true")
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tickstack-bench-"))
    running = stack.Stack(folder, SHARDED if options.shards else CONFIG, ())
    shards = {"-a": range(50), "-b": range(50, 100)} if options.shards else {"": range(100)}
    try:
        running.wait_until_ready()
        publish(running, options.rows, shards)
        with running.connect("rdb" + next(iter(shards))) as direct, running.connect("gateway") as gateway:
            for query in OF_SHARDS if options.shards else SMALL:
                in_turn(direct, gateway, query, 100)
                took = in_turn(direct, gateway, query, options.rounds)
                p50, p99 = [[1e6 * each[len(each) * percent // 100] for each in took] for percent in (50, 99)]
                print(f"{query}\n  p50 us: direct {p50[0]:.0f}, gateway {p50[1]:.0f}, more {p50[1] - p50[0]:.0f}; "
                      f"p99 us: direct {p99[0]:.0f}, gateway {p99[1]:.0f}")
            query = "select from trade where sym<`S50" if options.shards else "select from trade"
            took = [statistics.median(each) for each in in_turn(direct, gateway, query, 15)]
            print(f"{query}, {options.rows} rows\n  median ms: direct {1e3 * took[0]:.1f}, gateway {1e3 * took[1]:.1f}, "
                  f"ratio {took[1] / took[0]:.2f}")
        running.stop()
    finally:
        running.destroy()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()

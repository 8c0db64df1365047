#!/usr/bin/env python3
"""What standbys cost an acknowledged publish, with a real etcd on this machine; or a log in a topic of a real Kafka.

A feed sends one row at a time, numbered, and waits until it is told that the row is logged: to a tickerplant alone and
to one with standbys, in turn. The rounds' medians of the percentiles are printed with their ranges.

    TICKSTACK_ETCD=etcd bench/standby.py --program build/release/cli/tickstack [--rounds 5] [--rows 5000] [--standbys 1]
    TICKSTACK_KAFKA_JARS=DIR bench/standby.py --kafka ...
"""

import argparse
import pathlib
import shutil
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tests.support import kafka_broker, kdb_ipc, stack  # noqa: E402
from tests.support.standby_cluster import Etcd  # noqa: E402

TABLES = '[tables]\ntrade = "time n, sym s, price f, size j"\n'
PERCENTILES = (50, 99)


def time_rows(port, feed, rows, pause):
    """Seconds that each acknowledged row took."""
    took = []
    with kdb_ipc.Connection(port) as tickerplant:
        row = tickerplant.call([b".u.feed", feed, feed + "1"])["trade"]
        for _ in range(rows):
            body = [kdb_ipc.Typed("n", [1]), ["A"], [1.5], kdb_ipc.Typed("j", [row])]
            begin = time.perf_counter()
            tickerplant.call([".u.updn", feed, row, "trade", body])
            took.append(time.perf_counter() - begin)
            row += 1
            time.sleep(pause)
    return took


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=5000, help="rows in each round")
    parser.add_argument("--standbys", type=int, default=1)
    parser.add_argument("--pause-us", type=int, default=200, help="pause between two rows")
    parser.add_argument("--fsync", default="none")
    parser.add_argument("--kafka", action="store_true", help="the log is in a topic of one broker")
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tickstack-bench-"))
    service = kafka_broker.Broker(folder / "kafka").start() if options.kafka else Etcd(folder)
    running = []
    try:
        plain = f'{TABLES}[tickerplant]\nbatch_ms = 5\nfsync = "{options.fsync}"\n'
        members = "".join(f'[[standby]]\nname = "s{i}"\nport = {5030 + i}\nbatch_ms = 5\nfsync = "{options.fsync}"\n'
                          for i in range(options.standbys))
        if options.kafka:
            cluster = f'{plain}log = "kafka:{service.address}/desk.log"\n{members}'
        else:
            cluster = f'{plain}[replication]\netcd = ["{service.url}"]\nfirst_leader = "tickerplant"\n' \
                      f'acknowledge = {options.standbys}\n{members}'
        for name, config in (("alone", plain), ("standbys", cluster)):
            (folder / name).mkdir()
            running.append((name, stack.Stack(folder / name, config, ("--date", "2020.03.09")).wait_until_ready()))
        port = running[1][1].port("tickerplant")

        def ready():
            with kdb_ipc.Connection(port) as leader:
                said = leader.call(".u.replica[]")
                return said["role"] == "leader" and said["settled"] and \
                    (options.kafka or said["in_sync"] == options.standbys)
        stack.wait_until(ready, 30, "standbys in sync")
        figures = {(name, at): [] for name, _ in running for at in PERCENTILES}
        for number in range(options.rounds + 1):
            for name, one in running:
                took = sorted(time_rows(one.port("tickerplant"), "bench", options.rows, options.pause_us / 1e6))
                if number == 0:
                    continue  # Warms up.
                for at in PERCENTILES:
                    figures[name, at].append(took[len(took) * at // 100] * 1e6)
        for at in PERCENTILES:
            alone, standbys = figures["alone", at], figures["standbys", at]
            differences = [with_them - without for without, with_them in zip(alone, standbys)]
            print(f"p{at}: alone {statistics.median(alone):.0f} us ({min(alone):.0f} to {max(alone):.0f}), with"
                  f" {options.standbys} standbys{' and Kafka' if options.kafka else ''} {statistics.median(standbys):.0f} ({min(standbys):.0f} to"
                  f" {max(standbys):.0f}), difference {statistics.median(differences):.0f} ({min(differences):.0f} to"
                  f" {max(differences):.0f})", flush=True)
    finally:
        for _, one in running:
            one.stop()
            one.destroy()
        if options.kafka:
            service.destroy()
        else:
            service.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()

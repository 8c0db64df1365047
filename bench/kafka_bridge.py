#!/usr/bin/env python3
"""Measures the bridges with one real Kafka broker on this machine: rows per second while they catch up with a log, and
the time that rows at a steady rate take from a feed of one site to a subscriber of another.

    bench/kafka_bridge.py [--rows 30000000] [--seconds 20] [--rate 48000] [--setting NAME=VALUE]...

TICKSTACK_KAFKA_JARS names a folder with Kafka's jars: see tests/e2e/run_kafka_test.sh.
"""

import argparse
import os
import pathlib
import shutil
import struct
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tests.support import kafka_broker, kdb_ipc, stack  # noqa: E402

STATS = ".bridge.stats[]"
NS_FROM_1970_TO_2000 = 946_684_800_000_000_000
HERE = """
[tickerplant]
batch_ms = {batch_ms}
[feed]
source = "sim"
rate = {rate}
{length}
start = true
"""
TO_KAFKA = """
[[bridge]]
name = "to_kafka"
brokers = "{brokers}"
prefix = "{prefix}"
partitions = {partitions}
linger_ms = {linger_ms}
kafka_settings = [{settings}]
"""
THERE = """
[tickerplant]
batch_ms = {batch_ms}
[[bridge]]
name = "from_kafka"
direction = "from-kafka"
brokers = "{brokers}"
prefix = "{prefix}"
"""


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        user, system = file.read().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def first_column(body):
    """Returns the times in an upd: the first column of its table."""
    at = body.index(b"\x62\x00\x63\x0b\x00") + 5
    names, = struct.unpack_from("<i", body, at)
    at += 4
    for _ in range(names):
        at = body.index(b"\0", at) + 1
    at += 6  # The head of the list of columns.
    count, = struct.unpack_from("<i", body, at + 2)
    return struct.unpack_from(f"<{count}q", body, at + 6)


class Run:
    def __init__(self, folder, options):
        self.folder, self.options, self.stacks = pathlib.Path(folder), options, []
        self.broker = kafka_broker.Broker(self.folder / "kafka", heap="1g", java_flags=())
        self.broker.start()

    def start(self, name, config):
        folder = self.folder / name
        folder.mkdir()
        started = stack.Stack(folder, config, [], stack.PROGRAM)
        self.stacks.append(started)
        return started.wait_until_ready()

    def end_stacks(self):
        for started in self.stacks:
            started.stop()
            started.destroy()
        self.stacks = []

    def config(self, template, prefix):
        options = self.options
        return template.format(brokers=self.broker.address, prefix=prefix, partitions=options.partitions,
                               linger_ms=options.linger_ms, batch_ms=options.batch_ms,
                               settings=", ".join(f'"{setting}"' for setting in options.setting))

    def throughput(self):
        rows = self.options.rows
        here = self.start("here", HERE.format(batch_ms=10, rate=0, length=f"rows = {rows}"))
        stack.wait_until(lambda: here.ask("tickerplant", "sum .u.stats[][`rows]") >= rows, 600, "the log")
        log = here.data / "tplog"
        size = sum(file.stat().st_size for file in log.iterdir())
        here.stop()
        here.destroy()
        self.stacks.clear()
        # The same log again, now with a bridge, and nothing else to do.
        feedless = "[tickerplant]\nbatch_ms = 10\n" + self.config(TO_KAFKA, "bulk")
        again = self.folder / "again"
        shutil.copytree(self.folder / "here", again)
        (again / "stack.toml").unlink(missing_ok=True)
        started = stack.Stack(again, feedless, [], stack.PROGRAM)
        self.stacks.append(started)
        started.wait_until_ready()
        self.report("to Kafka", started, "to_kafka", rows, size)
        there = self.start("there", self.config(THERE, "bulk"))
        self.report("from Kafka", there, "from_kafka", rows, size)
        self.end_stacks()

    def report(self, what, running, bridge, rows, size):
        def written():
            return running.ask(bridge, STATS)["rows_written"]
        first = stack.wait_until(written, 60, "the first rows")
        begun = time.monotonic()
        used = [cpu_seconds(pid) for pid in (running.pid(bridge), self.broker.process.pid)]
        stack.wait_until(lambda: written() >= rows, 600, f"all rows {what}")
        seconds = time.monotonic() - begun
        used = [cpu_seconds(pid) - before
                for pid, before in zip((running.pid(bridge), self.broker.process.pid), used)]
        print(f"processor time in {seconds:.2f} s: bridge {used[0]:.2f} s, broker {used[1]:.2f} s")
        print(f"{what}: {(rows - first) / seconds:,.0f} rows/s ({rows:,} rows, log of {size / 1e6:,.0f} MB; "
              f"the first {first:,} were written before the clock started)")

    def latency(self):
        options = self.options
        there = self.start("there_live", self.config(THERE, "live"))
        subscriber = there.connect("tickerplant")
        subscriber.call([".u.sub", "", ""])
        here = self.start("here_live", HERE.format(batch_ms=options.batch_ms, rate=options.rate,
                                                   length=f"seconds = {options.seconds + 600}") +
                          self.config(TO_KAFKA, "live"))
        delays = []
        end = time.monotonic() + options.warm_up + options.seconds
        while time.monotonic() < end:
            header = subscriber._exactly(8)
            body = subscriber._exactly(struct.unpack_from("<i", header, 4)[0] - 8)
            now = time.time_ns() - NS_FROM_1970_TO_2000
            if time.monotonic() > end - options.seconds:
                delays += [now - at for at in first_column(body)]
        delays.sort()
        parts = {name: delays[min(len(delays) - 1, int(len(delays) * part))] / 1e6
                 for name, part in (("50 %", 0.5), ("99 %", 0.99), ("99.9 %", 0.999))}
        print(f"from the time of a row to a subscriber of the other site, {len(delays):,} rows at {options.rate:,} "
              f"rows/s: " + ", ".join(f"{name} {value:.1f} ms" for name, value in parts.items()) +
              f", largest {delays[-1] / 1e6:.1f} ms")
        stats = here.ask("to_kafka", STATS)
        print(f"transactions {stats['transactions']}, records {stats['records_written']}, last row to commit "
              f"{stats['delay_ms']:.1f} ms, last commit to the other log {there.ask('from_kafka', STATS)['delay_ms']:.0f} ms")
        subscriber.close()
        self.end_stacks()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=30_000_000)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--warm-up", type=int, default=25)
    parser.add_argument("--rate", type=int, default=48_000)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--linger-ms", type=float, default=1)
    parser.add_argument("--batch-ms", type=int, default=2)
    parser.add_argument("--setting", action="append", default=[])
    parser.add_argument("--only", choices=("throughput", "latency"))
    options = parser.parse_args()
    if kafka_broker.jars() is None:
        sys.exit("TICKSTACK_KAFKA_JARS: not set; see tests/e2e/run_kafka_test.sh")
    with tempfile.TemporaryDirectory(prefix="tickstack-kafka-") as folder:
        run = Run(folder, options)
        try:
            if options.only != "latency":
                run.throughput()
            if options.only != "throughput":
                run.latency()
        finally:
            run.end_stacks()
            run.broker.destroy()
    return 0


if __name__ == "__main__":
    os.umask(0o077)
    sys.exit(main())

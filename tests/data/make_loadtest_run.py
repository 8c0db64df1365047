#!/usr/bin/env python3
"""Writes the directory of a small load test's run, with invented but plausible figures, for the report's tests.
The same seed gives the same bytes.

    make_loadtest_run.py DIR [--seed N] [--slower FACTOR] [--failed] [--simulated] [--seconds S] [--rdbs] [--clients]
"""

import argparse
import json
import math
import pathlib
import random

METRICS = ("trade_lag", "quote_lag", "trade_bar_lag", "quote_bar_lag", "asof", "query")
GIB = 1 << 30
RATE = 48_000
PRESTRESS = {"quote": 20_000_000, "trade": 2_000_000}


class StackModel:
    """One stack's monitor: lags that saw-tooth under the timer, query times around a level, now and then a stall."""

    def __init__(self, rng, batch_ms, query_ms, factor):
        self.rng, self.batch_ms, self.query_ms, self.factor = rng, batch_ms, query_ms, factor
        self.mood = 0.0

    def sample(self):
        rng = self.rng
        self.mood = 0.9 * self.mood + rng.gauss(0, 0.05)  # Slow influence of neighbours.
        stall = rng.expovariate(1 / 6) if rng.random() < 0.01 else 0
        work = 1.1 * self.factor * math.exp(rng.gauss(0, 0.12) + self.mood)
        asof = 0.4 * self.factor * math.exp(rng.gauss(0, 0.2) + self.mood)
        lag = lambda more: rng.random() * self.batch_ms + work + more + stall
        return {"trade_lag": lag(0.3), "quote_lag": lag(0.2), "trade_bar_lag": lag(1.2), "quote_bar_lag": lag(1.1),
                "asof": asof, "query": 3 * work + asof + stall / 3}


def rounded(value):
    return float(f"{value:.6g}")


def quantile(ordered, part):
    return rounded(ordered[min(len(ordered) - 1, max(0, math.ceil(part * len(ordered)) - 1))])


def distribution(values):
    if not values:
        return {"count": 0, "p50_ms": None, "p99_ms": None, "p999_ms": None, "max_ms": None}
    ordered = sorted(values)
    return {"count": len(ordered), "p50_ms": quantile(ordered, 0.5), "p99_ms": quantile(ordered, 0.99),
            "p999_ms": quantile(ordered, 0.999), "max_ms": rounded(ordered[-1])}


def histogram(values):
    counts = {}
    for value in values:
        upper = math.ceil(math.log(max(value, 1e-3)) * 25)
        counts[upper] = counts.get(upper, 0) + 1
    return [[rounded(math.exp(upper / 25)), counts[upper]] for upper in sorted(counts)]


def processes(rng, seconds, factor):
    shares = {"feed": 0.05, "tickerplant": 0.07, "aggengine": 0.09, "rdb": 0.12 * factor, "monitor": 0.02}
    return {name: {"rss_max": int((0.1 if name != "rdb" else 2.4) * GIB * rng.uniform(0.9, 1.1)),
                   "cpu_s": rounded(seconds * share * rng.uniform(0.9, 1.1)),
                   "voluntary_switches": int(seconds * rng.uniform(900, 1100)),
                   "involuntary_switches": int(seconds * rng.uniform(20, 60)),
                   "read_bytes": 0, "written_bytes": int(seconds * RATE * 60 if name == "tickerplant" else 0)}
            for name, share in shares.items()}


def run_stack(rng, lines, test, name, placement, factor, options, rdbs=1):
    model = StackModel(rng, test["batch_ms"], test["query_ms"], factor)
    values = {metric: [] for metric in METRICS}
    last_minute = {metric: [] for metric in METRICS}
    seconds, period = test["seconds"], test["query_ms"] / 1e3
    columns = 42 * (PRESTRESS["quote"] + PRESTRESS["trade"])
    other = placement != "dram"
    for i in range(int(seconds / period)):
        for rdb in range(rdbs):
            time_s, sample = (i + 1) * period, model.sample()
            for metric in METRICS:
                values[metric].append(sample[metric])
                if time_s > seconds - 60:
                    last_minute[metric].append(sample[metric])
            rows = int(RATE * time_s)
            used = columns + 42 * rows
            dram, second = (used // 20, used) if other else (used, "")
            lines.append(",".join(map(str, [
                test["name"], name, f"rdb-{rdb + 1}", f"{time_s:.3f}", *(f"{sample[m]:.4g}" for m in METRICS), rows,
                int(2.4 * GIB), f"{0.12 * factor * time_s:.2f}", dram, second])))
    trades, quotes = int(RATE * seconds / 11), int(RATE * seconds) - int(RATE * seconds / 11)
    used = columns + 42 * int(RATE * seconds)
    tiers = {"dram": {"kind": "dram", "used": (used // 20 if other else used) * rdbs, "high_water": used * rdbs,
                      "capacity": None, "resident": (used // 20 if other else used) * rdbs}}
    if other:
        tiers["second"] = {"kind": "filesystem", "used": used * rdbs, "high_water": used * rdbs,
                           "capacity": 4 * GIB * rdbs, "resident": used // 3}
    count = lambda n, checksum: {"offered": n, "logged": n, "captured": n, "checksum": checksum}
    return {"name": name, "placement": placement, "simulated": other and options.simulated, "rdbs": rdbs, "outcome": "ok",
            "reason": "", "rows": {"trade": count(trades, "5f1d2c3b9a7e6d41"), "quote": count(quotes, "c04be1f2a3958d76")},
            "metrics": {m: {"whole": distribution(values[m]), "last_minute": distribution(last_minute[m]),
                            "histogram": histogram(values[m])} for m in METRICS},
            "queries_per_minute": rounded(60 * len(values["query"]) / seconds),
            "rates": {"offered_per_s": RATE, "logged_per_s": RATE, "captured_per_s": rounded(RATE * rng.uniform(0.9995, 1))},
            "tiers": tiers, "processes": processes(rng, seconds, factor)}


CLIENTS = {"analysts": ({"mode": "closed", "connections": 2, "think_ms": 100, "connections_lost": 0},
                        {"column_scan": 30.0, "top_trades": 55.0, "by_symbol": 90.0}),
           "dashboards": ({"mode": "open", "connections": 8, "every_ms": 50, "arrivals": "poisson", "connections_lost": 0},
                          {"last_price": 0.3, "minute": 0.9})}


def add_clients(rng, slices, test, stack, factor):
    """Returns what clients asked of a stack, and the rows of queries.csv."""
    stack["clients"] = {name: spec for name, (spec, _) in CLIENTS.items()}
    stack["queries"] = {}
    for client, (_, queries) in CLIENTS.items():
        for query, median in queries.items():
            values, medians = [], []
            for begin in range(0, int(test["seconds"]), 10):
                level = median * factor * math.exp(rng.gauss(0, 0.05))
                part = [level * math.exp(rng.gauss(0, 0.3)) for _ in range(100)]
                times = distribution(part)
                medians.append([times["p50_ms"], len(part)])
                slices.append(",".join(map(str, [test["name"], stack["name"], "rdb-1", client, query, f"{begin:.3f}", len(part), 0,
                                                 *(times[k] for k in ("p50_ms", "p99_ms", "p999_ms", "max_ms"))])))
                values += part
            errors = 3 if query == "by_symbol" else 0
            stack["queries"].setdefault(client, {})[query] = {
                "whole": distribution(values), "last_minute": distribution(values[-600:]), "histogram": histogram(values),
                "errors": errors, "errors_allowed": True, "first_error": "'limit: <b>1 GiB</b>" if errors else "",
                "slices": medians, "unanswered": 0, "per_minute": rounded(60 * len(values) / test["seconds"])}


def fail(tests):
    stack = tests[-1]["stacks"][-1]
    stack["outcome"] = "failed"
    stack["reason"] = ("rdb was killed by signal 9 after 31.2 s; its last log lines:\n"
                       "rdb: subscribed tables=trade,quote host=localhost:41377\nrdb: loaded rows=22,000,000")
    stack["rows"]["quote"]["captured"] -= 1234
    for name in ("asof", "query"):
        stack["metrics"][name]["last_minute"] = distribution([])


def make(options):
    rng = random.Random(options.seed)
    directory = pathlib.Path(options.directory)
    directory.mkdir(parents=True, exist_ok=True)
    second = "simulate:optane:/mnt/second" if options.simulated else "filesystem:/mnt/second"
    lines = ["test,stack,rdb,time_s," + ",".join(f"{m}_ms" for m in METRICS)
             + ",rows_captured,rss_bytes,cpu_s,tier.dram.used,tier.second.used"]
    tests = []
    for batch_ms, query_ms, seconds in ((50, 300, options.seconds), (50, 50, options.seconds / 3)):
        test = {"name": f"{batch_ms}/{query_ms}", "batch_ms": batch_ms, "query_ms": query_ms, "seconds": seconds,
                "prestress": PRESTRESS}
        test["stacks"] = [
            run_stack(rng, lines, test, "dram-1", "dram", 1.0 * options.slower, options),
            run_stack(rng, lines, test, "dram-2", "dram", 1.02 * options.slower, options),
            run_stack(rng, lines, test, "second-1", second, 1.4 * options.slower, options),
            run_stack(rng, lines, test, "second-2", second, 1.43 * options.slower, options)]
        tests.append(test)
    if options.rdbs:
        test = {"name": "1000/50", "batch_ms": 1000, "query_ms": 50, "seconds": options.seconds / 6, "prestress": PRESTRESS}
        test["stacks"] = [run_stack(rng, lines, test, "dram-2-rdbs", "dram", 1.0, options, 2),
                          run_stack(rng, lines, test, "second-10-rdbs", second, 1.4, options, 10)]
        tests.append(test)
    slices = ["test,stack,rdb,client,query,time_s,count,errors,p50_ms,p99_ms,p999_ms,max_ms"]
    if options.clients:
        for test in tests:
            for stack in test["stacks"]:
                add_clients(rng, slices, test, stack, (1.0 if stack["placement"] == "dram" else 1.5) * options.slower)
        (directory / "queries.csv").write_text("\n".join(slices) + "\n", encoding="utf-8")
    if options.failed:
        fail(tests)
    summary = {"format": 1, "name": "march2020",
               "command": f"tickstack loadtest march2020 --matrix paper-test1 --seconds {options.seconds:g} --second-tier /mnt/second",
               "seed": options.seed, "begin": "2026-03-09T14:30:00Z", "outcome": "failed" if options.failed else "ok",
               "reason": "a process of stack second-2 died" if options.failed else "",
               "profile": {"name": "march2020", "updates_per_s": RATE, "seconds": options.seconds, "symbols": 8000,
                           "quotes_per_trade": 10},
               "tests": tests}
    if options.clients:
        summary["query_set"] = "heavy"
    environment = {"cpu": "Invented CPU 2.5 GHz", "cores": 4, "memory_bytes": 32 * GIB, "numa_nodes": 1,
                   "kernel": "Linux 6.1.0", "filesystems": [{"path": "/mnt/second", "type": "tmpfs", "dax": False}],
                   "versions": {"tickstack": "0.1.0", "memkind": "1.14"}, "build_flags": "Release -O3",
                   "commit": "0000000000000000000000000000000000000000"}
    (directory / "summary.json").write_text(json.dumps(summary, separators=(",", ":")) + "\n", encoding="utf-8")
    (directory / "environment.json").write_text(json.dumps(environment, indent=1) + "\n", encoding="utf-8")
    (directory / "samples.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--slower", type=float, default=1.0, help="all work takes so many times as long")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--failed", action="store_true")
    parser.add_argument("--simulated", action="store_true")
    parser.add_argument("--rdbs", action="store_true", help="a third test, of 2 against 10 RDBs")
    parser.add_argument("--clients", action="store_true", help="stacks have clients that ask queries")
    make(parser.parse_args())


if __name__ == "__main__":
    main()

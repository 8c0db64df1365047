"""bench/peers/run: creates the day, lets each system answer the lines, compares the answers, then the times.

Only one system at a time has its tables in memory, beside tickstack's. Each answer is compared with DuckDB's
before anything is timed. Then a system and tickstack are asked alternately, so that other load on the machine
slows down both."""

import argparse
import os
import pathlib
import shutil
import signal
import statistics
import sys
import tempfile
import time

from bench.peers import answers, engines, report
from bench.peers.day import LAYOUTS, Day, lay_out
from bench.peers.lines import questions
from bench.peers.processes import ROOT, Failed, InProcess, OverIpc, System

FULL_QUOTES = 30_000_000
REFERENCE = "duckdb"  # Its answers on tables as captured are the reference for the others.
# A short line is repeated until its runs took LINE_NS_MIN together, or RUNS_MAX times.
LINE_NS_MIN, RUNS_MAX = 300_000_000, 25
# A system that takes HOPELESS times as long as another one on the same line is not the best. It gets one run
# after the checked one.
HOPELESS, HOPELESS_NS = 1.5, 2_000_000_000


def arguments():
    parser = argparse.ArgumentParser(
        prog="bench/peers/run", description="Compares tickstack's queries with other systems'."
    )
    parser.add_argument("--peers", default=",".join(engines.MODULES), help="which systems (default: all: %(default)s)")
    parser.add_argument("--lines", default="", help="which lines, by name (default: all)")
    parser.add_argument("--quotes", type=int, default=FULL_QUOTES, help="a tenth as many trades (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=5, help="of each line and system, at least (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="of each system (default: %(default)s)")
    parser.add_argument("--check", action="store_true", help="compare answers only")
    parser.add_argument("--json", type=pathlib.Path, help="write all figures there")
    parser.add_argument("--no-docs", action="store_true", help="leave docs/benchmarks.md alone, as a smaller day does")
    parser.add_argument(
        "--folder", type=pathlib.Path, default=ROOT / "build/peers", help="for the day's files while it runs"
    )
    parser.add_argument(
        "--tickstack", type=pathlib.Path, default=ROOT / "build/release/cli/tickstack", help="the program"
    )
    parser.add_argument(
        "--peers-day", type=pathlib.Path, default=ROOT / "build/release/bench/peers_day", help="the program"
    )
    found = parser.parse_args()
    found.peers = [name for name in found.peers.split(",") if name]
    for name in found.peers:
        if name not in engines.MODULES:
            parser.error(f"--peers {name}: expected some of {','.join(engines.MODULES)}")
    if REFERENCE not in found.peers:
        parser.error(f"--peers without {REFERENCE}: its answers are what the others' are compared with")
    for name in [name for name in found.peers if engines.missing(name)]:
        say(f"{name} is left out: {engines.missing(name)} here")
        found.peers.remove(name)
    # The reference is timed last: it is slow where others are fast, which is known by then.
    found.peers.sort(key=lambda name: name == REFERENCE)
    return found


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


class Comparison:
    """`samples[line][who]` are ns; `who` is (system, layout) or ("tickstack", way of asking)."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.samples, self.failures, self.versions, self.notes = {}, [], {}, {}
        self.reference = {}

    def make_day(self):
        options = self.options
        say(f"making a day of {options.quotes} quotes and {options.quotes // 10} trades")
        self.ours = InProcess(options.peers_day, self.folder, options.quotes, options.seed)
        lay_out(self.folder)
        self.day = self.ours.day = Day(self.folder)
        self.questions = questions(self.day)
        wanted = [name for name in options.lines.split(",") if name]
        self.lines = [line for line in self.questions.lines if not wanted or line.name in wanted]

    def failed(self, line, who, why):
        say(f"FAILED {line.name}, {' '.join(who)}: {why}")
        self.failures.append({"line": line.name, "who": list(who), "why": str(why)})

    def check(self, line, who, summarise):
        """Returns whether the answer equals the reference's; the first answer becomes the reference."""
        # The reference's system is asked again later, and then it is compared like any other.
        kind = "answer" if line.name in self.reference else "reference"
        path = self.folder / f"{kind}.{'.'.join(who).replace(' ', '_')}.{line.name}.npz"
        try:
            found = summarise(line, path)
        except (Failed, ValueError) as error:
            self.failed(line, who, error)
            return False
        if line.name not in self.reference:
            self.reference[line.name] = found
            return True
        wrong = answers.difference(line, self.reference[line.name], found)
        answers.forget(found)
        if wrong:
            self.failed(line, who, f"wrong answer: {wrong}")
        return not wrong

    def add(self, line, who, ns):
        self.samples.setdefault(line.name, {}).setdefault(who, []).append(ns)

    def median(self, line, who):
        samples = self.samples.get(line.name, {}).get(who)
        return statistics.median(samples) if samples else None

    def measure(self, line, askers):
        """Asks alternately; `askers` are functions by `who`."""
        spent, runs = 0, 0
        while runs < self.options.runs or (spent < LINE_NS_MIN and runs < RUNS_MAX):
            longest = 0
            for who, ask in askers.items():
                try:
                    ns = ask(line)
                except Failed as error:
                    self.failed(line, who, error)
                    return
                self.add(line, who, ns)
                longest = max(longest, ns)
            spent, runs = spent + longest, runs + 1
            if any(self._hopeless(line, who) for who in askers):
                return

    def _hopeless(self, line, who):
        """Returns whether another system is so much faster on the same tables that `who` is not the best."""
        if who[0] == "tickstack":
            return False
        others = [
            self.median(line, other) for other in self.samples[line.name] if other[0] != who[0] and other[1] == who[1]
        ]
        own = self.median(line, who)
        return own > HOPELESS_NS and bool(others) and own > HOPELESS * min(others)

    def run_ours(self, threads):
        return lambda line: self.ours.run(line, threads)

    def check_ours(self):
        """Returns the lines that tickstack answers correctly, on one thread and on all."""
        right = []
        for line in self.lines:
            checks = []
            for threads in sorted({1, self.options.threads}):

                def summarise(asked, path, threads=threads):
                    return self.ours.summarise(asked, path, threads)

                checks.append(self.check(line, ("tickstack", f"{threads} threads"), summarise))
            if all(checks):
                right.append(line)
        return right

    def refer(self):
        """Returns the answers that all others are compared with; those of tickstack come first."""
        who = (REFERENCE, LAYOUTS[0])
        system = self.start(*who)
        try:
            for line in self.lines:
                self.check(line, who, system.summarise)
        finally:
            system.close()
        self.right = self.check_ours()

    def start(self, name, layout):
        system = System(name, layout, self.folder, self.options.threads, self.folder)
        self.versions[name] = system.version
        say(f"{name} {system.version}, {layout}: tables made in {system.load_s:.1f} s")
        return system

    def peer(self, name, layout):
        options, who = self.options, (name, layout)
        begin = time.monotonic()
        try:
            system = self.start(name, layout)
        except Failed as error:
            for line in self.lines:
                self.failed(line, who, error)
            return
        try:
            lines = [line for line in self.lines if line.name in system.lines]
            for line in [line for line in lines if self.check(line, who, system.summarise)]:
                if options.check:
                    continue
                askers = {who: system.run}
                if line in self.right:
                    askers[("tickstack", f"{options.threads} threads")] = self.run_ours(options.threads)
                self.measure(line, askers)
        finally:
            system.close()
        say(f"{name}, {layout}: done in {time.monotonic() - begin:.1f} s")

    def over_ipc(self):
        who, decoded = ("tickstack", "ipc"), ("tickstack", "ipc decoded")
        rdb = OverIpc(self.options.tickstack, self.ours.log, self.day, self.folder, self.options.threads)
        try:
            right = [line for line in self.lines if self.check(line, who, rdb.summarise)]
            if self.options.check:
                return

            def ask(line):
                ns, decoded_ns, self.notes[f"{line.name} bytes"] = rdb.run(line)
                self.add(line, decoded, decoded_ns)
                return ns

            for line in self.lines:
                askers = {who: ask} if line in right else {}
                if line in self.right:
                    askers[("tickstack", "1 threads")] = self.run_ours(1)
                if askers:
                    self.measure(line, askers)
        finally:
            rdb.close()

    def run(self):
        self.make_day()
        try:
            self.notes["machine"] = self.ours.machine
            self.refer()
            for name in self.options.peers:
                for layout in engines.layouts(name):
                    # Its answers are known already.
                    if not (self.options.check and (name, layout) == (REFERENCE, LAYOUTS[0])):
                        self.peer(name, layout)
            say("tickstack over IPC")
            self.over_ipc()
            for threads in sorted({1, self.options.threads}):
                self.notes[f"read_memory {threads}"] = self.ours.read_memory(threads)
        finally:
            self.ours.close()


def main():
    options = arguments()
    # When it is ended from outside, it still ends its processes and removes its files.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    options.folder.mkdir(parents=True, exist_ok=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="day-", dir=options.folder))
    begin = time.monotonic()
    try:
        comparison = Comparison(options, folder)
        comparison.run()
    finally:
        shutil.rmtree(folder)
    say(f"all done in {time.monotonic() - begin:.0f} s")
    if options.check:
        lines = len(comparison.lines)
        print(f"{lines} lines compared, {len(comparison.failures)} failures")
    else:
        report.write(comparison, full=options.quotes >= FULL_QUOTES)
    return 1 if comparison.failures else 0


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())

"""What bench/peers/run prints, writes as JSON and puts into docs/benchmarks.md."""

import json
import platform
import re
import subprocess
import sys
import textwrap
import time

from bench.peers.day import LAYOUTS
from bench.peers.processes import ROOT

DOCS = ROOT / "docs/benchmarks.md"
BEGIN, END = "<!-- bench/peers/run writes from here -->", "<!-- to here -->"
BY_HAND = "numpy"
COLUMNS = 100


def milliseconds(ns):
    if ns is None:
        return ""
    ms = ns / 1e6
    return f"{ms:,.0f}" if ms >= 100 else f"{ms:.1f}" if ms >= 10 else f"{ms:.2f}" if ms >= 0.1 else f"{ms:.3f}"


def times(factor):
    return f"{factor:.1f}" if factor < 100 else f"{factor:.0f}"


class Report:
    def __init__(self, comparison):
        self.comparison, self.options = comparison, comparison.options
        self.systems = [name for name in self.options.peers if name != BY_HAND]
        self.ours = ("tickstack", f"{self.options.threads} threads")

    def cell(self, line, who):
        failed = any(
            failure["line"] == line.name and tuple(failure["who"]) == who for failure in self.comparison.failures
        )
        if failed:
            return "failed"
        text = milliseconds(self.comparison.median(line, who))
        runs = len(self.comparison.samples.get(line.name, {}).get(who, ()))
        return f"{text} ({runs} runs)" if 0 < runs < self.options.runs else text

    def best(self, line, layout):
        """Returns (name, ns) of the fastest of the other systems; None if none has a time."""
        times = [(self.comparison.median(line, (name, layout)), name) for name in self.systems]
        times = [time for time in times if time[0] is not None]
        return min(times)[::-1] if times else None

    def factor(self, line, layout):
        """Returns the ratio of the best system's time to tickstack's; None if one of them has no time."""
        best, ours = self.best(line, layout), self.comparison.median(line, self.ours)
        return best[1] / ours if best and ours else None

    def factor_text(self, line, layout):
        factor = self.factor(line, layout)
        return "" if factor is None else f"{times(factor)} ({self.best(line, layout)[0]})"

    def goal_text(self, line):
        """Returns whether a line met its goal; one that failed missed it."""
        if line.goal is None:
            return ""
        factor = self.factor(line, LAYOUTS[0])
        return f"{line.goal}, {'met' if factor is not None and factor >= line.goal else 'missed'}"

    def _table(self, header, rows):
        return [
            "| " + " | ".join(header) + " |",
            "|" + " --- |" * len(header),
            *("| " + " | ".join(row) + " |" for row in rows),
        ]

    def captured(self):
        header = [
            "ms",
            f"tickstack, {self.options.threads} threads",
            "1 thread",
            "over IPC",
            "and decoded",
            *self.systems,
            "times as long: the best",
            "goal",
        ]
        rows = []
        for line in self.comparison.lines:
            ours = [self.cell(line, ("tickstack", how)) for how in (self.ours[1], "1 threads", "ipc", "ipc decoded")]
            rows.append(
                [
                    line.title,
                    *ours,
                    *(self.cell(line, (name, LAYOUTS[0])) for name in self.systems),
                    self.factor_text(line, LAYOUTS[0]),
                    self.goal_text(line),
                ]
            )
        return self._table(header, rows)

    def sorted(self):
        systems = [
            name for name in self.systems if any((name, LAYOUTS[1]) in who for who in self.comparison.samples.values())
        ]
        by_hand = [BY_HAND] if BY_HAND in self.options.peers else []
        header = [
            "ms",
            "tickstack, as captured",
            *systems,
            "times as long: the best",
            *(f"by hand in {name}" for name in by_hand),
        ]
        rows = [
            [
                line.title,
                self.cell(line, self.ours),
                *(self.cell(line, (name, LAYOUTS[1])) for name in systems),
                self.factor_text(line, LAYOUTS[1]),
                *(self.cell(line, (name, LAYOUTS[1])) for name in by_hand),
            ]
            for line in self.comparison.lines
        ]
        return self._table(header, rows)

    def circumstances(self):
        options, notes = self.options, self.comparison.notes
        versions = ", ".join(f"{name} {version}" for name, version in self.comparison.versions.items())
        command = "bench/peers/run " + " ".join(sys.argv[1:])
        text = [
            f"`{command.strip()}`, {time.strftime('%d %B %Y', time.gmtime()).lstrip('0')}, commit {commit()}. "
            f"{notes['machine']}; "
            f"Python {platform.python_version()}, {versions}; {options.threads} threads each. "
            f"{options.quotes:,} quotes, {options.quotes // 10:,} trades, {len(self.comparison.day.names):,} symbols. "
            f"Medians of {options.runs} runs and more, in milliseconds."
        ]
        line = next((line for line in self.comparison.lines if line.name == "max_time"), None)
        ours = line and self.comparison.median(line, self.ours)
        if ours:
            reached, bound = options.quotes * 8 / (ours / 1e9), notes[f"read_memory {options.threads}"]
            text += [
                "",
                f"`max time` reads {reached / 1e9:.1f} GB/s; {options.threads} threads of the same program that do "
                f"nothing but read that column: {bound / 1e9:.1f} GB/s ({reached / bound:.0%}).",
            ]
        return text

    def failures(self):
        return [
            f"Failed: {failure['line']}, {' '.join(failure['who'])}: {failure['why']}"
            for failure in self.comparison.failures
        ]

    def markdown(self):
        parts = [
            self.circumstances(),
            ["Tables as captured, in order of arrival:"],
            self.captured(),
            ["The same systems on tables sorted by symbol and time beforehand, which no live table is:"],
            self.sorted(),
            self.failures(),
        ]
        return "\n\n".join("\n".join(part) for part in parts if part) + "\n"

    def as_json(self):
        samples = {
            line: [
                {"who": list(who), "median_ns": self.comparison.median(self.comparison.questions[line], who), "ns": ns}
                for who, ns in by_who.items()
            ]
            for line, by_who in self.comparison.samples.items()
        }
        goals = [
            {
                "line": line.name,
                "title": line.title,
                "q": line.q,
                "goal": line.goal,
                **{f"factor_{layout}": self.factor(line, layout) for layout in LAYOUTS},
            }
            for line in self.comparison.lines
        ]
        return {
            "commit": commit(),
            "quotes": self.options.quotes,
            "threads": self.options.threads,
            "versions": self.comparison.versions,
            "notes": self.comparison.notes,
            "lines": goals,
            "samples": samples,
            "failures": self.comparison.failures,
        }


def commit():
    def git(*arguments):
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()

    changed = [
        line for line in git("status", "--porcelain").splitlines() if not line.endswith(str(DOCS.relative_to(ROOT)))
    ]
    return (git("rev-parse", "--short", "HEAD") or "unknown") + (" with changes" if changed else "")


def write(comparison, full):
    """Prints the tables; writes the JSON if requested and, for a full day, the section of the docs."""
    report = Report(comparison)
    text = report.markdown()
    print(text)
    if comparison.options.json:
        comparison.options.json.write_text(json.dumps(report.as_json(), indent=1) + "\n", encoding="utf-8")
    if full and not comparison.options.no_docs:
        put_into(DOCS, text)


def wrapped(text):
    """The text with lines of a page's width, except tables."""
    return "\n".join(
        line if line.startswith("|") else textwrap.fill(line, COLUMNS, break_long_words=False, break_on_hyphens=False)
        for line in text.split("\n")
    )


def put_into(path, text, begin=BEGIN, end=END):
    """Replaces the text between two marks of a file."""
    page = path.read_text(encoding="utf-8")
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(begin) > page.index(end):
        raise ValueError(f"{path}: expected `{begin}` and then `{end}`, once each")
    between = re.compile(re.escape(begin) + ".*" + re.escape(end), re.DOTALL)
    path.write_text(between.sub(lambda _: f"{begin}\n{wrapped(text)}{end}", page), encoding="utf-8")

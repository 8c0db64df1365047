#!/usr/bin/env python3
"""Does the simulator notice defects? Plants those of the file `mutants`, and runs lives with each.

All mutants are compiled into one simulator, from a copy of the sources in the build directory; the
environment variable SIMULATE_MUTANT names the one that is active. The sources themselves have no
trace of them. README.md has the results.

    tests/simulate/mutants.py                          # every mutant, up to 10,000 lives each
    tests/simulate/mutants.py --lives 200 torn_tail_is_not_cut
"""

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIST = pathlib.Path(__file__).resolve().with_name("mutants")
LIFE_SECONDS = 20  # A life that takes longer has hung.


class Invalid(Exception):
    pass


@dataclasses.dataclass
class Edit:
    file: str
    old: str
    new: str  # With MUTANT for the condition; empty: the old statement is left out.


@dataclasses.dataclass
class Mutant:
    name: str
    breaks: str = ""
    harmless: str = ""  # Why no life can notice it; empty: lives are to notice it.
    days: int = 1
    lives: str = ""  # The kind of its lives: `standbys` of a cluster, `gateway` of a gateway.
    edits: list = dataclasses.field(default_factory=list)

    @property
    def number(self):
        """Does not change when mutants are added, so that few sources are compiled again."""
        return zlib.crc32(self.name.encode()) >> 1 or 1

    @property
    def area(self):
        return self.edits[0].file.split("/")[0]


def parse(text):
    """Reads the list: see its head."""
    mutants, file, last = [], "", ""
    for number, line in enumerate(text.splitlines(), 1):
        kind, _, rest = line.partition(" ")
        if not line.strip() or kind == "#":
            last = ""
            continue
        if kind == "mutant":
            mutants.append(Mutant(rest.strip()))
            file = ""
        elif not mutants:
            raise Invalid(f"line {number}: expected a mutant first")
        elif kind == "file":
            file = rest.strip()
        elif kind == "breaks":
            mutants[-1].breaks = rest.strip()
        elif kind == "harmless":
            mutants[-1].harmless = rest.strip()
        elif kind == "days":
            mutants[-1].days = int(rest)
        elif kind == "lives" and rest.strip() in ("standbys", "gateway"):
            mutants[-1].lives = rest.strip()
        elif kind == "-":
            if last != "-":
                mutants[-1].edits.append(Edit(file, "", ""))
            mutants[-1].edits[-1].old += rest + "\n"
        elif kind == "+" and last in "-+" and last:
            mutants[-1].edits[-1].new += rest + "\n"
        else:
            raise Invalid(f"line {number}: {line}")
        last = kind
    return mutants


def find(text, old):
    """Begin and end of a text, however it is broken into lines; it must occur once."""
    pattern = r"\s+".join(re.escape(word) for word in old.split())
    found = [match.span() for match in re.finditer(pattern, text)]
    if len(found) != 1:
        raise Invalid(f"occurs {len(found)} times, expected once: {' '.join(old.split())}")
    return found[0]


def planted(mutants, read):
    """The changed sources by path; `read(path)` returns a source."""
    by_file = {}
    if len({mutant.number for mutant in mutants}) < len(mutants):
        raise Invalid("two mutants have the same name, or the same number by chance")
    for mutant in mutants:
        if not mutant.breaks or not mutant.edits:
            raise Invalid(f"{mutant.name}: expected what it breaks, and an edit")
        for edit in mutant.edits:
            by_file.setdefault(edit.file, []).append((mutant, edit))
    sources = {}
    for file, edits in by_file.items():
        text = read(file)
        places = []
        for mutant, edit in edits:
            active = f"(::tickstack::mutant == {mutant.number})"
            try:
                begin, end = find(text, edit.old)
            except Invalid as why:
                raise Invalid(f"{mutant.name}: {file}: {why}") from None
            new = edit.new or f"if (!MUTANT) {{\n{edit.old}}}\n"
            if "MUTANT" not in new:
                raise Invalid(f"{mutant.name}: {file}: no MUTANT in the new text")
            places.append((begin, end, new.rstrip("\n").replace("MUTANT", active), mutant.name))
        places.sort()
        for (_, end, _, one), (begin, _, _, other) in zip(places, places[1:]):
            if begin < end:
                raise Invalid(f"{file}: {one} and {other} change the same text")
        for begin, end, new, _ in reversed(places):
            text = text[:begin] + new + text[end:]
        declaration = "namespace tickstack {\nextern int mutant;\n}\n"
        once = "#pragma once\n"
        if once in text:
            text = text.replace(once, once + declaration, 1)
        else:
            text = declaration + text
        sources[file] = text
    return sources


def choice(mutants):
    """Source that sets the number of the active mutant."""
    cases = "\n".join(f'  if (name == "{mutant.name}") return {mutant.number};' for mutant in mutants)
    return f"""
#include <cstdlib>
#include <string_view>
namespace tickstack {{
static int ActiveMutant() {{
  const char* const chosen = std::getenv("SIMULATE_MUTANT");
  if (chosen == nullptr) return 0;
  const std::string_view name = chosen;
{cases}
  std::abort();
}}
extern int mutant;
int mutant = ActiveMutant();
}}  // namespace tickstack
"""


def write_if_changed(path, data):
    if path.exists() and path.read_bytes() == data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def source_folders(root):
    """The folders of a checkout, without hidden ones and what was built there."""
    return sorted(p.name for p in root.iterdir() if p.is_dir() and p.name != "build" and not p.name.startswith("."))


def copy_sources(mutants, to):
    sources = planted(mutants, lambda file: (ROOT / file).read_text(encoding="utf-8"))
    sources["base/check.cc"] = (ROOT / "base/check.cc").read_text(encoding="utf-8") + choice(mutants)
    kept = set()
    paths = [ROOT / "CMakeLists.txt"]
    for folder in source_folders(ROOT):
        paths += (path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    for path in paths:
        name = str(path.relative_to(ROOT))
        kept.add(to / name)
        data = sources[name].encode() if name in sources else path.read_bytes()
        write_if_changed(to / name, data)
    for path in to.rglob("*"):
        if path.is_file() and path not in kept:
            path.unlink()


def build(mutants, folder, jobs):
    """Builds the simulator that has all mutants, and returns its path."""
    copy_sources(mutants, folder / "source")
    if not (folder / "build/build.ninja").exists():
        subprocess.run(
            ["cmake", "-S", folder / "source", "-B", folder / "build", "-G", "Ninja", "--log-level=WARNING"]
            + ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG", "-DTICKSTACK_UNITY=ON"]
            # GCC 12's false alarms about std::optional at -O1, which nothing else is built with.
            + ["-DCMAKE_CXX_FLAGS=-Wno-error=maybe-uninitialized"],
            check=True,
        )
    command = ["cmake", "--build", folder / "build", "--parallel", str(jobs), "--target", "simulate"]
    subprocess.run(command, check=True)
    return folder / "build/tests/simulate/simulate"


def run(program, mutant, lives):
    """(lives until the oracle failed, or None; what it said) for a mutant."""
    environment = dict(os.environ, SIMULATE_MUTANT=mutant.name) if mutant.name else None
    command = [program, "--seed", "0", "--lives", str(lives), "--days", str(mutant.days), "--until-failure"]
    if mutant.lives:
        command.append("--" + mutant.lives)
    done = subprocess.run(
        command + ["--timeout", str(LIFE_SECONDS)], env=environment, capture_output=True, text=True, check=False
    )
    failed = re.search(r"^FAILED seed (\d+): (.*)$", done.stdout, re.M)
    if failed:
        return int(failed[1]) + 1, failed[2]
    if done.returncode != 0:
        raise Invalid(f"{mutant.name}: {done.stdout}{done.stderr}")
    return None, ""


def summary(mutants, results):
    """A table of the mutants that lives are to notice."""
    mutants = [mutant for mutant in mutants if not mutant.harmless]
    lines = ["| area | mutants | caught | in 1 life | 2 to 10 | 11 to 100 | 101 to 1,000 | more |"]
    lines.append("|---|---|---|---|---|---|---|---|")
    bounds = [(1, 1), (2, 10), (11, 100), (101, 1000), (1001, sys.maxsize)]
    areas = sorted({mutant.area for mutant in mutants})
    for area in areas + ["all"]:
        lives = [results[m.name][0] for m in mutants if m.name in results and area in (m.area, "all")]
        caught = [n for n in lives if n is not None]
        counts = [sum(low <= n <= high for n in caught) for low, high in bounds]
        lines.append(f"| {area} | {len(lives)} | {len(caught)} | " + " | ".join(map(str, counts)) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="mutants to run (default: all)")
    parser.add_argument("--lives", type=int, default=10_000, help="lives of a mutant that is not noticed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="mutants at once")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/mutants", help="where to build")
    parser.add_argument("--program", type=pathlib.Path, help="run this simulator instead of building one")
    options = parser.parse_args()
    mutants = parse(LIST.read_text(encoding="utf-8"))
    chosen = [mutant for mutant in mutants if not options.names or mutant.name in options.names]
    missing = set(options.names) - {mutant.name for mutant in chosen}
    if missing:
        raise Invalid(f"no such mutant: {', '.join(sorted(missing))}")
    program = options.program or build(mutants, options.build.resolve(), options.jobs)
    results = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        futures = {pool.submit(run, program, mutant, options.lives): mutant for mutant in chosen}
        for future in concurrent.futures.as_completed(futures):
            mutant = futures[future]
            lives, said = results[mutant.name] = future.result()
            verdict = f"{lives:6} lives" if lives else f"not in {options.lives}"
            print(f"{mutant.area:12} {mutant.name:44} {verdict:14} {said[:150]}", flush=True)
    print("\n" + summary(chosen, results))
    harmless = [mutant for mutant in chosen if mutant.harmless]
    for mutant in harmless:
        noticed = results[mutant.name][0] is not None
        print(f"{'NOT harmless' if noticed else 'harmless'}: {mutant.name}: {mutant.harmless}")
    expected = [mutant for mutant in chosen if not mutant.harmless]
    escaped = [mutant for mutant in expected if results[mutant.name][0] is None]
    for mutant in escaped:
        print(f"not noticed: {mutant.name}: {mutant.breaks}")
    return 1 if len(escaped) > len(expected) * 0.05 else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Invalid as why:
        sys.exit(f"mutants: {why}")

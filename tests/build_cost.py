#!/usr/bin/env python3
"""build_cost.py BUILD [--record]: what each folder costs to compile in a release build, beside the recorded figures.

Processor time differs between machines and runs, so this counts what takes it: megabytes of sources and headers that
the compiler reads for the folder's objects, and kilobytes of code that it writes. Exit status 1 if a folder has grown
by more than 10 %, or is not recorded. --record writes the figures to tests/data/build_cost.json: do it in the commit
that makes a folder larger, and say there why it is worth the time.

Only builds by `make build` with the compiler of the record are comparable: in units, with precompiled headers.
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
RECORD = ROOT / "tests/data/build_cost.json"
GROWTH = 1.10
# A small folder may grow by this much in any case.
SLACK = {"read_mb": 2.0, "code_kb": 100.0}


def folders_of_objects(build):
    """Returns {folder: {object: its sources and headers}} of the program's libraries, as ninja has noted them."""
    wanted = set()
    for line in run("ninja", "-C", build, "-t", "inputs", "tickstack").splitlines():
        if line.endswith(".o"):
            wanted.add(line)
    found, objects = {}, None
    for line in run("ninja", "-C", build, "-t", "deps").splitlines():
        if line.startswith("    "):
            if objects is not None:
                objects.append(line.strip())
            continue
        name, colon, _ = line.partition(": #deps")
        objects = None
        if colon and name in wanted:
            objects = found.setdefault(name.split("/")[0], {}).setdefault(name, [])
    return found


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def code_bytes(path):
    """Returns the bytes of the sections that GNU size calls text."""
    return int(run("size", str(path)).splitlines()[1].split()[0])


def compiler_of(cache):
    """Returns the version and machine of the compiler that a build uses, such as `12 x86_64-linux-gnu`."""
    path = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", cache, re.M)[1]
    return " ".join(run(path, flag).strip() for flag in ("-dumpversion", "-dumpmachine"))


def costs(build):
    """Returns {folder: {"read_mb": ..., "code_kb": ...}}."""
    sizes, result = {}, {}
    for folder, objects in folders_of_objects(build).items():
        read = code = 0
        for name, files in objects.items():
            code += code_bytes(pathlib.Path(build) / name)
            for file in files:
                if file not in sizes:
                    path = pathlib.Path(build) / file  # An absolute path stays as it is.
                    sizes[file] = path.stat().st_size if path.exists() and path.suffix != ".gch" else 0
                read += sizes[file]
        result[folder] = {"read_mb": round(read / 1e6, 1), "code_kb": round(code / 1e3)}
    return result


def complaints(found, recorded):
    for folder, figures in sorted(found.items()):
        if folder not in recorded:
            yield f"{folder}: not recorded"
            continue
        for name, figure in figures.items():
            before = recorded[folder][name]
            if figure > before * GROWTH and figure > before + SLACK[name]:
                yield f"{folder}: {name} is {figure}, recorded {before}"


def main():
    build = sys.argv[1]
    cache = (pathlib.Path(build) / "CMakeCache.txt").read_text(encoding="utf-8")
    if "TICKSTACK_UNITY:BOOL=ON" not in cache or "TICKSTACK_CCACHE:FILEPATH=/" in cache:
        print("build_cost: SKIPPED: needs a build in units, by `make build`, on a machine without ccache")
        return 0
    compiler = compiler_of(cache)
    records = json.loads(RECORD.read_text(encoding="utf-8"))
    if "--record" not in sys.argv and compiler != records["compiler"]:
        print(f"build_cost: SKIPPED: the figures are of compiler {records['compiler']}, this build is by {compiler}")
        return 0
    found = costs(build)
    if not found:
        print(f"build_cost: no object of the program is built in {build}")
        return 1
    if "--record" in sys.argv:
        record = {"compiler": compiler, "folders": found}
        RECORD.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        return 0
    wrong = list(complaints(found, records["folders"]))
    for line in wrong:
        print(f"build_cost: {line}: compile less, or tests/build_cost.py --record with the reason in the commit")
    if not wrong:
        total = {name: round(sum(each[name] for each in found.values()), 1) for name in SLACK}
        print(f"build_cost: {len(found)} folders, {total['read_mb']} MB read, {total['code_kb'] / 1e3:.1f} MB of code")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

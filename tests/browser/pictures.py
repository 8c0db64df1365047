#!/usr/bin/env python3
"""Takes the pictures in docs/pictures/: the page of `hdb queries`, the live page of a stack's monitor, and the query
console, each of a stack or database that it makes; with --run, also the report of that load test. `make pictures` runs
it.

    pictures.py --program build/release/cli/tickstack [--run DIR] [--out docs/pictures]

A picture of a report presents its figures as measured. DIR is therefore the run of a load test by a commit of this
repository; the invented runs of the tests are refused.
"""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from tests.support import stack  # noqa: E402
from tests.support.chromium import Browser  # noqa: E402

BYTES_MAX = 150_000
REPORT_PICTURES = {
    "report-light": {"width": 1100, "shown": 1900},
    "report-dark": {"width": 1100, "shown": 1900, "dark": True},
    "report-phone": {"width": 360, "shown": 1500, "scale": 2},
    "report-print": {"width": 720, "shown": 1018, "printed": True},
}

STACK = """
[tickerplant]
batch_ms = 50
[[rdb]]
[rdb.tier.dram]
size = "1GiB"
[[rdb]]
name = "spare"
[hdb]
[aggengine]
[feed]
rate = 20000
[monitor]
query_ms = 200
"""
LIVE_PICTURES = {
    "live-light": {"width": 1100, "shown": 1000},
    "live-dark": {"width": 1100, "shown": 1000, "dark": True},
    "live-phone": {"width": 390, "shown": 1500, "scale": 2},
}
LIVE_SECONDS = 30  # Time that the stack runs before its pictures.
LIVE_EVENTS = 15
CONSOLE = {
    "console-light": {"width": 1100, "height": 720},
    "console-dark": {"width": 1100, "height": 720, "dark": True},
    "console-chart": {"width": 1100, "height": 820, "chart": True},
    "console-phone": {"width": 390, "height": 844, "scale": 2, "chart": True},
}
CONSOLE_CONFIG = """
[tickerplant]
batch_ms = 5
[[rdb]]
[feed]
rate = 4000
seconds = 10
start = true
"""
QUERIES_PICTURES = {
    "queries-light": {"width": 1100, "shown": 1400},
}
TABLE = "select trades:count i, last price, vwap:size wavg price, volume:sum size by sym from trade"
CHART = "select time, sym, price from trade where sym in 3#distinct sym"


def why_not_a_real_run(folder):
    """Returns why the folder is not the run of a load test by a commit of this repository; None if it is one."""
    path = folder / "environment.json"
    try:
        environment = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return f"{path}: {error}; give the folder of a run of `tickstack loadtest`"
    if not isinstance(environment, dict):
        return f"{path}: not an object; give the folder of a run of `tickstack loadtest`"
    if "Invented" in str(environment.get("cpu")):
        return f"{path}: the cpu is \"{environment['cpu']}\": a run that tests/data/make_loadtest_run.py invented"
    if (ROOT / "tests") in folder.resolve().parents:
        return f"{folder}: a run in tests/ has invented figures"
    commit = str(environment.get("commit", "")).removesuffix("-changed")
    found = re.fullmatch("[0-9a-f]{7,40}", commit) and subprocess.run(
        ["git", "cat-file", "-e", f"{commit}^{{commit}}"], cwd=ROOT, check=False, stderr=subprocess.DEVNULL).returncode == 0
    return None if found else f"{path}: the commit is \"{commit}\", which is not a commit of this repository"


def take(browser, url, out, name, width, shown, events=0, **settings):
    page = browser.open(url, width=width, **settings)
    if events > 0:
        stack.wait_until(lambda: int(page.evaluate("document.body.dataset.events || 0")) >= events, 120, "events")
    complaints = [text for text in page.complaints() if not (events > 0 and text.startswith("asked for " + url))]
    if complaints:
        sys.exit(f"{name}: the browser complains: {complaints}")
    save(page, out, name, shown)


def take_console(browser, address, out, name, chart=False, **settings):
    """Takes a picture of the console with an answer."""
    page = browser.open(f"http://{address}/console", **settings)
    page.evaluate(f"document.querySelector('#text').value = {json.dumps(CHART if chart else TABLE)};"
                  "document.querySelector('#text').dispatchEvent(new Event('input'));"
                  "document.querySelector('#text').blur(); document.querySelector('#run').click()")
    stack.wait_until(lambda: page.evaluate("document.querySelector('.rows tbody td') !== null"), 30, "the answer")
    if chart:
        page.evaluate("document.querySelector('#tab-chart').click()")
        stack.wait_until(lambda: page.evaluate("document.querySelector('.uplot canvas') !== null"), 30, "the chart")
    page.settle()
    save(page, out, name, settings["height"])


def take_consoles(browser, program, out):
    with tempfile.TemporaryDirectory(prefix="tickstack-pictures-") as folder:
        running = stack.Stack(pathlib.Path(folder), CONSOLE_CONFIG, (), program)
        try:
            running.wait_until_ready()
            state = lambda: running.ask("feed", ".feed.stats[]")["state"]  # noqa: E731
            stack.wait_until(lambda: state() == "done", 60, "the feed's end")
            for name, settings in CONSOLE.items():
                take_console(browser, f"localhost:{running.port('rdb')}", out, name, **settings)
        finally:
            running.destroy()


def save(page, out, name, shown):
    path = out / f"{name}.webp"
    for quality in (85, 70, 50, 30):
        page.screenshot(path, height=shown, form="webp", quality=quality)
        if path.stat().st_size <= BYTES_MAX:
            break
    else:
        sys.exit(f"{path}: {path.stat().st_size} bytes, more than {BYTES_MAX}")
    print(f"{path}: {path.stat().st_size} bytes")
    page.close()


def take_live(program, browser, out):
    with tempfile.TemporaryDirectory(prefix="tickstack-pictures-") as folder:
        running = stack.Stack(pathlib.Path(folder), STACK, (), program)
        try:
            running.wait_until_ready()
            time.sleep(LIVE_SECONDS)
            url = f"http://localhost:{running.port('monitor')}/"
            for name, settings in LIVE_PICTURES.items():
                take(browser, url, out, name, events=LIVE_EVENTS, **settings)
            running.stop()
        finally:
            running.destroy()


def take_report(program, browser, run, out):
    with tempfile.TemporaryDirectory(prefix="tickstack-pictures-") as folder:
        copy = pathlib.Path(folder) / "run"
        shutil.copytree(run, copy)
        subprocess.run([program, "report", str(copy)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for name, settings in REPORT_PICTURES.items():
            take(browser, (copy / "report.html").as_uri(), out, name, **settings)


def take_queries(program, browser, out):
    """Takes pictures of the page of a run over two small years in two directories."""
    with tempfile.TemporaryDirectory(prefix="tickstack-pictures-") as folder:
        root = pathlib.Path(folder)
        for name in ("years", "disk0", "disk1"):
            (root / name).mkdir()
        (root / "years/par.txt").write_text(f"{root}/disk0\n{root}/disk1\n", encoding="utf-8")
        for arguments in (["generate", "years", "--days", "522", "--quotes", "2000", "--symbols", "300"],
                          ["queries", "years", "--drop", "files", "--seconds", "0.5", "--results", "results"]):
            subprocess.run([program, "hdb", *arguments], cwd=root, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for name, settings in QUERIES_PICTURES.items():
            take(browser, (root / "results/queries.html").as_uri(), out, name, **settings)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", type=pathlib.Path, help="the run of a load test; without it, no pictures of a report")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "docs/pictures")
    arguments = parser.parse_args()
    if arguments.run is not None and (reason := why_not_a_real_run(arguments.run)):
        sys.exit(reason)
    arguments.out.mkdir(parents=True, exist_ok=True)
    with Browser() as browser:
        if arguments.run is not None:
            take_report(stack.PROGRAM, browser, arguments.run, arguments.out)
        take_queries(stack.PROGRAM, browser, arguments.out)
        take_live(stack.PROGRAM, browser, arguments.out)
        take_consoles(browser, stack.PROGRAM, arguments.out)


if __name__ == "__main__":
    main()

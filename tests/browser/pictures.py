#!/usr/bin/env python3
"""Takes the pictures of a load test's report that are in docs/pictures/. `make pictures` runs it.

    pictures.py --program build/release/cli/tickstack [--run DIR] [--out docs/pictures]
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from tests.support.chromium import Browser  # noqa: E402

BYTES_MAX = 150_000
PICTURES = {
    "report-light": {"width": 1100, "shown": 1900},
    "report-dark": {"width": 1100, "shown": 1900, "dark": True},
    "report-phone": {"width": 360, "shown": 1500, "scale": 2},
    "report-print": {"width": 720, "shown": 1018, "printed": True},
}


def take(browser, url, out, name, width, shown, **settings):
    page = browser.open(url, width=width, **settings)
    complaints = page.complaints()
    if complaints:
        sys.exit(f"{name}: the browser complains: {complaints}")
    path = out / f"{name}.webp"
    for quality in (85, 70, 50, 30):
        page.screenshot(path, height=shown, form="webp", quality=quality)
        if path.stat().st_size <= BYTES_MAX:
            break
    else:
        sys.exit(f"{path}: {path.stat().st_size} bytes, more than {BYTES_MAX}")
    print(f"{path}: {path.stat().st_size} bytes")
    page.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--run", type=pathlib.Path, default=ROOT / "tests/data/loadtest_run")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "docs/pictures")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tickstack-pictures-") as folder, Browser() as browser:
        run = pathlib.Path(folder) / "run"
        shutil.copytree(arguments.run, run)
        subprocess.run([arguments.program, "report", str(run)], check=True, stdout=subprocess.DEVNULL)
        for name, settings in PICTURES.items():
            take(browser, (run / "report.html").as_uri(), arguments.out, name, **settings)


if __name__ == "__main__":
    main()

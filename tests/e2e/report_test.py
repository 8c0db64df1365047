#!/usr/bin/env python3
"""`tickstack report` and `tickstack compare` from the command line, on runs that are generated here.
tests/browser/report_test.py tests the page's appearance in a browser."""

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from tests.support import stack  # noqa: E402


class ReportTest(stack.StackTest):
    def make_run(self, name, *flags):
        subprocess.run([sys.executable, str(ROOT / "tests/data/make_loadtest_run.py"), str(self.folder / name), *flags],
                       check=True)
        return str(self.folder / name)

    def test_the_run_in_the_test_data_is_what_its_script_makes(self):
        made = pathlib.Path(self.make_run("again"))
        for path in (ROOT / "tests/data/loadtest_run").iterdir():
            self.assertEqual(path.read_bytes(), (made / path.name).read_bytes(), path.name)

    def test_a_report_is_made_again(self):
        run = self.make_run("run")
        for _ in range(2):
            done = self.run_program("report", run)
            self.assertEqual((0, f"{run}/report.html\n"), (done.returncode, done.stdout), done.stderr)
        page = (self.folder / "run/report.html").read_text(encoding="utf-8")
        self.assertIn("march2020", page)
        self.assertLess(len(page), 1_000_000)

    def test_ten_minutes_of_the_papers_matrix_stay_below_1_mb(self):
        run = self.make_run("long", "--seconds", "600", "--rdbs")
        self.assertEqual(0, self.run_program("report", run).returncode)
        self.assertLess((self.folder / "long/report.html").stat().st_size, 1_000_000)

    def test_what_is_wrong_is_said(self):
        done = self.run_program("report", str(self.folder / "none"))
        self.assertEqual(1, done.returncode)
        self.assertIn("none/summary.json", done.stderr)
        run = self.make_run("run")
        text = (self.folder / "run/samples.csv").read_text(encoding="utf-8")
        (self.folder / "run/samples.csv").write_text(text.replace("dram-2,rdb-1,0.600", "dram-2,rdb-1,soon"), encoding="utf-8")
        done = self.run_program("report", run)
        self.assertEqual(1, done.returncode)
        self.assertRegex(done.stderr, r'samples.csv: line \d+: time_s: found "soon", expected a number')
        self.assertFalse((self.folder / "run/report.html").exists())

    def test_a_run_that_is_slower_is_found_and_one_alike_is_not(self):
        first = self.make_run("first", "--seconds", "120")
        alike = self.make_run("alike", "--seconds", "120", "--seed", "2")
        slower = self.make_run("slower", "--seconds", "120", "--seed", "3", "--slower", "1.6")
        verdict = json.loads(self.run_program("compare", "--json", first, alike).stdout)
        self.assertEqual(0, verdict["differences"], verdict)
        self.assertGreater(verdict["judged"], 20)
        self.assertIn("seed: 1 against 2", verdict["not_alike"])
        verdict = json.loads(self.run_program("compare", "--json", first, slower).stdout)
        more = {(f["quantity"], f["statistic"]) for s in verdict["stacks"] for f in s["figures"] if f["verdict"] == "more"}
        self.assertIn(("asof", "p50_ms"), more)
        self.assertIn(("query", "p50_ms"), more)
        done = self.run_program("compare", first, slower)
        self.assertEqual(0, done.returncode)
        self.assertIn("SLOWER", done.stdout)
        self.assertNotIn("FASTER", done.stdout)

    def test_answers_to_clients_that_are_slower_are_found(self):
        first = self.make_run("first", "--seconds", "120", "--clients")
        alike = self.make_run("alike", "--seconds", "120", "--clients", "--seed", "2")
        slower = self.make_run("slower", "--seconds", "120", "--clients", "--seed", "3", "--slower", "1.6")
        for other, found in ((alike, set()), (slower, {"analysts/top_trades", "dashboards/last_price"})):
            compared = json.loads(self.run_program("compare", "--json", first, other).stdout)
            differ = {f["quantity"] for s in compared["stacks"] for f in s["figures"]
                      if f["verdict"] == "more" and f["statistic"] == "p50_ms" and "/" in f["quantity"]}
            self.assertEqual(found, differ & {"analysts/top_trades", "dashboards/last_price"})

    def test_one_run_is_wrong_usage(self):
        self.assertEqual(2, self.run_program("compare", str(self.folder)).returncode)


if __name__ == "__main__":
    stack.main()

#!/usr/bin/env python3
"""Load tests: equal rows everywhere; what remains when a stack dies or at Ctrl-C; wrong usage."""

import csv
import json
import os
import pathlib
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kdb_ipc, stack  # noqa: E402

SMALL = ["--prestress-quotes", "20000", "--symbols", "200", "--query-ms", "40"]


class LoadTest(stack.StackTest):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "out"
        self.tier = self.folder / "tier"
        self.tier.mkdir()

    def run_load(self, *arguments, out=None, rate=5500):
        done = self.run_program("loadtest", *SMALL, "--rate", str(rate), "--out", str(out or self.out), *arguments)
        return done, json.loads((out or self.out).joinpath("summary.json").read_text())

    def start_load(self, *arguments):
        """Starts a run and returns it with the pids of its processes once its stacks are under load."""
        running = subprocess.Popen([stack.PROGRAM, "loadtest", *SMALL, "--rate", "5500", "--out", str(self.out), *arguments],
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(running.kill)
        stacks = {}

        def under_load():
            logs = list(self.out.glob("tickstack-loadtest-*/*/data/tplog/*[0-9]"))
            stacks.update({log.parents[2].name: log.parents[2] for log in logs if log.stat().st_size > 100_000})
            return len(stacks) == 2 or running.poll() is not None

        # The monitors begin to count before the feeds start.
        def measured():
            for folder in stacks.values():
                monitors = [p for p in json.loads((folder / "ready.json").read_text())["processes"] if p["role"] == "monitor"]
                for monitor in monitors:
                    with kdb_ipc.Connection(monitor["port"]) as connection:
                        if connection.call(".monitor.stats[]")["samples"] == 0:
                            return False
            return True

        stack.wait_until(under_load, what="load")
        self.assertIsNone(running.poll())
        stack.wait_until(measured, what="samples")
        pids = {name: {p["name"]: p["pid"] for p in json.loads((folder / "ready.json").read_text())["processes"]}
                for name, folder in stacks.items()}
        return running, pids

    def assert_nothing_is_left(self, pids=None):
        self.assertEqual([], [path.name for path in self.tier.iterdir()])
        self.assertEqual([], list(self.out.glob("tickstack-loadtest-*")))
        for of_stack in (pids or {}).values():
            for name, pid in of_stack.items():
                self.assertFalse(stack.is_alive(pid), name)

    def test_the_same_seed_gives_the_same_rows_on_every_stack_and_in_every_run(self):
        done, summary = self.run_load("--seconds", "2", "--stack", "dram", "--stack", f"filesystem:{self.tier}:2")
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assert_nothing_is_left()
        self.assertEqual(("ok", 1, 1), (summary["outcome"], summary["format"], len(summary["tests"])))
        stacks = summary["tests"][0]["stacks"]
        self.assertEqual(["dram-1", "filesystem-1"], [s["name"] for s in stacks])
        self.assertEqual([1, 2], [s["rdbs"] for s in stacks])
        for of_stack in stacks:
            for table, rows in (("quote", 10_000), ("trade", 1_000)):
                counts = of_stack["rows"][table]
                self.assertEqual([rows] * 3, [counts[k] for k in ("offered", "logged", "captured")])
                self.assertRegex(counts["checksum"], "^[0-9a-f]{16}$")
            for metric in ("trade_lag", "quote_lag", "trade_bar_lag", "quote_bar_lag", "asof", "query"):
                self.assertGreater(of_stack["metrics"][metric]["whole"]["count"], 5, metric)
            rdb = of_stack["processes"]["rdb-1"]
            self.assertGreater(rdb["rss_max"], 1_000_000)
            # Sums of pages are rounded to KiB, each separately.
            self.assertAlmostEqual(rdb["pss_max"], rdb["pss_anonymous"] + rdb["pss_file"] + rdb["pss_shared"], delta=8192)
        self.assertEqual(stacks[0]["rows"], stacks[1]["rows"])
        self.assertEqual(0, stacks[1]["tiers"]["dram"]["used"])
        self.assertGreater(stacks[1]["tiers"]["second"]["used"], 2 * 20_000 * 46)

        with (self.out / "samples.csv").open() as file:
            samples = list(csv.DictReader(file))
        self.assertEqual({"rdb-1", "rdb-2"}, {s["rdb"] for s in samples if s["stack"] == "filesystem-1"})
        self.assertEqual("11000", max((s["rows_captured"] for s in samples), key=lambda n: int(n or 0)))
        with (self.out / "summary.csv").open() as file:
            self.assertEqual(["dram-1", "filesystem-1"], [row["stack"] for row in csv.DictReader(file)])
        self.assertIn("<html", (self.out / "report.html").read_text())
        environment = json.loads((self.out / "environment.json").read_text())
        self.assertEqual([str(self.tier)], [f["path"] for f in environment["filesystems"]])
        self.assertIn("tickerplant up", (self.out / "logs/50-40/dram-1/tickerplant.log").read_text())

        again = self.folder / "again"
        done, second = self.run_load("--seconds", "1", "--stack", f"simulate:optane-dc:{self.tier}:2", out=again,
                                     rate=11000)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assert_nothing_is_left()
        simulated = second["tests"][0]["stacks"][0]
        self.assertEqual(stacks[0]["rows"], simulated["rows"])
        self.assertEqual(("sim-optane-dc-1", True), (simulated["name"], simulated["simulated"]))
        self.assertEqual(("simulate", "optane-dc"), tuple(simulated["tiers"]["second"][k] for k in ("kind", "model")))
        self.assertEqual([False, False], [s["simulated"] for s in stacks])
        self.assertEqual(["optane-dc"], [medium["model"] for medium in json.loads(
            (again / "environment.json").read_text())["simulated"]])
        for text in (done.stdout, (again / "report.html").read_text()):
            self.assertIn("SIMULATED", text)
        done, other = self.run_load("--seconds", "2", "--seed", "2", "--stack", "dram", out=again)
        self.assertNotEqual(stacks[0]["rows"]["quote"]["checksum"],
                            other["tests"][0]["stacks"][0]["rows"]["quote"]["checksum"])

    def test_clients_ask_in_closed_and_open_loops_and_a_wrong_question_fails_the_run(self):
        queries = self.folder / "desk.toml"
        client = '[[client]]\nname = "{}"\nqueries = ["{}"]\n{}\n'
        query = "[[query]]\nname = '{}'\ntext = '{}'\n"
        queries.write_text(
            client.format("screens", "last", 'mode = "open"\nrate_per_s = 100\ncount = 3')
            + client.format("report", "top", "think_ms = 5")
            + query.format("last", "exec last price from trade where sym=`{symbol}")
            + query.format("top", "select[5;>size] from trade") + 'check = "not_empty"\n')
        done, summary = self.run_load("--seconds", "2", "--stack", f"persistent:{self.tier}", "--queries", str(queries))
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assert_nothing_is_left()
        self.assertIn("screens answers/min", done.stdout)
        self.assertEqual("desk", summary["query_set"])
        of_stack = summary["tests"][0]["stacks"][0]
        for metric in ("trade_bar_lag", "quote_bar_lag"):  # Bars are in DRAM beside a persistent tier.
            self.assertGreater(of_stack["metrics"][metric]["whole"]["count"], 5, metric)
        self.assertEqual("open", of_stack["clients"]["screens"]["mode"])
        last, top = of_stack["queries"]["screens"]["last"], of_stack["queries"]["report"]["top"]
        # 200 were due, within random variation, and more until every row was captured.
        self.assertGreater(last["whole"]["count"], 140)
        self.assertGreater(top["whole"]["count"], 20)
        for found in (last, top):
            self.assertEqual((0, 0), (found["errors"], found["unanswered"]))
            self.assertGreater(found["whole"]["p50_ms"], 0)
        with (self.out / "queries.csv").open() as file:
            slices = list(csv.DictReader(file))
        self.assertEqual({("screens", "last"), ("report", "top")}, {(s["client"], s["query"]) for s in slices})
        self.assertEqual(last["whole"]["count"], sum(int(s["count"]) for s in slices if s["query"] == "last"))
        with (self.out / "summary.csv").open() as file:
            self.assertEqual("0", next(csv.DictReader(file))["client_errors"])
        self.assertEqual(queries.read_text(), (self.out / "queries.toml").read_text())
        self.assertIn("Answers to screens", (self.out / "report.html").read_text())

        queries.write_text(client.format("report", "wrong", "think_ms = 50") + query.format("wrong", "select from nothing"))
        done, summary = self.run_load("--seconds", "1", "--stack", "dram", "--queries", str(queries))
        self.assertEqual(1, done.returncode, done.stdout)
        self.assertRegex(summary["reason"], r"client report, query wrong: \d+ of \d+ failed, the first: .*nothing")
        self.assert_nothing_is_left()

    def test_a_stack_whose_rdb_is_killed_fails_the_run_by_name(self):
        running, pids = self.start_load("--seconds", "60", "--stack", "dram", "--stack", f"filesystem:{self.tier}")
        os.kill(pids["filesystem-1"]["rdb-1"], signal.SIGKILL)
        output, _ = running.communicate(timeout=60)
        self.assertEqual(1, running.returncode, output)
        self.assertIn("filesystem-1: its `tickstack up` exited during the test", output)
        self.assertIn("rdb-1 died: signal=SIGKILL", output)
        self.assert_nothing_is_left(pids)
        summary = json.loads((self.out / "summary.json").read_text())
        self.assertEqual("failed", summary["outcome"])
        self.assertIn("rdb-1 died: signal=SIGKILL", summary["reason"])
        outcomes = {s["name"]: s["reason"] for s in summary["tests"][0]["stacks"]}
        self.assertEqual("stopped because another stack failed", outcomes["dram-1"])
        self.assertIn("rdb-1 died", outcomes["filesystem-1"])

    def test_ctrl_c_stops_in_order_and_keeps_what_was_measured(self):
        running, pids = self.start_load("--seconds", "60", "--stack", "dram", "--stack", f"persistent:{self.tier}")
        running.send_signal(signal.SIGINT)
        output, _ = running.communicate(timeout=60)
        self.assertEqual(1, running.returncode, output)
        self.assert_nothing_is_left(pids)
        summary = json.loads((self.out / "summary.json").read_text())
        self.assertIn("interrupted", summary["reason"])
        for of_stack in summary["tests"][0]["stacks"]:
            self.assertGreater(of_stack["metrics"]["query"]["whole"]["count"], 0)

    def test_wrong_usage_exits_2_and_says_what(self):
        profile = self.folder / "wrong.toml"
        profile.write_text("seconds = 5\nspeed = 2\n")
        for arguments, said in ((["--stack", "optane"], "stack optane: expected dram,"),
                                (["--stack", "filesystem:/no/such"], "/no/such"),
                                (["--matrix", "paper-test3"], "expected paper-test1 or paper-test2"),
                                (["--matrix", "paper-test1", "--stack", "dram"], "no --stack"),
                                (["busy"], "expected march2020,"),
                                ([str(profile)], "wrong.toml:2:1: speed: unknown key"),
                                (["--queries", "light"], "expected monitor, paper, heavy,"),
                                (["--prestress-quotes", "4000000000"], "has room for")):
            with self.subTest(arguments=arguments):
                done = self.run_program("loadtest", "--out", str(self.out), "--seconds", "1", *arguments)
                self.assertEqual(2, done.returncode, done.stderr)
                self.assertIn(said, done.stderr)
                self.assert_nothing_is_left()


if __name__ == "__main__":
    stack.main()

#!/usr/bin/env python3
"""The command line: exit codes, help, errors, output formats, and a stack that leaves nothing behind."""

import csv
import io
import json
import os
import pathlib
import re
import signal
import socket
import sys
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kdb_ipc, lean_archives, stack  # noqa: E402
from tests.support.kdb_ipc import Typed  # noqa: E402

DATE = "2020.03.09"
T = lean_archives.day_start_ns(DATE) + 16 * 3600 * 1_000_000_000

CONFIG = """
[tickerplant]
batch_ms = 5
[[rdb]]
[feed]
rate = 2000
seconds = 1
[monitor]
query_ms = 50
progress_s = 0
"""
PLAIN = "[tickerplant]\nbatch_ms = 5\n[[rdb]]\n"


class CommandLineTest(stack.StackTest):
    def test_help_is_everywhere_and_exits_0(self):
        for command in ([], ["up"], ["process"], ["demo"], ["loadtest"], ["tickerplant"], ["rdb"], ["feed"], ["monitor"], ["query"], ["tiers"], ["check"], ["init"], ["top"], ["backup"],
                        ["restore"],
                        ["log"], ["log", "dump"], ["log", "check"], ["log", "repair"], ["hdb"], ["hdb", "check"],
                        ["hdb", "generate"], ["hdb", "merge"], ["hdb", "migrate"], ["hdb", "migrate", "add"],
                        ["hdb", "balance"], ["hdb", "bench"]):
            with self.subTest(command=command):
                done = self.run_program(*command, "--help")
                self.assertEqual(0, done.returncode)
                self.assertIn("--help", done.stdout)
                # The largest numbers of 63 and 64 bits mean something else to a reader, such as "no limit".
                self.assertNotRegex(done.stdout, "18446744073709551615|9223372036854775807")
        self.assertEqual(self.run_program("--help").stdout, self.run_program("help").stdout)
        self.assertEqual(self.run_program("log", "dump", "--help").stdout, self.run_program("help", "log", "dump").stdout)

    def test_the_version_names_what_the_program_reads_and_writes(self):
        done = self.run_program("--version")
        self.assertEqual(0, done.returncode)
        self.assertRegex(done.stdout, r"^tickstack \d+\.\d+\.\d+\S*\n")
        known = json.loads(self.run_program("--version", "--json").stdout)
        self.assertEqual(done.stdout.split()[1], known["version"])
        self.assertIn(f"protocol         {known['protocol']}\n", done.stdout)
        running = self.start_stack(PLAIN, "--date", DATE)
        self.assertEqual(running.ask("tickerplant", ".u.protocol"), known["protocol"])
        with running.connect("tickerplant") as feed:
            feed.call([b".u.upd", "trade", [Typed("p", [T]), ["A"], [1.5], Typed("i", [100]), [True], b"@", b"N"]])
        self.assertEqual(0, running.stop(), running.log_text())
        log = running.data / "tplog" / f"sym{DATE}"
        index = pathlib.Path(f"{log}.idx").read_bytes()
        self.assertEqual(int.from_bytes(index[8:12], "little"), known["formats"]["log_index"])
        self.assertEqual(f"tickstack log state {known['formats']['log_state']}",
                         pathlib.Path(f"{log}.state").read_text().splitlines()[0])

    def test_a_process_runs_by_its_name(self):
        config = self.folder / "stack.toml"
        config.write_text("[tickerplant]\n[[rdb]]\nname = \"first\"\n[[rdb]]\nname = \"second\"\nport = 5099\n")
        port, process = self.start_process("process", "second", "--config", str(config))
        with kdb_ipc.connect_within(port) as rdb:
            self.assertEqual(2, rdb.call("1+1"))
        self.assertIn(" second rdb up port=", process.log_path.read_text())
        for command, said in ((["third", "--config", str(config)], "no process named third in the configuration, which has "
                               "tickerplant, first, second"), (["second"], "--config is required"), ([], "name")):
            done = self.run_program("process", *command)
            self.assertEqual(2, done.returncode)
            self.assertIn(said, done.stderr)
        self.assertIn("given its name", self.run_program("process", "--help").stdout)

    def test_wrong_usage_exits_2_and_says_what(self):
        for command, said in (([], "subcommand"), (["nothing"], "nothing"), (["up"], "config"),
                              (["rbd"], "no subcommand rbd, did you mean rdb?"), (["tpo"], "did you mean top?"),
                              (["eod"], "--config STACK.toml, or --rdb HOST:PORT"),
                              (["rdb", "--prot", "1"], "unknown flag --prot, did you mean --port?"),
                              (["up", "stack.toml", "--secnds=1"], "unknown flag --secnds, did you mean --seconds?"),
                              (["hdb", "check", "db", "--jsn"], "unknown flag --jsn, did you mean --json?"),
                              (["hdb", "chek", "x"], "no subcommand chek, did you mean check?\n"),
                              (["hdb", "chek", "--jsn", "x"], "no subcommand chek, did you mean check?\n"),
                              (["log", "dmp", "x"], "no subcommand dmp, did you mean dump?\n"),
                              (["hdb", "migrate", "db", "--table", "t", "ad", "x"], "no subcommand ad, did you mean add?"),
                              (["user", "paswd", "x"], "did you mean passwd?"), (["hdb", "zzzzzz"], "no subcommand zzzzzz\n"),
                              (["hdb", "--prot", "1"], "unknown flag --prot, did you mean --port?\n"),
                              (["hdb", "--prot", "1", "check", "db"], "unknown flag --prot, did you mean --port?\n"),
                              (["up", "stack.toml", "--seconds"], "--seconds: expected a number, 0 or more, found nothing\n"),
                              (["up", "stack.toml", "--data"], "--data: expected a value, found nothing\n"),
                              (["rdb", "--port"], "--port: expected a whole number from 0 to 65535, found nothing\n"),
                              (["hdb", "bench", "x", "--threads"], "--threads: expected a whole number from 1 to 1024, found "
                               "nothing\n"),
                              (["up", "stack.toml", "again"], "unexpected argument again"),
                              (["up", "stack.toml", "--seconds", "abc"],
                               "--seconds: expected a number, 0 or more, found abc\n"),
                              (["up", "stack.toml", "--seconds", "-1"],
                               "--seconds: expected a number, 0 or more, found -1\n"),
                              (["rdb", "--port", "70000"], "--port: expected a whole number from 0 to 65535, found 70000\n"),
                              (["rdb", "--port", "x"], "--port: expected a whole number from 0 to 65535, found x\n"),
                              (["query"], "address is required"), (["up", "/no/file.toml"], "/no/file.toml"),
                              (["feed", "--symbols", "few"], "few"), (["log", "check"], "file"),
                              (["tickerplant", "--date", "tomorrow"], "tomorrow"),
                              (["tickerplant", "--fsync", "often"], "fsync")):
            with self.subTest(command=command):
                done = self.run_program(*command)
                self.assertEqual(2, done.returncode, done.stderr)
                self.assertIn(said, done.stderr)

    def test_every_flag_of_a_number_says_what_it_takes(self):
        """All subcommands but those that are the same for several processes."""
        def subcommands(*words):
            said = self.run_program(*words, "--help").stdout
            _, _, listed = said.partition("Subcommands:\n")
            found = [line.split()[0] for line in listed.splitlines() if line.startswith("  ") and not line.startswith("   ")]
            if not found:
                yield words, said
            for name in found:
                yield from subcommands(*words, name)
        numbers = 0
        for command, said in subcommands():
            flags = re.findall(r"^ +(--[\w-]+) (?:FLOAT|INT|UINT)\b", said, re.MULTILINE)
            # One flag of each process: the others have the same ranges in other subcommands.
            for flag in flags:
                numbers += 1
                if command[0] in ("chained", "gateway", "bridge", "hdb", "aggengine") and len(command) == 1 and flag != "--port":
                    continue
                with self.subTest(command=command, flag=flag):
                    done = self.run_program(*command, flag, "abc")
                    self.assertEqual(2, done.returncode, done.stderr)
                    first = done.stderr.splitlines()[0]
                    self.assertRegex(first, rf"^{flag}: expected a (whole )?number.*, found abc$")
                    self.assertLess(len(first), 120)
        self.assertGreater(numbers, 50)

    def test_a_file_that_is_no_configuration_is_named(self):
        """Each subcommand that takes a stack's file."""
        missing = str(self.folder / "nosuch.toml")
        for command in (["up"], ["check"], ["tiers"], ["top"], ["eod", "--config"], ["rdb", "--config"], ["shard", "of", "IBM", "--config"],
                        ["backup"]):
            with self.subTest(command=command):
                more = [str(self.folder / "to")] if command == ["backup"] else []
                done = self.run_program(*command, missing, *more)
                self.assertNotEqual(0, done.returncode)
                self.assertIn(f"{missing}: no such file; `tickstack init {missing}` writes one", done.stderr)
                done = self.run_program(*command, str(self.folder), *more)
                self.assertNotEqual(0, done.returncode)
                self.assertIn(f"{self.folder}: a directory, expected a file", done.stderr)

    def test_a_wrong_configuration_names_its_place(self):
        path = self.folder / "wrong.toml"
        path.write_text("[tickerplant]\nprot = 5010\n")
        for command in (["up", str(path)], ["tickerplant", "--config", str(path)]):
            done = self.run_program(*command)
            self.assertEqual(2, done.returncode)
            self.assertIn(f"{path}:2:1: tickerplant.prot: unknown key, did you mean port?", done.stderr)
        path.write_text("[tickerplant]\n")
        done = self.run_program("rdb", "--config", str(path))
        self.assertEqual(2, done.returncode)
        self.assertIn("no [rdb]", done.stderr)

    def test_check_shows_every_error_or_what_a_stack_would_use(self):
        path = self.folder / "stack.toml"
        path.write_text("[tickerplant]\nprot = 5010\nbatch_ms = \"x\"\n[[rdb]]\nport = -1\n")
        done = self.run_program("check", str(path))
        self.assertEqual((2, ""), (done.returncode, done.stdout))
        self.assertEqual(["2:1: tickerplant.prot", "3:12: tickerplant.batch_ms", "5:8: rdb[0].port"],
                         [":".join(line.removeprefix(f"{path}:").split(":")[:3]) for line in done.stderr.splitlines()])
        done = self.run_program("check", str(path), "--json")
        self.assertEqual((False, 3), ((found := json.loads(done.stdout))["valid"], len(found["errors"])))

        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            path.write_text(f"[tickerplant]\nport = {port}\n[[rdb]]\nport = 0\n"
                            '[rdb.tier.dram]\nsize = "64MiB"\n[hdb]\nport = 0\n')
            done = self.run_program("check", str(path), "--data", str(self.folder / "data"))
        self.assertEqual(0, done.returncode, done.stderr)
        for said in (f"127.0.0.1:{port} (now: ", "rdb rdb: tier dram, dram, 64.0 MiB", "1,000,000 rows of each table",
                     f"{self.folder / 'data'}, "):
            self.assertIn(said, done.stdout)
        self.assertFalse((self.folder / "data").exists())
        found = json.loads(self.run_program("check", str(path), "--data", str(self.folder / "data"), "--json").stdout)
        trade = next(table for table in found["tables"] if table["table"] == "trade")
        # time, sym, price, size, stop, cond, ex: a symbol takes 5 bytes in a message and 8 in a partition.
        self.assertEqual((8 + 5 + 8 + 4 + 1 + 1 + 1) * 1_000_000, trade["log_bytes"])
        self.assertEqual((8 + 8 + 8 + 4 + 1 + 1 + 1) * 1_000_000, trade["partition_bytes"])

        path.write_text("[tickerplant]\nport = 0\n[[rdb]]\nport = 0\n[rdb.tier.t]\nkind = 'filesystem'\npath = '/dev/shm'\n"
                        "size = '32MiB'\noverflow = 'dram'\noverflow_size = '64MiB'\n[rdb.placement]\ndefault = 't'\n")
        done = self.run_program("check", str(path), "--data", str(self.folder / "data"))
        self.assertIn("rdb rdb: tier t, filesystem in /dev/shm, 32.0 MiB, then 64.0 MiB of DRAM\n", done.stdout)
        self.assertIn(": no errors\n", done.stdout)
        path.write_text("[tickerplant]\nport = 5010\n[[rdb]]\nport = 5010\n")
        done = self.run_program("check", str(path), "--data", str(self.folder / "data"))
        self.assertEqual(1, done.returncode)
        self.assertNotIn("no errors", done.stdout)
        self.assertIn(f"{path}: its stack would not start here\n", done.stdout)
        self.assertIn("rdb: port 5010 is also that of tickerplant", done.stderr)
        (self.folder / "file").touch()
        done = self.run_program("check", str(path), "--data", str(self.folder / "file" / "data"))
        self.assertEqual(1, done.returncode)
        self.assertIn("is not a directory", done.stderr)

    def test_check_looks_at_tiers(self):
        """A tier that `up` could not open is why its stack would not start, before it is started."""
        path = self.folder / "stack.toml"
        file = self.folder / "file"
        file.touch()
        free = os.statvfs(self.folder)
        free = free.f_bavail * free.f_frsize
        half = free // 2 + (64 << 20)

        def tier(name, kind, where, size):
            return f'[tier.{name}]\nkind = "{kind}"\npath = "{where}"\nsize = "{size}"\n'
        one = "[tickerplant]\nport = 0\n[[rdb]]\nport = 0\n[placement]\ndefault = 't'\n"
        both = one.replace("default = 't'", "default = 't'\n'trade.price' = 'u'")
        two = '[[rdb]]\nport = 0\nname = "second"\n'
        for text, said in ((one + tier("t", "filesystem", self.folder / "nothing", "16MiB"), "No such file or directory"),
                           (one + tier("t", "persistent", self.folder / "nothing", "16MiB"), "No such file or directory"),
                           (one + tier("t", "filesystem", file, "16MiB"), str(file)),
                           (one + tier("t", "filesystem", self.folder, free * 2), f"{self.folder} has "),
                           (one + tier("t", "persistent", self.folder, free * 2), f"{self.folder} has "),
                           (one + two + tier("t", "filesystem", self.folder, half), "together "),
                           (both + tier("t", "filesystem", self.folder, half) + tier("u", "filesystem", self.folder, half),
                            "tiers t of rdb rdb, u of rdb rdb: together ")):
            with self.subTest(text=text):
                path.write_text(text)
                done = self.run_program("check", str(path), "--data", str(self.folder / "data"))
                self.assertEqual(1, done.returncode, done.stderr + done.stdout)
                self.assertIn("would not start: ", done.stderr)
                self.assertIn(said, done.stderr)
                self.assertNotIn("no errors", done.stdout)
                found = json.loads(self.run_program("check", str(path), "--json").stdout)
                self.assertEqual((True, False), (found["valid"], found["would_start"]))
        path.write_text(one + tier("t", "persistent", self.folder, "16MiB"))
        done = self.run_program("check", str(path), "--data", str(self.folder / "data"))
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertIn(": no errors\n", done.stdout)
        self.assertEqual(["file", "stack.toml"], sorted(os.listdir(self.folder)))

    def test_failure_exits_1(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = str(taken.getsockname()[1])
            config = self.folder / "taken.toml"
            config.write_text(f"[tickerplant]\nport = {port}\n")
            done = self.run_program("up", str(config), "--data", str(self.folder / "data"))
            self.assertEqual(1, done.returncode)
            self.assertIn(f"127.0.0.1:{port}", done.stderr)
            done = self.run_program("tickerplant", "--port", port, "--data", str(self.folder / "data"))
            self.assertEqual(1, done.returncode, done.stderr)
        self.assertEqual(1, self.run_program("query", f":{port}", "1+1").returncode)
        done = self.run_program("feed", "--source", "lean")
        self.assertEqual(1, done.returncode)
        self.assertIn("--date is missing", done.stderr)
        self.assertEqual(1, self.run_program("log", "check", "/no/log").returncode)


class QueryTest(stack.StackTest):
    def setUp(self):
        super().setUp()
        self.stack = self.start_stack(PLAIN, "--date", DATE)
        with self.stack.connect("tickerplant") as feed:
            feed.call([b".u.upd", "trade", [Typed("p", [T, T + 1]), ["A", ""], [1.5, float("nan")],
                                            Typed("i", [100, None]), [True, False], b"@,", b"N\""]])
        stack.wait_until(lambda: self.stack.count("trade") == 2, 60, "two trades")

    def query(self, q, *flags):
        return self.run_program("query", f"127.0.0.1:{self.stack.port('rdb')}", q, *flags)

    def json(self, q):
        done = self.query(q, "--json")
        self.assertEqual(0, done.returncode, done.stderr)
        return json.loads(done.stdout)

    def test_json(self):
        self.assertEqual(2, self.json("count trade"))
        self.assertEqual([1.5, None], self.json("exec price from trade"))
        self.assertEqual("2020-03-09T16:00:00.000000001", self.json("exec last time from trade"))
        self.assertEqual({"quote", "trade"}, set(self.json("tables[]")))
        self.assertEqual(
            [{"time": "2020-03-09T16:00:00.000000000", "sym": "A", "price": 1.5, "size": 100,
              "stop": True, "cond": "@", "ex": "N"},
             {"time": "2020-03-09T16:00:00.000000001", "sym": None, "price": None, "size": None,
              "stop": False, "cond": ",", "ex": "\""}],
            self.json("select from trade"))

    def test_csv(self):
        done = self.query("select from trade", "--csv")
        rows = list(csv.reader(io.StringIO(done.stdout)))
        self.assertEqual(["time", "sym", "price", "size", "stop", "cond", "ex"], rows[0])
        self.assertEqual(["2020-03-09T16:00:00.000000001", "", "", "", "false", ",", "\""], rows[2])

    def test_text(self):
        done = self.query("select sym,price from trade")
        self.assertEqual("sym price\n---------\nA   1.5\n\n", done.stdout)
        self.assertEqual("2\n", self.query("count trade").stdout)

    def test_an_error_of_q_goes_to_stderr_and_exits_1(self):
        done = self.query("select nothing from trade", "--json")
        self.assertEqual((1, ""), (done.returncode, done.stdout))
        self.assertTrue(done.stderr.startswith("'"), done.stderr)

    def test_json_and_csv_exclude_each_other(self):
        self.assertEqual(2, self.query("1", "--json", "--csv").returncode)


class UpTest(stack.StackTest):
    def check_nothing_is_left(self, running):
        for pid in running.pids:
            stack.wait_until(lambda: not stack.is_alive(pid), 60, f"the end of {pid}")

    def test_either_signal_stops_in_order_and_exits_0(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number):
                running = self.start_stack(CONFIG, "--date", DATE, name=str(number))
                self.assertEqual(0, running.stop(number), running.log_text())
                self.check_nothing_is_left(running)
                self.assertFalse(running.ready_file.exists())
                ended = [line.rpartition("name=")[2] for line in running.log_text().splitlines()
                         if " ended name=" in line]
                self.assertEqual(["feed", "monitor", "tickerplant", "rdb"], ended)
                # A process whose tickerplant stopped first has lost nothing, and must not warn.
                after = running.log_text().partition(" ended name=feed")[2]
                self.assertNotRegex(after, r"(?m)^\S+ [WE] (rdb|tickerplant) ", after)

    # Goal: a person who starts the example sees no warning, and reads last where to look.
    def test_a_healthy_start_warns_of_nothing_and_ends_with_a_page(self):
        example = (stack.ROOT / "examples" / "stack.toml").read_text(encoding="utf-8")
        running = self.start_stack(example, "--date", DATE)
        stack.wait_until(lambda: running.count("quote") > 0, 60, "rows")
        log = running.log_text()
        self.assertEqual([], re.findall(r"(?m)^\S+ [WE] .*", log))
        of_up = re.findall(r"(?m)^\S+ I march .*", log)  # The example's name.
        port = running.port("rdb")
        self.assertIn(f" ready processes={len(running.pids)} page=http://127.0.0.1:{port}/", of_up[-1])
        self.assertEqual(0, running.stop(), running.log_text())

    def test_the_message_ready_names_a_page(self):
        running = self.start_stack(CONFIG, "--date", DATE)
        page = re.search(r" ready processes=\d+ page=(http://127\.0\.0\.1:(\d+)/)\n", running.log_text())
        self.assertEqual(running.port("rdb"), int(page[2]))
        with urllib.request.urlopen(page[1], timeout=20) as answer:
            self.assertIn(b"<html", answer.read())
        self.assertEqual(0, running.stop(), running.log_text())

    def test_files_can_be_read_by_whom_the_configuration_says(self):
        self.addCleanup(os.umask, os.umask(0o022))
        for readable_by, of_folder, of_file in (("", 0o700, 0o600), ('readable_by = "group"', 0o750, 0o640),
                                                ('readable_by = "everyone"', 0o755, 0o644)):
            with self.subTest(readable_by=readable_by):
                running = self.start_stack(f"[stack]\n{readable_by}\n{CONFIG}", "--date", DATE, name=f"{of_file:o}")
                self.assertEqual(0, running.stop(), running.log_text())
                created = [running.data, *running.data.rglob("*")]
                self.assertGreater(len(created), 6)
                for path in created:
                    self.assertEqual(of_folder if path.is_dir() else of_file, path.stat().st_mode & 0o777, path)

    def test_every_row_that_was_sent_is_logged_when_it_stops(self):
        running = self.start_stack(CONFIG, "--date", DATE)
        stack.wait_until(lambda: running.count("quote") > 500, 60, "some quotes")
        self.assertEqual(0, running.stop(), running.log_text())
        checked = self.run_program("log", "check", "--json", str(running.data / "tplog" / f"sym{DATE}"))
        rows = json.loads(checked.stdout)["rows"]
        down = [line for line in running.log_text().splitlines() if "feed down" in line]
        sent = {line.partition("table=")[2].split()[0]: int(line.rpartition("rows=")[2]) for line in down}
        self.assertEqual(sent, rows)

    def test_nothing_is_left_when_up_itself_is_killed(self):
        running = self.start_stack(CONFIG, "--date", DATE)
        running.process.kill()
        self.check_nothing_is_left(running)

    def test_it_goes_on_where_it_was_when_started_again(self):
        counts = []
        for _ in range(2):
            running = self.start_stack(CONFIG, "--date", DATE)
            stack.wait_until(lambda: running.ask("feed", ".feed.stats[]")["state"] == "done", 60, "the feed")
            stack.wait_until(lambda: running.count("quote") + running.count("trade") == 2000,
                             30, "2000 rows")
            counts.append((running.count("quote"), running.count("trade")))
            self.assertEqual(0, running.stop(), running.log_text())
        self.assertEqual(counts[0], counts[1])

    def test_a_child_that_died_comes_back_on_its_port(self):
        running = self.start_stack(CONFIG, "--date", DATE)
        port, pid = running.port("rdb"), running.pid("rdb")
        running.kill("rdb")
        self.assertEqual(port, running.port("rdb"))
        self.assertNotEqual(pid, running.pid("rdb"))
        with kdb_ipc.connect_within(port) as rdb:
            self.assertEqual(2, rdb.call("1+1"))
        self.assertEqual(0, running.stop(), running.log_text())

    def test_no_feed_seconds_and_log_files(self):
        running = self.start_stack(CONFIG, "--no-feed", "--seconds", "3")
        self.assertNotIn("feed", running.processes())
        self.assertEqual(0, running.process.wait(60), running.log_text())
        self.assertIn("tickerplant up", (running.data / "logs" / "tickerplant.log").read_text())

    def test_the_demo_agrees_and_leaves_its_results_only(self):
        environment = {**os.environ, "TMPDIR": str(self.folder)}
        done = self.run_program("demo", "--seconds", "2", "--rate", "5500", "--prestress-quotes", "1000", env=environment)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"quotes captured +10,000 +10,000 +x1.00")
        self.assertIn("10,000 of quote, 1,000 of trade: offered, logged and captured are equal", done.stdout)
        [results] = self.folder.glob("tickstack-demo-*")
        self.assertIn(str(results), done.stdout)
        self.assertEqual("ok", json.loads((results / "summary.json").read_text())["outcome"])
        self.assertEqual([], list(results.glob("tickstack-loadtest-*")))


if __name__ == "__main__":
    stack.main()

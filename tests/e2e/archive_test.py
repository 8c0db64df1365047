#!/usr/bin/env python3
"""Old partitions in an object store: a database of which most days are archived answers as before, says what came from
where, and survives a store that is lost, slow or wrong.

The store is tests/support/s3_server.py or, if TICKSTACK_S3_GATEWAY names its program, versitygw (`make test-s3`)."""

import datetime
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kdb_ipc, s3_server, stack  # noqa: E402

GATEWAY = os.environ.get("TICKSTACK_S3_GATEWAY", "")
DAYS = int(os.environ.get("TICKSTACK_ARCHIVE_DAYS", "20"))
ARCHIVED = DAYS * 9 // 10
QUOTES = int(os.environ.get("TICKSTACK_ARCHIVE_QUOTES", "30000"))
QUERIES = (
    "select n:count i, total:sum bsize, low:min bid by date from quote",
    "select vwap:size wavg price by date, sym from trade",
    "select count i by sym from quote where date within (first date; last date)",
    "select from trade where date=first date, sym=first sym",
    "exec max price from trade where size>100",
    "aj[`sym`time; select sym, time, price from trade where date=first date; "
    "select sym, time, bid, ask from quote where date=first date]",
    "select last bid by sym from quote where date=date 3, time within (min time; max time)",
)


class Gateway:
    """versitygw with a bucket that is a folder."""

    def __init__(self, folder):
        self.root = pathlib.Path(folder) / "gateway"
        self.bucket = self.root / s3_server.BUCKET
        self.bucket.mkdir(parents=True)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [GATEWAY, "--access", s3_server.ACCESS_KEY, "--secret", s3_server.SECRET_KEY, "--keep-alive", "--quiet",
             "--port", f"127.0.0.1:{self.port}", "posix", str(self.root)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def answers():
            try:
                with socket.create_connection(("127.0.0.1", self.port), 1):
                    return True
            except OSError:
                return False
        stack.wait_until(answers, 60, "the gateway")

    def stop(self):
        self.process.kill()
        self.process.wait()

    def keys(self):
        return sorted(str(path.relative_to(self.bucket)) for path in self.bucket.rglob("*") if path.is_file())


class Local(s3_server.ControlledServer):
    def keys(self):
        return self.control()["keys"]


class ArchiveTest(stack.StackTest):
    today = datetime.datetime.now(datetime.timezone.utc).date()

    @classmethod
    def setUpClass(cls):
        """Generates the database that each test copies: its files are synced one by one, which takes seconds."""
        super().setUpClass()
        folder = tempfile.mkdtemp(prefix="tickstack-test-")
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        cls.generated = pathlib.Path(folder) / "db"
        cls.generate(cls.generated, "--trades", str(QUOTES // 2))

    @classmethod
    def generate(cls, database, *flags):
        first = cls.today - datetime.timedelta(days=DAYS * 7 // 5 + 10)
        subprocess.run([stack.PROGRAM, "hdb", "generate", str(database), "--from", first.strftime("%Y.%m.%d"), "--days",
                        str(DAYS), "--quotes", str(QUOTES), "--symbols", "20", *flags], stdin=subprocess.DEVNULL,
                       capture_output=True, check=True, timeout=600)

    def setUp(self):
        super().setUp()
        self.database = self.folder / "db"
        shutil.copytree(self.generated, self.database)
        self.days = sorted(path.name for path in self.database.iterdir() if path.is_dir())
        self.assertEqual(DAYS, len(self.days))
        self.store = Gateway(self.folder) if GATEWAY else Local(self.folder)
        self.addCleanup(lambda: self.store.stop())
        self.credentials = self.folder / "credentials"
        self.credentials.write_text(f"[default]\naws_access_key_id = {s3_server.ACCESS_KEY}\n"
                                    f"aws_secret_access_key = {s3_server.SECRET_KEY}\n", encoding="utf-8")
        self.credentials.chmod(0o600)
        self.configure()

    def configure(self, cache="256MiB", timeout="2s", credentials=None):
        self.config = self.folder / "stack.toml"
        self.config.write_text(f"""
[hdb]
query_threads = 2
[hdb.tiers]
store = "{self.store.url}"
bucket = "{s3_server.BUCKET}"
prefix = "test"
credentials = "{credentials or self.credentials}"
timeout = "{timeout}"
cache = "{cache}"
""", encoding="utf-8")

    def archive(self, *flags, **options):
        # Days are only as old as the calendar says: of the last tenth, each is younger than the archived ones.
        oldest_kept = datetime.datetime.strptime(self.days[ARCHIVED], "%Y.%m.%d").date()
        return self.run_program("hdb", "archive", str(self.database), "--stack", str(self.config), "--older-than",
                                str((self.today - oldest_kept).days), *flags, **{"timeout": 600, **options})

    def recall(self, *days):
        dates = [flag for day in days for flag in ("--date", day)]
        return self.run_program("hdb", "recall", str(self.database), "--stack", str(self.config), *dates)

    def expect_archived(self):
        done = self.archive()
        self.assertEqual(0, done.returncode, done.stderr)

    def start_hdb(self, *flags):
        port, process = self.start_process("hdb", "--config", str(self.config), "--db", str(self.database), *flags)
        return process, lambda: kdb_ipc.connect_within(port)

    def answers(self, connect):
        with connect() as q:
            return [repr(q.call(query)) for query in QUERIES]  # A NaN differs from itself, its text does not.

    def stats(self, connect):
        with connect() as q:
            return q.call(".hdb.stats[]")

    def test_answers_stay_equal_and_say_what_came_from_where(self):
        _, connect = self.start_hdb()
        before = self.answers(connect)
        local = self.stats(connect)
        self.assertEqual(0, local["archive_store_bytes"])
        self.assertGreater(local["local_bytes"], 0)
        dry = self.archive("--dry-run", "--json")
        self.assertEqual(0, dry.returncode, dry.stderr)
        self.assertEqual([], self.store.keys())
        done = self.archive("--json")
        self.assertEqual(0, done.returncode, done.stderr)
        totals = json.loads(done.stdout)
        self.assertEqual(json.loads(dry.stdout)["bytes"], totals["bytes"])
        self.assertEqual(2 * ARCHIVED, totals["tables"])
        self.assertEqual(totals["files"], len(self.store.keys()))
        for number, day in enumerate(self.days):
            self.assertEqual(number < ARCHIVED, (self.database / day / "quote/.archived").exists(), day)
            self.assertEqual(number >= ARCHIVED, (self.database / day / "quote/bid").exists(), day)
        # The running hdb has the old files mapped; one that starts now has none of them.
        self.assertEqual(before, self.answers(connect))
        _, connect = self.start_hdb()
        self.assertEqual(before, self.answers(connect))
        first = self.stats(connect)
        self.assertGreater(first["archive_store_bytes"], 0)
        self.assertLessEqual(first["archive_store_bytes"], totals["bytes"])
        self.assertEqual(before, self.answers(connect))
        second = self.stats(connect)
        self.assertEqual(first["archive_store_bytes"], second["archive_store_bytes"])
        self.assertGreater(second["archive_cache_bytes"], first["archive_cache_bytes"])
        with connect() as q:
            self.assertEqual([], q.call(".hdb.problems[]"))
        check = self.run_program("hdb", "check", str(self.database), "--stack", str(self.config), "--strict")
        self.assertEqual(0, check.returncode, check.stdout + check.stderr)
        check = self.run_program("hdb", "check", str(self.database))
        self.assertEqual(0, check.returncode, check.stdout + check.stderr)
        self.assertEqual(2 * ARCHIVED, check.stdout.count("are archived in s3://history and were not read"))
        if not GATEWAY:
            self.assertEqual([], self.store.control()["refused"])

        back = self.recall(*self.days[:2])
        self.assertEqual(0, back.returncode, back.stderr)
        with connect() as q:
            q.call("\\l .")
        self.assertEqual(before, self.answers(connect))
        for day in self.days[:2]:
            self.assertIn(f"objects=s3://history/test/{day}/quote/", back.stderr)
            self.assertEqual([], [*(self.database / day).rglob(".arch*"), *(self.database / day).rglob(".rec*")])
        # The objects stay, and are used again.
        keys = self.store.keys()
        self.expect_archived()
        self.assertEqual(keys, self.store.keys())
        self.assertEqual(before, self.answers(connect))

    def test_compressed_columns(self):
        shutil.rmtree(self.database)
        self.generate(self.database, "--compression", "lz4")
        before = self.answers(self.start_hdb()[1])
        self.expect_archived()
        self.assertEqual(before, self.answers(self.start_hdb()[1]))
        check = self.run_program("hdb", "check", str(self.database), "--stack", str(self.config), "--strict")
        self.assertEqual(0, check.returncode, check.stdout + check.stderr)

    def test_a_backup_has_the_markers(self):
        self.expect_archived()
        data = self.folder / "data"
        data.mkdir()
        self.database = self.database.rename(data / "hdb")
        copied = self.run_program("backup", str(self.config), str(self.folder / "copy"), "--data", str(data))
        self.assertEqual(0, copied.returncode, copied.stdout + copied.stderr)
        before = self.answers(self.start_hdb()[1])
        restored = self.run_program("restore", str(self.folder / "copy"), str(self.folder / "back"))
        self.assertEqual(0, restored.returncode, restored.stderr)
        self.database = self.folder / "back/hdb"
        self.assertEqual(before, self.answers(self.start_hdb()[1]))

    def test_a_lost_store_costs_an_error_for_its_days_only(self):
        self.expect_archived()
        _, connect = self.start_hdb()
        recent = f"select count i by date from quote where date>={self.days[ARCHIVED]}"
        old = f"select sum bsize from quote where date={self.days[0]}"
        with connect() as q:
            expected = q.call(recent)
            self.store.stop()
            self.assertEqual(expected, q.call(recent))
            with self.assertRaises(kdb_ipc.QError) as raised:
                q.call(old)
            self.assertIn(f"{self.days[0]}/quote", raised.exception.args[0])
            self.assertIn("s3://history/test/", raised.exception.args[0])
            q.call("\\l .")
            self.assertEqual(expected, q.call(recent))
            if GATEWAY:
                self.store.start()
                self.assertEqual(1, len(q.call(old)["bsize"]))

    def test_the_store_dies_during_queries(self):
        self.expect_archived()
        self.configure(cache="8MiB")  # Each query fetches anew.
        _, connect = self.start_hdb()
        expected = None
        outcomes = {"answers": 0, "errors": 0}
        stop = threading.Event()
        query = f"select sum bsize, max bid from quote where date={self.days[1]}"
        with connect() as q:
            expected = q.call(query)

        def ask():
            with connect() as q:
                number = 0
                while not stop.is_set():
                    number += 1
                    day = self.days[number % ARCHIVED]
                    try:
                        q.call(f"select sum asize, max ask from quote where date={day}")
                        found = q.call(query)
                        self.assertEqual(expected, found)
                        outcomes["answers"] += 1
                    except kdb_ipc.QError as error:
                        self.assertIn("s3://history", error.args[0])
                        outcomes["errors"] += 1
        threads = [threading.Thread(target=ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        stack.wait_until(lambda: outcomes["answers"] >= 4, 60, "answers")
        self.store.stop()
        stack.wait_until(lambda: outcomes["errors"] >= 4, 60, "errors")
        if GATEWAY:
            self.store.start()
            answers = outcomes["answers"]
            stack.wait_until(lambda: outcomes["answers"] >= answers + 4, 60, "answers again")
        stop.set()
        for thread in threads:
            thread.join()

    def test_a_store_that_hangs_delays_its_days_only(self):
        self.expect_archived()
        self.configure(timeout="30s")
        _, connect = self.start_hdb()
        recent = f"select sum bsize from quote where date={self.days[-1]}"
        old = f"select sum bsize from quote where date={self.days[0]}"
        with connect() as q:
            expected = q.call(recent)
        done = []

        def ask_for_old_days():
            with connect() as q:
                done.append(q.call(old))
        self.store.process.send_signal(signal.SIGSTOP)
        try:
            slow = threading.Thread(target=ask_for_old_days)
            slow.start()
            with connect() as q:
                until = time.monotonic() + 1
                while time.monotonic() < until:
                    self.assertEqual(expected, q.call(recent))
            self.assertEqual([], done)
        finally:
            self.store.process.send_signal(signal.SIGCONT)
        slow.join()
        self.assertEqual(1, len(done))

    @unittest.skipIf(GATEWAY, "the gateway is never wrong")
    def test_a_wrong_store_gives_errors_and_no_wrong_answer(self):
        self.expect_archived()
        _, connect = self.start_hdb()
        query = f"select sum bsize from quote where date={self.days[0]}"
        with connect() as q:
            for fault, text in (("corrupt", "CRC32C"), ("short", "expected"), ("long", "more than"),
                                ("half", "s3://history"), ("cut", "s3://history"), ("unavailable", "503")):
                self.store.control(fault=fault)
                with self.assertRaises(kdb_ipc.QError, msg=fault) as raised:
                    q.call(query)
                self.assertIn(text, raised.exception.args[0])
                self.assertIn("s3://history/test/", raised.exception.args[0])
            self.store.control(fault="", failures=2)
            right = q.call(query)  # The third try of its first request succeeds.
        with self.start_hdb()[1]() as q:
            self.assertEqual(right, q.call(query))
        self.assertEqual([], self.store.control()["refused"])

    @unittest.skipIf(GATEWAY, "the gateway is never slow")
    def test_a_slow_store_costs_time_for_its_days_only(self):
        self.expect_archived()
        _, connect = self.start_hdb()
        self.store.control(delay=1.5)
        done = []

        def ask_for_old_days():
            with connect() as q:
                done.append(q.call(f"select sum bsize from quote where date={self.days[0]}"))
        slow = threading.Thread(target=ask_for_old_days)
        slow.start()
        with connect() as q:
            began = time.monotonic()
            q.call(f"select sum bsize from quote where date={self.days[-1]}")
            self.assertLess(time.monotonic() - began, 1.4)
        slow.join()
        self.assertEqual(1, len(done))
        # Slower than the timeout: an error.
        self.store.control(delay=30)
        with connect() as q:
            with self.assertRaises(kdb_ipc.QError) as raised:
                q.call(f"select sum bsize from quote where date={self.days[1]}")
            self.assertIn("s3://history/test/", raised.exception.args[0])

    @unittest.skipIf(GATEWAY, "the gateway is never slow")
    def test_a_query_that_ends_stops_fetching(self):
        self.expect_archived()
        self.configure(timeout="60s")
        _, connect = self.start_hdb("--query-timeout-s", "0.5")
        self.store.control(delay=20)
        with connect() as q:
            began = time.monotonic()
            with self.assertRaises(kdb_ipc.QError) as raised:
                q.call(f"select sum bsize from quote where date={self.days[0]}")
            self.assertEqual("stop", raised.exception.args[0])
            self.assertLess(time.monotonic() - began, 15)
        stack.wait_until(lambda: self.stats(connect)["archive_held_bytes"] == 0, 60, "an empty cache")

    def test_the_cache_keeps_its_bound(self):
        self.expect_archived()
        self.configure(cache="3MiB")
        _, connect = self.start_hdb()
        with connect() as q:
            for day in self.days:
                q.call(f"select sum bsize, sum asize, max bid from quote where date={day}")
                facts = q.call(".hdb.stats[]")
                self.assertLessEqual(facts["archive_held_bytes"], 3 << 20)
            self.assertGreater(facts["archive_evicted_bytes"], 0)
            # A query that needs more than the cache fails by name, and others go on.
            with self.assertRaises(kdb_ipc.QError) as raised:
                q.call("select sum bsize, sum asize, sum bid, sum ask from quote")
            self.assertTrue(raised.exception.args[0].startswith("limit"), raised.exception.args)
            q.call(f"select sum bsize from quote where date={self.days[0]}")

    def test_killed_commands_are_repeated(self):
        _, connect = self.start_hdb()
        before = self.answers(connect)
        for wait in (0.02, 0.05, 0.1, 0.2, 0.4):
            oldest_kept = datetime.datetime.strptime(self.days[ARCHIVED], "%Y.%m.%d").date()
            command = [stack.PROGRAM, "hdb", "archive", str(self.database), "--stack", str(self.config), "--older-than",
                       str((self.today - oldest_kept).days)]
            with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as killed:
                time.sleep(wait)
                killed.send_signal(signal.SIGKILL)
            _, connect = self.start_hdb()
            self.assertEqual(before, self.answers(connect))
        self.expect_archived()
        _, connect = self.start_hdb()
        self.assertEqual(before, self.answers(connect))
        files = sum(path.read_text(encoding="utf-8").count("\nfile ") for path in self.database.rglob(".archived"))
        self.assertEqual(files, len(self.store.keys()))  # No object is left over.
        self.assertEqual([], list(self.database.rglob(".archived.new")))

    def test_credentials_that_others_can_read_are_refused(self):
        self.credentials.chmod(0o644)
        done = self.archive()
        self.assertEqual(1, done.returncode)
        self.assertIn("others can read", done.stderr)
        self.assertIn("chmod 600", done.stderr)
        _, process = self.start_process("hdb", "--config", str(self.config), "--db", str(self.database))
        self.assertEqual(1, process.wait(60))
        self.assertIn("others can read", process.log_path.read_text(encoding="utf-8"))
        # Without a file, the environment has them.
        text = self.config.read_text(encoding="utf-8")
        self.config.write_text("".join(line for line in text.splitlines(True) if not line.startswith("credentials")),
                               encoding="utf-8")
        without = {key: value for key, value in os.environ.items() if not key.startswith("AWS_")}
        done = self.archive(env=without)
        self.assertEqual(1, done.returncode)
        self.assertIn("AWS_ACCESS_KEY_ID", done.stderr)
        done = self.archive(env={**without, "AWS_ACCESS_KEY_ID": s3_server.ACCESS_KEY,
                                 "AWS_SECRET_ACCESS_KEY": "wrong"})
        self.assertEqual(1, done.returncode)
        self.assertIn("403 (SignatureDoesNotMatch)", done.stderr)
        self.assertNotIn("wrong", done.stderr)
        done = self.archive(env={**without, "AWS_ACCESS_KEY_ID": s3_server.ACCESS_KEY,
                                 "AWS_SECRET_ACCESS_KEY": s3_server.SECRET_KEY})
        self.assertEqual(0, done.returncode, done.stderr)

    def test_other_tools_refuse_archived_days(self):
        self.expect_archived()
        for command in (("checksum", str(self.database)),
                        ("migrate", str(self.database), "--table", "quote", "drop", "bsize"),
                        ("export", str(self.database), str(self.folder / "parquet"))):
            done = self.run_program("hdb", *command)
            self.assertNotEqual(0, done.returncode, command)
            self.assertIn("archived", done.stdout + done.stderr, command)
            self.assertIn("hdb recall", done.stdout + done.stderr, command)
        done = self.run_program("hdb", "export", str(self.database), str(self.folder / "parquet2"), "--stack",
                                str(self.config), "--tables", "trade")
        self.assertEqual(0, done.returncode, done.stderr)


if __name__ == "__main__":
    stack.main()

#!/usr/bin/env python3
"""A running rdb or tickerplant is replaced by a new process under load: no connection is refused, no row is lost or
doubled, and no answer is missing for long.

TICKSTACK_TAKE_OVERS is the number of take-overs of each test (default: 3). The longest time without an answer is
printed, not judged: it depends on the machine.
"""

import json
import os
import pathlib
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kdb_ipc, stack  # noqa: E402

TAKE_OVERS = int(os.environ.get("TICKSTACK_TAKE_OVERS", "3"))
RATE = 48_000
DATE = "2020.03.09"
FEED = "feed@sim.march2020.8000.1"  # The feed's rows are numbered under this name.
HANDED_OVER = 3  # The exit code of a process whose place another one took.
LONGEST_GAP_S = 30  # Not a promise: it only ends a test that would wait for ever.

CONFIG = """
[stack]
name = "take-over"
[tickerplant]
port = {tickerplant}
batch_ms = 20
[[rdb]]
port = {rdb}
unix_socket = true
"""
PERSISTENT = """
[rdb.tier.pmem]
kind = "persistent"
path = "{path}"
size = "{size}"
[rdb.placement]
default = "pmem"
"""
# Questions that two rdbs with the same rows in the same order answer equally.
QUESTIONS = (
    "(count trade;count quote)",
    "exec sum price from trade",
    "exec sum bid from quote",
    "select last price, n:count i by sym from trade",
    "select last bid, last ask by sym from quote",
    "select from quote where sym=`AAPL",
    "select[-50] from trade",
    "(.rdb.checksum[`trade;0];.rdb.checksum[`quote;0])",
)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


class Asker(threading.Thread):
    """Asks a process one question after another, and connects again when the connection ends."""

    def __init__(self, port, question):
        super().__init__()
        self.port = port
        self.question = question
        self.stopping = threading.Event()
        self.connects = 0
        self.refused = []
        self.wrong = []
        self.gaps = []        # Seconds from an answer to the next one on the same connection.
        self.reconnects = []  # The same where the connection had ended between the two.
        self.answers = 0

    def run(self):
        last, newest, connection, same = time.monotonic(), 0, None, True
        while not self.stopping.is_set():
            try:
                if connection is None:
                    connection = kdb_ipc.Connection(self.port, timeout=60)
                    self.connects += 1
                answer = connection.call(self.question)
            except ConnectionRefusedError as error:
                self.refused.append(str(error))
                time.sleep(0.001)
                continue
            except (OSError, kdb_ipc.Closed):
                if connection is not None:
                    connection.close()
                connection, same = None, False
                continue
            now = time.monotonic()
            (self.gaps if same else self.reconnects).append(now - last)
            last, same = now, True
            self.answers += 1
            if answer < newest:
                self.wrong.append(f"{answer} after {newest}")
            newest = answer
            time.sleep(0.0005)
        if connection is not None:
            connection.close()

    def longest_ms(self):
        return 1000 * max(self.gaps + self.reconnects)

    def report(self):
        text = f"longest time without an answer on one connection {1000 * max(self.gaps):.0f} ms"
        if self.reconnects:
            text += (f", over a reconnect {1000 * max(self.reconnects):.0f} ms, median "
                     f"{1000 * statistics.median(self.reconnects):.0f} ms")
        return text


class TakeOverTest(stack.StackTest):
    def setUp(self):
        super().setUp()
        self.data = self.folder / "data"
        self.config = self.folder / "stack.toml"
        self.ports = {"tickerplant": free_port(), "rdb": free_port()}
        self.running = {}
        self.started = 0

    def write_config(self, persistent=None, size="1GiB", path=None):
        text = CONFIG.format(**self.ports)
        if persistent is not None:
            text += PERSISTENT.format(path=persistent, size=size)
        path = path or self.config
        path.write_text(text, encoding="utf-8")
        return path

    def tier_folder(self):
        folder = tempfile.mkdtemp(prefix="tickstack-test-", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        return folder

    def start(self, role, *flags, config=None):
        """Starts a process of the configuration; its output goes to a file of its own."""
        self.started += 1
        log_path = self.folder / f"{role}.{self.started}.log"
        command = [stack.PROGRAM, role, "--config", str(config or self.config), "--data", str(self.data), *flags]
        if role == "tickerplant":
            command += ["--date", DATE]
        with open(log_path, "wb") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        process.log_path = log_path

        def end():
            if process.poll() is None:
                process.kill()
            process.wait()
        self.addCleanup(end)
        return process

    def log_of(self, process):
        return process.log_path.read_text(encoding="utf-8", errors="replace")

    def start_stack(self):
        for role in ("tickerplant", "rdb"):
            self.running[role] = self.start(role)
            with kdb_ipc.connect_within(self.ports[role]):
                pass

    def start_feed(self, rate=RATE):
        port, process = self.start_process(
            "feed", "--tickerplant", f"127.0.0.1:{self.ports['tickerplant']}", "--rate", str(rate), "--rows",
            str(10**9), "--start")
        process.port = port
        self.wait_for_rows(1)
        return process

    def ask(self, question, role="rdb"):
        with kdb_ipc.Connection(self.ports[role], timeout=60) as connection:
            return connection.call(question)

    def rows(self):
        try:
            return self.ask("(count trade)+count quote")
        except kdb_ipc.QError:
            return 0

    def wait_for_rows(self, rows):
        stack.wait_until(lambda: self.rows() >= rows, 60, f"{rows} rows")

    def take_over(self, role, *flags):
        """Replaces the process of a role and waits until its successor is alone."""
        before = self.running[role]
        after = self.start(role, "--take-over", *flags)
        code = before.wait(120)
        text = self.log_of(before) + self.log_of(after)
        self.assertEqual(HANDED_OVER, code, text)
        stack.wait_until(lambda: "took over" in self.log_of(after), 60, "the end of the one before")
        self.assertIsNone(after.poll(), text)
        self.running[role] = after
        return after

    def check_everything(self, feed):
        """Stops the feed and compares the rdb with the log and with an rdb that only replayed it."""
        feed.send_signal(signal.SIGTERM)
        self.assertEqual(0, feed.wait(60))
        log = self.data / "tplog" / f"sym{DATE}"
        checked = self.run_program("log", "check", "--json", str(log))
        self.assertEqual(0, checked.returncode, checked.stdout + checked.stderr)
        logged = sum(json.loads(checked.stdout)["rows"].values())
        # The feed numbers its rows: there is no gap in them, and none is logged twice.
        with kdb_ipc.Connection(self.ports["tickerplant"]) as plant:
            self.assertEqual(logged, sum(plant.call([b".u.feed", FEED]).values()))
        self.wait_for_rows(logged)
        self.assertEqual(logged, self.rows())
        stats = self.ask(".rdb.stats[]")
        self.assertEqual((1, 0, 0, 0), tuple(stats[name] for name in
                                             ("live", "incomplete", "messages_missing", "starts_over")))
        port, _ = self.start_process("rdb", "--config", str(self.write_config(path=self.folder / "replay.toml")),
                                     "--replay", str(log))
        with kdb_ipc.connect_within(port, timeout=60) as replayed:
            for question in QUESTIONS:
                with self.subTest(question=question):
                    self.assertEqual(replayed.call(question), self.ask(question))
        return logged

    def check_take_overs(self, role, port_role, question):
        feed = self.start_feed()
        asker = Asker(self.ports[port_role], question)
        asker.start()
        try:
            stack.wait_until(lambda: asker.answers > 100, 60, "answers")
            first = asker.connects
            for _ in range(TAKE_OVERS):
                time.sleep(0.2)
                self.take_over(role)
            time.sleep(0.2)
        finally:
            asker.stopping.set()
            asker.join()
        self.assertEqual([], asker.wrong)
        self.assertEqual([], asker.refused)
        self.assertEqual(first + TAKE_OVERS if role == port_role else first, asker.connects)
        print(f"{self.id().rsplit('.')[-1]}: {TAKE_OVERS} take-overs of the {role} at {RATE} updates/s, {asker.answers} "
              f"answers, {asker.report()}", file=sys.stderr)
        self.assertLess(asker.longest_ms(), 1000 * LONGEST_GAP_S)
        logged = self.check_everything(feed)
        self.assertGreater(logged, 0)

    def test_an_rdb_in_a_persistent_tier(self):
        self.write_config(self.tier_folder())
        self.start_stack()
        self.check_take_overs("rdb", "rdb", "(count trade)+count quote")
        self.assertIn("tier given", self.log_of(self.running["rdb"]) + "".join(
            path.read_text() for path in self.folder.glob("rdb.*.log")))

    def test_an_rdb_in_dram(self):
        self.write_config()
        self.start_stack()
        self.check_take_overs("rdb", "rdb", "(count trade)+count quote")

    def test_a_tickerplant(self):
        self.write_config()
        self.start_stack()
        self.check_take_overs("tickerplant", "tickerplant", ".u.j")

    def test_subscribers_do_not_miss_a_row_when_the_tickerplant_changes(self):
        self.write_config()
        self.start_stack()
        self.check_take_overs("tickerplant", "rdb", "(count trade)+count quote")

    def test_a_successor_that_dies_leaves_the_tier_to_the_one_before(self):
        self.write_config(self.tier_folder())
        self.start_stack()
        feed = self.start_feed()
        for _ in range(TAKE_OVERS):
            # Without a tickerplant the successor never becomes live.
            successor = self.start("rdb", "--take-over", "--tickerplant", f"127.0.0.1:{free_port()}")
            stack.wait_until(lambda s=successor: "persistent tables reopened" in self.log_of(s), 60, "the tier")
            given = self.ask(".rdb.stats[]")
            self.assertEqual(0, given["live"])
            self.assertEqual(given["rows_durable"], self.rows())
            successor.kill()
            successor.wait()
            stack.wait_until(lambda: self.ask(".rdb.stats[]")["live"] == 1, 60, "the rdb before")
            self.wait_for_rows(given["rows_durable"] + 1)
        self.assertIsNone(self.running["rdb"].poll())
        self.take_over("rdb")
        self.check_everything(feed)

    def test_a_query_that_runs_is_answered(self):
        self.write_config()
        self.start_stack()
        feed = self.start_feed(rate=5000)
        with kdb_ipc.Connection(self.ports["rdb"], timeout=60) as client:
            answer = []
            thread = threading.Thread(target=lambda: answer.append(client.call("{do[700000;x+1];x}[42]")))
            thread.start()
            stack.wait_until(lambda: self.ask(".rdb.stats[]")["queries_running"] > 1, 60, "the query")
            self.take_over("rdb")
            thread.join()
        self.assertEqual([42], answer)
        self.check_everything(feed)

    def test_what_cannot_be_taken_over_is_refused_by_name_and_goes_on(self):
        tier = self.tier_folder()
        self.write_config(tier)
        self.start_stack()
        feed = self.start_feed(rate=5000)

        def fails(role, *flags, config=None):
            process = self.start(role, "--take-over", *flags, config=config)
            self.assertNotEqual(0, process.wait(60))
            return self.log_of(process)

        free = free_port()
        self.assertIn(f"port {free}: no rdb that can be taken over listens there", fails("rdb", "--port", str(free)))
        self.assertIn("this is the tickerplant, not the rdb",
                      fails("rdb", "--port", str(self.ports["tickerplant"])))
        other = self.write_config(tier, size="512MiB", path=self.folder / "other.toml")
        self.assertIn("its size cannot change now", fails("rdb", config=other))
        stack.wait_until(lambda: self.ask(".rdb.stats[]")["live"] == 1, 60, "the rdb before")
        self.assertIn("expected the log of the running tickerplant", fails("tickerplant", "--log-name", "other"))
        wrong = self.folder / "wrong.toml"
        wrong.write_text(self.config.read_text() + '[tables]\ntrade = "time p, sym s, price f"\n'
                         'quote = "time p, sym s, bid f"\n', encoding="utf-8")
        self.assertIn("do not fit its schema", fails("tickerplant", config=wrong))
        self.assertIn("cannot be combined with --replay", fails("rdb", "--replay", "x"))
        for role in ("tickerplant", "rdb"):
            self.assertIsNone(self.running[role].poll(), self.log_of(self.running[role]))
        self.check_everything(feed)

    def test_up_lets_a_child_go_that_handed_over(self):
        self.write_config()
        running = super().start_stack(self.config.read_text())
        self.ports = {role: running.port(role) for role in self.ports}
        self.data = running.data
        self.write_config()
        pid = running.pid("rdb")
        successor = self.start("rdb", "--take-over")
        stack.wait_until(lambda: not stack.is_alive(pid), 60, "the end of the child")
        stack.wait_until(lambda: "took over" in self.log_of(successor), 60, "the take-over")
        stack.wait_until(lambda: "handed over, its successor is not of this stack: stop that yourself name=rdb"
                         in running.log_text(), 60, "the word of the supervisor")
        self.assertEqual(1, self.ask(".rdb.stats[]")["live"])
        self.assertEqual(0, running.stop(), running.log_text())
        self.assertIsNone(successor.poll())


if __name__ == "__main__":
    stack.main()

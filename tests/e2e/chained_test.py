#!/usr/bin/env python3
"""Chained tickerplants: each row of the upstream that passes the filter is there once and in order, whatever dies
meanwhile, and the days are those of the upstream.

TICKSTACK_KILLS is the number of processes that the random test kills, TICKSTACK_SEED its seed, which it prints.
"""

import json
import os
import pathlib
import random
import signal
import sys
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kdb_ipc, stack  # noqa: E402

KILLS = int(os.environ.get("TICKSTACK_KILLS", "12"))
SEED = int(os.environ.get("TICKSTACK_SEED", str(random.randrange(1 << 31))))
DATE, NEXT, LATER = "2020.03.09", "2020.03.10", "2020.03.13"
SYMBOLS = ("AIG", "IBM")

STACK = """
[tickerplant]
batch_ms = 5
[[rdb]]
[[chained]]
name = "trades"
tables = ["trade"]
symbols = ["{symbols}"]
batch_ms = 40
[[rdb]]
name = "desk"
port = 5031
tickerplant = "trades"
[[chained]]
name = "copy"
port = 5021
batch_ms = 0
[[rdb]]
name = "all"
port = 5032
tickerplant = "copy"
[feed]
source = "sim"
rate = {rate}
rows = {rows}
batch_rows = 20
"""


class OneStackTest(stack.StackTest):
    """Two chained tickerplants in one configuration file: one with a filter, one without."""

    def start(self, rows, rate):
        symbols = '", "'.join(SYMBOLS)
        running = self.start_stack(STACK.format(symbols=symbols, rows=rows, rate=rate), "--date", DATE)
        with running.connect("feed") as feed:
            feed.call(".feed.start[]")
        return running

    def wait_for_all(self, running, rows):
        def there(rdb):
            return running.count("trade", rdb) + running.count("quote", rdb) == rows
        stack.wait_until(lambda: there("rdb"), 180, "every row in rdb")
        stack.wait_until(lambda: there("all"), 60, "every row in the rdb of the copy")
        wanted = self.trades_of(running, "rdb", "where sym in `" + "`".join(SYMBOLS))
        stack.wait_until(lambda: running.count("trade", "desk") >= len(wanted["time"]), 60, "the desk's rows")

    @staticmethod
    def trades_of(running, rdb, which=""):
        return running.ask(rdb, f"flip select from trade {which}")

    def check_rows(self, running):
        wanted = self.trades_of(running, "rdb", "where sym in `" + "`".join(SYMBOLS))
        self.assertGreater(len(wanted["time"]), 20)
        self.assertEqual(wanted, self.trades_of(running, "desk"))
        for table in ("trade", "quote"):
            self.assertEqual(running.ask("rdb", f"flip {table}"), running.ask("all", f"flip {table}"))
        up, copy = (running.data / "tplog" / f"{name}{DATE}" for name in ("sym", "copy"))
        self.assertEqual(up.read_bytes(), copy.read_bytes(), "the logs have the same messages")

    def test_rows_pass_the_filter_and_keep_their_times(self):
        rows = 60_000
        running = self.start(rows, 0)
        self.wait_for_all(running, rows)
        self.check_rows(running)
        self.assertEqual(["trade"], running.ask("trades", ".u.t"))
        self.assertEqual(0, running.ask("desk", "count select from trade where not sym in `" + "`".join(SYMBOLS)))
        # The last messages have no rows for it.
        said = lambda: tuple(running.ask("trades", ".u.upstream[]")[key] for key in ("state", "connected", "behind_ms", "day"))  # noqa: E731
        stack.wait_until(lambda: said() == ("live", 1, 0, DATE), what=f"the end of the upstream's log: {said()}")
        # The day is the upstream's.
        with self.assertRaisesRegex(kdb_ipc.QError, "day: it ends when the upstream's day ends"):
            running.ask("trades", ".u.end[]")
        self.assertEqual({"trades": "live", "copy": "live"}, self.states_in_top(running))
        self.assertEqual(0, running.stop(), running.log_text())

    def states_in_top(self, running):
        config = self.folder / "ports.toml"
        sections = [f'[[chained]]\nname = "{name}"\nport = {running.port(name)}\n' for name in ("trades", "copy")]
        config.write_text(f"[tickerplant]\nport = {running.port('tickerplant')}\n" + "".join(sections), encoding="utf-8")
        done = self.run_program("top", str(config), "--json")
        self.assertEqual(0, done.returncode, done.stderr + done.stdout)
        processes = json.loads(done.stdout)["processes"]
        return {each["name"]: each["state"] for each in processes if each["role"] == "chained"}

    def test_random_processes_are_killed_under_a_feed(self):
        print(f"seed {SEED}")
        chance = random.Random(SEED)
        rows = 20_000 * KILLS  # Longer than the kills take.
        running = self.start(rows, 30_000)
        names = ("tickerplant", "trades", "copy", "desk", "all")
        for _ in range(KILLS):
            time.sleep(chance.uniform(0.05, 0.9))
            pids = running.processes()
            for name in chance.sample(names, chance.choice((1, 1, 2, 3, len(names)))):
                try:
                    os.kill(pids[name]["pid"], signal.SIGKILL)
                except ProcessLookupError:
                    pass  # It is between two lives.
        self.wait_for_all(running, rows)
        self.check_rows(running)
        self.assertEqual(0, running.stop(), running.log_text())


    def test_the_example_of_the_page_serves_two_symbols(self):
        text = (stack.ROOT / "examples/chained.toml").read_text(encoding="utf-8")
        running = self.start_stack(text)
        with running.connect("feed") as feed:
            feed.call(".feed.start[]")
        stack.wait_until(lambda: running.count("trade", "desk-rdb") > 0, 60, "trades at the desk")
        self.assertEqual([], list(running.ask("desk-rdb", "exec sym from trade where not sym in `AIG`IBM")))
        self.assertEqual(0, running.stop(), running.log_text())


class DaysTest(stack.StackTest):
    """An upstream and a chained tickerplant as single processes, whose days the test ends."""

    def setUp(self):
        super().setUp()
        self.up_data, self.data = self.folder / "up", self.folder / "chained"
        self.up_port = self.port = 0
        self.upstream = self.chained = None
        self.number = 0

    def start_upstream(self, date=DATE, *flags):
        self.up_port, self.upstream = self.start_process(
            "tickerplant", "--data", str(self.up_data), "--date", date, "--batch-ms", "0", *flags, port=self.up_port)
        kdb_ipc.connect_within(self.up_port).close()

    def start_chained(self, *flags):
        config = self.folder / "health.toml"
        config.write_text("[health]\ndisk_free = \"1B\"\n[[chained]]\n", encoding="utf-8")
        self.port, self.chained = self.start_process(
            "chained", "--config", str(config), "--upstream", f"127.0.0.1:{self.up_port}", "--data", str(self.data), "--batch-ms", "0",
            *flags, port=self.port)

    def stop(self, process):
        process.send_signal(signal.SIGTERM)
        self.assertEqual(0, process.wait(60), self.log_of(process))

    @staticmethod
    def log_of(process):
        return process.log_path.read_text(encoding="utf-8", errors="replace")

    def ask(self, port, query):
        with kdb_ipc.connect_within(port) as connection:
            return connection.call(query)

    def publish(self, messages, port=None):
        """Publishes trades whose sizes count up, as a list of columns each."""
        with kdb_ipc.connect_within(port or self.up_port) as feed:
            for _ in range(messages):
                self.number += 1
                sizes = kdb_ipc.Typed("i", [self.number, self.number])
                feed.call([".u.upd", "trade", [kdb_ipc.Typed("p", [self.number] * 2), [SYMBOLS[0], "BAC"], [1.0, 2.0],
                                               sizes, [True, False], b"@@", b"NN"]])

    def said(self, key):
        try:
            return self.ask(self.port, ".u.upstream[]")[key]
        except (OSError, kdb_ipc.Closed, kdb_ipc.QError):
            return None

    def wait_for_copy(self, date):
        """Waits until the chained tickerplant has all of the upstream's today, which is `date`."""
        def there():
            logged = self.ask(self.up_port, ".u.j")
            return (self.said("day"), self.said("messages"), self.said("state")) == (date, logged, "live")
        stack.wait_until(there, 60, f"the copy of {date}")

    def logs(self, folder, name):
        return {path.name[len(name):]: path.read_bytes() for path in sorted((folder / "tplog").glob(f"{name}????.??.??"))}

    def check_logs(self, *dates):
        """Logs of all symbols and tables have the same bytes."""
        copied = self.logs(self.data, "chained")
        self.assertEqual(list(dates), list(copied))
        for date in dates:
            self.assertEqual(self.logs(self.up_data, "sym")[date], copied[date], date)

    def test_the_end_of_the_day_reaches_subscribers_after_the_days_rows(self):
        self.start_upstream()
        self.start_chained()
        self.publish(3)
        with kdb_ipc.connect_within(self.port) as client:
            self.wait_for_copy(DATE)
            client.call([b".u.sub", "trade", ""])
            self.publish(50)
            self.ask(self.up_port, ".u.end[]")
            self.publish(7)
            sizes = {DATE: [], NEXT: []}
            while len(sizes[NEXT]) < 2 * 7:  # Two rows a message.
                message = client.next_async()
                if message[0] == ".u.end":
                    self.assertEqual(2 * 50, len(sizes[DATE]))
                else:
                    sizes[DATE if len(sizes[DATE]) < 2 * 50 else NEXT] += list(message[2]["size"])
        self.assertEqual([number for number in range(4, 61) for _ in range(2)], sizes[DATE] + sizes[NEXT])
        self.wait_for_copy(NEXT)
        self.check_logs(DATE, NEXT)

    def test_a_slow_subscriber_costs_the_upstream_nothing(self):
        self.start_upstream()
        self.start_chained("--live-queue-bytes", "64KiB")
        with kdb_ipc.connect_within(self.port) as slow, kdb_ipc.connect_within(self.up_port) as feed:
            slow.call([b".u.sub", "quote", ""])
            rows, messages = 10_000, 100  # 60 MB, more than sockets hold.
            for first in range(0, rows * messages, rows):
                numbers = kdb_ipc.Typed("p", list(range(first, first + rows)))
                price, size, text = [1.5] * rows, [7] * rows, b"x" * rows
                feed.call([".u.upd", "quote", [numbers, ["IBM"] * rows, price, price, size, size, text, text]])
            self.wait_for_copy(DATE)
            self.assertEqual(0, self.ask(self.up_port, ".u.stats[]")["subscribers"])
            self.assertEqual(1, self.ask(self.port, ".u.stats[]")["subscribers_behind"])
            got = []
            while len(got) < rows * messages:
                got += slow.next_async()[2]["time"]
        self.assertEqual(list(range(rows * messages)), got)

    def test_days_that_ended_while_it_was_down_are_copied(self):
        self.start_upstream()
        self.start_chained()
        self.publish(20)
        self.wait_for_copy(DATE)
        for kill in (True, False):
            (self.chained.kill if kill else self.chained.terminate)()
            self.chained.wait()
            self.publish(20)
            if kill:
                self.start_chained()
                self.wait_for_copy(DATE)
        self.ask(self.up_port, ".u.end[]")
        self.publish(20)
        self.upstream.kill()
        self.upstream.wait()
        self.start_upstream(LATER)
        self.publish(20)
        self.start_chained()
        self.wait_for_copy(LATER)
        self.assertEqual((0, 2), (self.said("days_missing"), self.said("days_skipped")))
        # A chained tickerplant of the chained one starts with its today.
        self.check_logs(DATE, NEXT, LATER)
        self.assertEqual([DATE, NEXT, LATER], [str(path)[-10:] for path in self.ask(self.port, ".u.logs[]")["path"]])

    def test_a_log_that_the_upstream_lost_is_named(self):
        self.start_upstream()
        self.start_chained()
        self.publish(5)
        self.wait_for_copy(DATE)
        self.stop(self.chained)
        self.publish(5)
        self.ask(self.up_port, ".u.end[]")
        self.publish(5)
        for path in (self.up_data / "tplog").glob(f"sym{DATE}*"):
            path.unlink(missing_ok=True)  # A file of the state, just written, is renamed meanwhile.
        self.start_chained()
        self.wait_for_copy(NEXT)
        self.assertEqual(1, self.said("days_missing"))
        self.assertIn("the upstream has no log of the day any more: what follows its message 5 is missing here",
                      self.log_of(self.chained))
        metrics = urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=60).read().decode()
        self.assertIn("tickstack_chained_upstream_days_missing_total", metrics)

    def test_it_is_not_ready_without_its_upstream_and_continues_exactly(self):
        self.start_upstream()
        self.start_chained()
        self.publish(5)
        self.wait_for_copy(DATE)
        self.assertIn("ready", self.ready())
        self.upstream.kill()
        self.upstream.wait()
        stack.wait_until(lambda: f"the upstream 127.0.0.1:{self.up_port} is not connected" in self.ready(), 60, "the reason")
        self.start_upstream()
        self.publish(5)
        self.wait_for_copy(DATE)
        stack.wait_until(lambda: "not" not in self.ready(), 60, "readiness")
        self.check_logs(DATE)

    def ready(self):
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=60).read().decode()
        except urllib.error.HTTPError as error:
            return error.read().decode()

    def test_what_it_cannot_copy_is_refused_by_name(self):
        self.start_upstream()
        self.start_chained("--symbols", "AIG")
        self.publish(5)
        self.wait_for_copy(DATE)
        self.stop(self.chained)
        # Other symbols within the day.
        self.start_chained("--symbols", "BAC")
        self.assertEqual(1, self.chained.wait(60))
        self.assertIn("has rows of the upstream by other symbols", self.log_of(self.chained))
        # Another log of the same day.
        self.stop(self.upstream)
        for path in (self.up_data / "tplog").iterdir():
            path.unlink()
        self.start_upstream()
        self.publish(9)
        self.start_chained("--symbols", "AIG")
        stack.wait_until(lambda: self.said("state") == "refused", 60, "the refusal")
        self.assertIn(b"another log", self.said("error"))
        self.assertIn("cannot be copied", self.ready())
        self.stop(self.chained)
        # A server that is no tickerplant with days to copy.
        rdb_port, _ = self.start_process("rdb", "--tickerplant", f"127.0.0.1:{self.up_port}")
        kdb_ipc.connect_within(rdb_port).close()
        _, other = self.start_process("chained", "--upstream", f"127.0.0.1:{rdb_port}", "--data",
                                      str(self.folder / "none"))
        self.assertEqual(1, other.wait(60))
        self.assertIn(".u.logs", self.log_of(other))


if __name__ == "__main__":
    stack.main()

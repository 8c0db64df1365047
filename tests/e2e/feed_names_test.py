#!/usr/bin/env python3
"""Two feeds under one name, against a real tickerplant: no row of the name's owner is lost or logged twice, the other
feed is refused by name, and a take-over needs a request."""

import json
import os
import pathlib
import signal
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kdb_ipc, stack  # noqa: E402
from tests.support.kdb_ipc import Typed  # noqa: E402

DATE = "2020.03.09"
UPDATES = 300_000
INTRUDER = "INTRUDER"
NAME = "feed@sim.march2020.8000.1"  # The feed's rows are numbered under it.


class FeedNamesTest(stack.StackTest):
    def setUp(self):
        super().setUp()
        self.data = self.folder / "data"
        self.port, self.tickerplant = self.start_process("tickerplant", "--data", str(self.data), "--date", DATE)
        self.asker = kdb_ipc.connect_within(self.port)
        self.addCleanup(self.asker.close)

    def start_feed(self, *flags, updates=UPDATES, rate=60_000):
        """Starts a feed of the simulated market: the same rows under the same name each time."""
        port, process = self.start_process(
            "feed", "--tickerplant", f"127.0.0.1:{self.port}", "--rows", str(updates), "--rate", str(rate),
            "--batch-rows", "20", "--start", *flags)
        process.port = port
        return process

    def stats(self, process):
        """Returns a feed's statistics; nothing while it is starting."""
        try:
            with kdb_ipc.Connection(process.port) as connection:
                return connection.call(".feed.stats[]")
        except (OSError, kdb_ipc.Closed):
            return {"state": "", "error": b""}

    def wait_for_state(self, process, *states):
        def there():
            self.assertIsNone(process.poll(), self.log_of(process))
            return self.stats(process)["state"] in states
        stack.wait_until(there, 60, f"a feed that is {' or '.join(states)}")

    def wait_for_end(self, process):
        """Waits for the feed's end and returns its exit code."""
        stack.wait_until(lambda: process.poll() is not None, 120, "the end of a feed")
        return process.returncode

    def log_of(self, process):
        return process.log_path.read_text(encoding="utf-8", errors="replace")

    def logged(self, name):
        return sum(self.asker.call([b".u.feed", name]).values())

    def check_the_log(self, updates=UPDATES):
        """Checks that every row of the market is in the log once, and no other row."""
        self.tickerplant.send_signal(signal.SIGTERM)
        self.assertEqual(0, self.tickerplant.wait(60))
        log = self.data / "tplog" / f"sym{DATE}"
        checked = self.run_program("log", "check", "--json", str(log))
        self.assertEqual(0, checked.returncode, checked.stdout + checked.stderr)
        rows = json.loads(checked.stdout)["rows"]
        self.assertEqual(updates, sum(rows.values()), rows)
        self.assertEqual(0, log.read_bytes().count(INTRUDER.encode()), "rows of somebody else under the feed's name")

    def test_a_client_that_uses_a_feeds_name_is_refused_and_costs_it_no_row(self):
        # Keeps its name when it is done. Publishes for 15 s: on a busy machine, the test may be that late.
        feed = self.start_feed(rate=20_000)
        self.wait_for_state(feed, "publishing")
        row = [Typed("p", [1]), [INTRUDER], [1.5], Typed("i", [100]), [True], b"@", b"N"]
        stop = threading.Event()
        said = []

        def intrude():
            with kdb_ipc.Connection(self.port) as client:
                while not stop.is_set():
                    at = client.call([b".u.feed", NAME])["trade"]
                    for number in range(at, at + 20):
                        client.send([".u.updn", NAME, number, "trade", row])
                    try:
                        client.call([".u.updn", NAME, at, "trade", row])
                        said.append("taken")
                    except kdb_ipc.QError as error:
                        said.append(str(error))
                said.append(client.next_async())

        intruder = threading.Thread(target=intrude)
        intruder.start()
        try:
            self.wait_for_state(feed, "done")
        finally:
            stop.set()
            intruder.join()
        refusals = self.asker.call(".u.stats[]").get("feed_upds_refused")
        self.check_the_log()
        refused = [text for text in said[:-1] if f"held: feed {NAME} is held by 127.0.0.1:" in text]
        self.assertGreater(len(refused), 0, said[:3])
        self.assertEqual(".u.err", said[-1][0])
        self.assertIn(f"held: feed {NAME}".encode(), said[-1][1])
        self.assertGreater(refusals, 20)

    def test_a_second_feed_waits_for_the_name_and_a_take_over_ends_the_first(self):
        # A slow feed, so that it is not done when it loses its name, which is what must end it.
        first = self.start_feed(rate=5_000)
        self.wait_for_state(first, "publishing")
        second = self.start_feed("--exit-when-done")
        self.wait_for_state(second, "held")
        said = self.stats(second)
        self.assertEqual(NAME, said["name"])
        self.assertIn(f"held: feed {NAME} is held by 127.0.0.1:".encode(), said["error"])
        self.assertIn(b"--take-over", said["error"])
        self.assertEqual(1, len(self.asker.call(".u.feeds[]")["name"]))

        third = self.start_feed("--take-over", "--exit-when-done", rate=20_000)
        self.assertEqual(1, self.wait_for_end(first), self.log_of(first))
        self.assertIn(f"taken: feed {NAME} was taken over by 127.0.0.1:", self.log_of(first))
        self.assertIsNone(second.poll())
        # The third feed sends the rest; then the name is free, and nothing is left for the second one.
        self.assertEqual(0, self.wait_for_end(third), self.log_of(third))
        self.assertEqual(0, self.wait_for_end(second), self.log_of(second))
        self.assertIn("nothing published", self.log_of(second))
        self.check_the_log()

    def test_a_feed_that_was_killed_is_started_again_without_a_take_over(self):
        first = self.start_feed("--exit-when-done", rate=20_000)
        self.wait_for_state(first, "publishing")
        stack.wait_until(lambda: self.logged(NAME) > 20_000, 60, "some rows")
        os.kill(first.pid, signal.SIGKILL)
        second = self.start_feed("--exit-when-done")
        self.assertEqual(0, self.wait_for_end(second), self.log_of(second))
        self.assertEqual(UPDATES, self.logged(NAME))
        self.assertEqual(0, self.asker.call(".u.stats[]")["feed_takeovers"])
        self.check_the_log()


if __name__ == "__main__":
    stack.main()

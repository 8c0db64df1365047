#!/usr/bin/env python3
"""System calls on files fail in a tickerplant, an rdb, an hdb and in commands, each call by turn: once (EIO), from then
on (EIO), as on a file system that became read-only (EROFS), and as on a disk that is full for a while (ENOSPC).

The process goes on or ends with the error's text. Afterwards each row that a feed was told is logged is in the logs
once and in order, answers were right or errors, and the next start, or the next run of the command, is right.

TICKSTACK_FAULTS is the number of faults for each test (0: each call of a life, for an hour or two), TICKSTACK_SEED
chooses them. TICKSTACK_KEEP=DIR keeps the files of lives that failed. tests/support/failing_calls.py makes calls fail.
"""

import collections
import os
import pathlib
import re
import shutil
import signal
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import failing_calls, kdb_files, kdb_ipc, stack  # noqa: E402
from tests.support.failing_calls import failed  # noqa: E402
from tests.support.kdb_ipc import Typed  # noqa: E402

FAULTS = int(os.environ.get("TICKSTACK_FAULTS", "2"))
SEED = int(os.environ.get("TICKSTACK_SEED", "21"))
KEEP = os.environ.get("TICKSTACK_KEEP")
FIRST, SECOND, THIRD = "2020.03.07", "2020.03.08", "2020.03.09"
OPEN = 636_860_000_000_000_000
LOST = (OSError, kdb_ipc.Closed)
UNANSWERED = (*LOST, kdb_ipc.QError)
CONFIG = """
[tables]
trade = "time p, sym s, size i"
[tickerplant]
batch_ms = 1
[[rdb]]
{tier}
[eod]
retry_s = 0.1
"""
NOT_STARTED = -signal.SIGTERM  # The exit code of a process that was stopped before it could react.
READS = ("open", "read", "map", "stat", "list")
# Failures of these calls are not tolerated in silence.
LOUD = {"write", "sync", "truncate", "rename", "mkdir"}


def names_of(numbers):
    """Symbols of rows, by their numbers: some that every day has, and new ones on each day."""
    return [f"N{number // 50}" if number % 3 else "IBM" for number in numbers]


def rows_of(numbers):
    """The columns of rows whose size is their number."""
    return [Typed("p", [OPEN + number for number in numbers]), names_of(numbers), Typed("i", numbers)]


def traced(trace):
    """Returns the kinds of calls in a trace."""
    return {kind for kind, *_ in failing_calls.calls(trace)}


def becomes(condition, seconds):
    """Returns whether the condition becomes true within that time."""
    try:
        return bool(stack.wait_until(condition, seconds))
    except AssertionError:
        return False


def text_of(process):
    return process.log_path.read_text(encoding="utf-8", errors="replace")


class FailingCallsTest(stack.StackTest):
    def setUp(self):
        super().setUp()
        self.config = self.folder / "stack.toml"
        self.config.write_text(CONFIG.format(tier=""), encoding="utf-8")

    def each_fault(self, trace, live):
        """Calls `live(folder, fault)`, which returns what happened, for chosen faults of the calls in a trace."""
        outcomes = collections.Counter()
        for number, fault in enumerate(failing_calls.some_faults(trace, FAULTS, SEED)):
            folder = self.folder / f"life-{number}"
            folder.mkdir()
            with self.subTest(fault=str(fault)):
                try:
                    outcome = live(folder, fault)
                    outcomes[outcome if failed(folder / "trace") else "did not occur"] += 1
                except BaseException:
                    print(f"failed: {fault}: {failed(folder / 'trace')}", file=sys.stderr, flush=True)
                    if KEEP:
                        shutil.copytree(self.folder, pathlib.Path(KEEP) / f"{self._testMethodName}-{number}", dirs_exist_ok=True)
                    raise
                finally:
                    shutil.rmtree(folder)
        print(f"{sum(outcomes.values())} faults: {dict(outcomes)}", file=sys.stderr)
        self.assertGreater(sum(outcomes.values()), outcomes["did not occur"])

    def check_end(self, process, fault, codes=(0, 1)):
        """A process ended by itself or by SIGTERM: not by a crash, and with the error's text if it failed."""
        code = process.wait(60)
        self.assertIn(code, codes if fault is not None else (0,), text_of(process))
        if code == 1:  # Whether a file is there, which `stat` tells, may decide about another error.
            self.assertIn(fault.text if fault.kind != "stat" else " ends error=", text_of(process))

    def check_said(self, trace, fault, text):
        happened = failed(trace)
        if happened and happened.split(" ")[0] in LOUD:
            self.assertIn(fault.text, text, happened)

    def logs(self, data):
        return sorted(path for path in (data / "tplog").iterdir() if re.fullmatch(r"sym\d{4}\.\d\d\.\d\d", path.name))

    def logged(self, data):
        """Returns the numbers of rows in the logs, each of which is undamaged."""
        numbers = []
        for log in self.logs(data):
            checked = self.run_program("log", "check", str(log))
            self.assertEqual(0, checked.returncode, checked.stdout + checked.stderr)
            for _, _, columns in kdb_ipc.decode_all(log.read_bytes()[8:]):
                numbers += columns[2]
        return numbers


class Feed:
    """A feed that numbers its rows, and a tickerplant, which is started again without faults when it has ended."""

    PATIENCE_S = 2.0
    GIVE_UP_S = 60.0

    def __init__(self, test, folder, fault, date):
        self.test, self.fault, self.date = test, fault, date
        self.data, self.trace = folder / "data", folder / "trace"
        self.data.mkdir(exist_ok=True)
        self.faulty = True
        self.accepted = 0  # Rows that were answered, or that the feed was told of.
        self.in_flight = 0
        self.published = -1  # The highest number of a row that was published.
        self.feed = self.subscriber = None
        self.outcome = "went on"
        self.text = ""
        self.start()

    def start(self):
        env = failing_calls.environment(self.data, self.trace, self.fault) if self.faulty else None
        self.port, self.process = self.test.start_process(
            "tickerplant", "--config", str(self.test.config), "--data", str(self.data), "--date", self.date, "--fsync",
            "batch", env=env)

    def connect(self):
        patience_s = self.PATIENCE_S if self.faulty else self.GIVE_UP_S
        self.disconnect()
        self.feed = kdb_ipc.Connection(self.port, timeout=patience_s)
        logged = self.feed.call([b".u.feed", "life"])["trade"]
        self.test.assertGreaterEqual(logged, self.accepted, "rows that were answered are gone")
        self.test.assertLessEqual(logged, self.accepted + self.in_flight, "rows that were not sent")
        self.test.assertGreater(logged, self.published, "rows that were published are not logged")
        self.accepted, self.in_flight = logged, 0
        self.subscriber = kdb_ipc.Connection(self.port, timeout=patience_s)
        self.subscriber.call([b".u.sub", "trade", ""])

    def disconnect(self):
        """Closes the connections, after what was published has been read."""
        try:
            while self.subscriber is not None:
                verb, *arguments = self.subscriber.next_async(0.05)
                if verb == "upd":
                    self.published = max(self.published, *arguments[1]["size"])
        except LOST:
            pass
        for connection in (self.feed, self.subscriber):
            if connection is not None:
                connection.close()
        self.feed = self.subscriber = None

    def until_done(self, step):
        """Does a step, until it succeeds. A tickerplant that has ended, or still refuses after a while, is replaced."""
        begin = time.monotonic()
        while True:
            try:
                if self.feed is None:
                    self.connect()
                return step()
            except kdb_ipc.QError as error:
                self.text += f"{error}\n"
            except LOST:
                self.disconnect()
            if self.process.poll() is not None:
                self.test.assertTrue(self.faulty, text_of(self.process))
                self.outcome = "ended"
                self.replace((1,))
            elif self.faulty and time.monotonic() > begin + self.PATIENCE_S:
                self.outcome = "refused"
                self.process.terminate()
                self.replace((0, 1, NOT_STARTED))
            self.test.assertLess(time.monotonic(), begin + self.GIVE_UP_S, text_of(self.process))
            time.sleep(0.01)

    def replace(self, codes):
        self.disconnect()
        self.test.check_end(self.process, self.fault, codes)
        self.text += text_of(self.process)
        self.faulty = False
        self.start()

    def send(self, messages, rows=3):
        for _ in range(messages):
            self.until_done(lambda: self.send_once(rows))

    def send_once(self, rows):
        numbers = list(range(self.accepted, self.accepted + rows))
        self.in_flight = rows
        self.feed.call([b".u.updn", "life", Typed("j", self.accepted), "trade", rows_of(numbers)])
        self.accepted, self.in_flight = self.accepted + rows, 0

    def end_day(self):
        day = self.until_done(lambda: self.feed.call(".u.d"))

        def end():
            if self.feed.call(".u.d") == day:
                self.feed.call(".u.end[]")
        self.until_done(end)

    def stop(self):
        self.disconnect()
        self.process.terminate()
        if self.faulty:
            self.test.check_end(self.process, self.fault)
            if self.process.returncode == 1:
                self.outcome = "stopped with an error"
        self.text += text_of(self.process)
        self.faulty, code = False, self.process.wait(60)
        return code

    def check(self):
        """Stops the tickerplant; after a start without faults, each row is logged once."""
        self.stop()
        self.test.check_said(self.trace, self.fault, self.text)
        self.start()
        sent = self.accepted
        self.until_done(lambda: None)
        self.test.assertEqual(sent, self.accepted)
        self.test.assertEqual(0, self.stop(), text_of(self.process))
        self.test.assertEqual(list(range(sent)), self.test.logged(self.data))


class TickerplantTest(FailingCallsTest):
    def day_and_next(self, folder, fault):
        feed = Feed(self, folder, fault, SECOND)
        feed.send(4)
        feed.end_day()
        feed.send(3)
        feed.check()
        return feed.outcome

    def test_a_new_log_and_the_end_of_its_day(self):
        whole = self.folder / "whole"
        whole.mkdir()
        self.day_and_next(whole, None)
        self.each_fault(whole / "trace", self.day_and_next)

    def leave_a_killed_log(self, folder):
        """Leaves the log of a day on which the machine lost its power in the midst of a write."""
        feed = Feed(self, folder, None, SECOND)
        feed.send(4)
        feed.disconnect()
        feed.process.kill()
        feed.process.wait()
        (log,) = self.logs(feed.data)
        message = kdb_ipc.encode(["upd", "trade", rows_of([1, 2, 3])])
        with open(log, "ab") as file:
            file.write(message[:len(message) // 2])
        state = pathlib.Path(f"{log}.state")
        text = state.read_text(encoding="utf-8")
        state.write_text(re.sub(r"crc32c .*\n", "", re.sub(r"boot .*\n", "boot before\n", text)).replace("state 2", "state 1"),
                         encoding="utf-8")
        feed.trace.unlink()
        return feed.accepted

    def test_a_start_after_a_power_cut(self):
        killed = self.folder / "killed"
        killed.mkdir()
        rows = self.leave_a_killed_log(killed)

        def recover(folder, fault):
            shutil.copytree(killed / "data", folder / "data")
            feed = Feed(self, folder, fault, THIRD)
            feed.in_flight = rows  # The feed does not know how many of them are logged.
            feed.send(3)
            self.assertGreaterEqual(feed.accepted, rows + 9)
            feed.check()
            return feed.outcome
        whole = self.folder / "whole"
        whole.mkdir()
        recover(whole, None)
        self.each_fault(whole / "trace", recover)


class DatabaseTest(FailingCallsTest):
    """Lives that begin with three logs, the last of which is of today, and the partition of the first day."""

    ROWS = {FIRST: range(0, 60), SECOND: range(60, 130), THIRD: range(130, 150)}

    before = None  # Where the files are that lives begin with.

    def setUp(self):
        super().setUp()
        if DatabaseTest.before is None:
            DatabaseTest.before = pathlib.Path(tempfile.mkdtemp(prefix="tickstack-test-"))
            self.addClassCleanup(shutil.rmtree, DatabaseTest.before)
            self.make_files()

    def make_files(self):
        for date, numbers in self.ROWS.items():
            feed = Feed(self, self.before, None, date)
            feed.in_flight = numbers.start  # It does not know how many rows are logged.
            feed.until_done(lambda: None)
            self.assertEqual(numbers.start, feed.accepted)
            feed.send_once(len(numbers))
            self.assertEqual(0, feed.stop())
        (self.before / "trace").unlink()
        self.assertEqual(0, self.eod(self.before, FIRST).returncode)

    def eod(self, folder, date, **options):
        return self.run_program("eod", "--config", str(self.config), "--data", str(folder / "data"), "--date", date, **options)

    def check_partition(self, data, date, numbers):
        database = data / "hdb"
        table = kdb_files.read_table(str(database / date / "trade"), kdb_files.Domains(str(database)))
        rows = sorted(zip(table["size"].values, table["sym"].values))
        self.assertEqual(list(zip(numbers, names_of(numbers))), rows, date)

    def check_database(self, data, days):
        for date, numbers in days.items():
            self.check_partition(data, date, numbers)
        checked = self.run_program("hdb", "check", "--strict", str(data / "hdb"))
        self.assertEqual(0, checked.returncode, checked.stdout + checked.stderr)

    # --- an rdb that writes yesterday, which it missed, and today

    def start_rdb(self, config, feed, env=None):
        return self.start_process("rdb", "--config", str(config), "--data", str(feed.data), "--tickerplant",
                                  f"127.0.0.1:{feed.port}", env=env)

    def state_of(self, port):
        """Returns the number of days that the rdb keeps, and its rows; None if it does not say that it has all."""
        try:
            with kdb_ipc.Connection(port, timeout=5) as rdb:
                stats = rdb.call(".rdb.stats[]")
                return (stats["days_kept"], list(rdb.call("exec size from trade"))) if stats["live"] else None
        except UNANSWERED:
            return None

    def live_with_rdb(self, folder, fault, tier):
        shutil.copytree(self.before / "data", folder / "data")
        config = folder / "stack.toml"
        if tier:
            (folder / "data" / "tier").mkdir()
            tier = f'[rdb.tier.pmem]\nkind = "persistent"\npath = "{folder}/data/tier"\nsize = "32MiB"\n' \
                   '[rdb.placement]\ndefault = "pmem"\n'
        config.write_text(CONFIG.format(tier=tier), encoding="utf-8")
        feed = Feed(self, folder, None, THIRD)
        feed.faulty = False
        (folder / "trace").unlink(missing_ok=True)
        feed.in_flight = len(self.ROWS[FIRST]) + len(self.ROWS[SECOND]) + len(self.ROWS[THIRD])
        port, rdb = self.start_rdb(config, feed, failing_calls.environment(feed.data, folder / "rdb-trace", fault))
        feed.send(2)
        patience_s = 0.8 if fault is not None else 30
        becomes(lambda: self.state_of(port) is not None or rdb.poll() is not None, patience_s)
        feed.end_day()
        today = range(feed.accepted, feed.accepted + 6)
        feed.send(2)
        expected = (0, list(today))
        days = {**self.ROWS, THIRD: range(self.ROWS[THIRD].start, today.start)}

        def all_done():
            return all((feed.data / "hdb" / date).is_dir() for date in days) and self.state_of(port) == expected
        done = becomes(lambda: all_done() or rdb.poll() is not None, patience_s)
        outcome = "went on" if done else "waited"

        def has_all_or_says_so():
            state = self.state_of(port)
            return state is None or state[1][-len(today):] == list(today)
        stack.wait_until(has_all_or_says_so, 60, "the rows of an rdb that says it has all")
        if rdb.poll() is not None:
            outcome = "ended"
        rdb.terminate()
        self.check_end(rdb, fault, (0, 1, NOT_STARTED))
        (folder / "rdb-trace").rename(folder / "trace")
        self.check_said(folder / "trace", fault, text_of(rdb))
        port, rdb = self.start_rdb(config, feed)
        stack.wait_until(all_done, 60, "the days, without faults")
        rdb.terminate()
        self.assertEqual(0, rdb.wait(60), text_of(rdb))
        self.assertEqual(0, feed.stop())
        self.check_database(feed.data, days)
        return outcome

    def check_rdb(self, tier):
        def live(folder, fault):
            return self.live_with_rdb(folder, fault, tier)
        whole = self.folder / "whole"
        whole.mkdir()
        self.assertEqual("went on", live(whole, None))
        self.each_fault(whole / "trace", live)

    def test_an_rdb_in_dram_writes_days(self):
        self.check_rdb("")

    def test_an_rdb_in_a_persistent_tier_writes_days(self):
        self.check_rdb("persistent")

    # --- an hdb

    QUESTIONS = tuple(f"exec {what} from trade where date={date}" for date in (FIRST, SECOND)
                      for what in ("asc size", "count i by sym"))

    def answer(self, port, question):
        """Returns the answer of an hdb; None if it is an error."""
        try:
            with kdb_ipc.connect_within(port, 10) as hdb:
                return hdb.call(question)
        except kdb_ipc.QError:
            return None

    def test_an_hdb_answers_right_or_with_an_error(self):
        self.copy_data(self.folder)
        self.assertEqual(0, self.eod(self.folder, SECOND).returncode)
        expected = []

        def serve(folder, fault):
            data = self.folder / "data"
            port, hdb = self.start_process("hdb", "--data", str(data),
                                           env=failing_calls.environment(data, folder / "trace", fault))
            found = [self.answer(port, question) for question in self.QUESTIONS]
            self.answer(port, "\\l .")
            found += [self.answer(port, question) for question in self.QUESTIONS]
            hdb.terminate()
            self.check_end(hdb, fault, (0,))
            if fault is None:
                self.assertNotIn(None, found)
                expected.extend(found)
            for want, have in zip(expected, found):
                if have is not None:
                    self.assertEqual(want, have)
            return "all right" if None not in found else "some right" if any(found) else "errors"
        whole = self.folder / "whole"
        whole.mkdir()
        serve(whole, None)
        self.assertEqual(list(self.ROWS[FIRST]), expected[0])
        self.each_fault(whole / "trace", serve)

    # --- commands

    def check_command(self, prepare, run, check, is_done=lambda said: False):
        """Runs a command under faults: it fails with the error's text and can be run again, or did what it should.
        `prepare(folder)` makes its files, `run(folder, **options)` runs it and returns the finished process,
        `check(folder)` its result. `is_done(said)`: the second run said that the first has done everything."""
        def live(folder, fault):
            prepare(folder)
            done = run(folder, env=failing_calls.environment(folder / "data", folder / "trace", fault))
            self.assertIn(done.returncode, (0, 1), done.stderr)
            if done.returncode == 1:
                # Whether a file is there, which `stat` tells, may decide about another error.
                if fault.kind != "stat":
                    self.assertIn(fault.text, done.stdout + done.stderr)
                self.assertIn(str(folder), done.stdout + done.stderr)
                again = run(folder)
                self.assertTrue(again.returncode == 0 or is_done(again.stderr), again.stdout + again.stderr)
            check(folder)
            return "failed" if done.returncode == 1 else "succeeded"
        whole = self.folder / "whole"
        whole.mkdir()
        self.assertEqual("succeeded", live(whole, None))
        self.each_fault(whole / "trace", live)

    def copy_data(self, folder):
        shutil.copytree(self.before / "data", folder / "data")

    def test_eod_writes_a_day_from_its_log(self):
        days = {date: self.ROWS[date] for date in (FIRST, SECOND)}
        # If only the sync of the database's directory failed, the day is there.
        self.check_command(self.copy_data, lambda folder, **options: self.eod(folder, SECOND, **options),
                           lambda folder: self.check_database(folder / "data", days), lambda said: "the day is written" in said)

    def test_backup_and_restore(self):
        def back_up(folder, **options):
            return self.run_program("backup", str(self.config), str(folder / "data" / "backup"), "--data",
                                    str(folder / "data"), **options)

        def restore(folder, **options):
            return self.run_program("restore", str(folder / "data" / "backup"), str(folder / "data" / "again"), **options)

        def check(folder):
            if not (folder / "data" / "again").exists():
                done = restore(folder)
                self.assertEqual(0, done.returncode, done.stderr)
            self.check_database(folder / "data" / "again", {FIRST: self.ROWS[FIRST]})
            self.assertEqual(list(range(150)), self.logged(folder / "data" / "again"))

        def backed_up(folder):
            self.copy_data(folder)
            self.assertEqual(0, back_up(folder).returncode)
        with self.subTest(command="backup"):
            self.check_command(self.copy_data, back_up, check)
        shutil.rmtree(self.folder / "whole")
        with self.subTest(command="restore"):
            self.check_command(backed_up, restore, check)

    # These answer a question about files, so a call that fails must not pass for a good answer.
    def test_checks_do_not_call_sound_what_they_could_not_read(self):
        log = f"sym{SECOND}"
        for name, arguments in (("log check", ("log", "check", f"data/tplog/{log}")),
                                ("hdb check", ("hdb", "check", "data/hdb"))):
            def check(folder, fault, arguments=arguments):
                self.copy_data(folder)
                path = str(folder / arguments[-1])
                done = self.run_program(*arguments[:-1], path,
                                        env=failing_calls.environment(folder / "data", folder / "trace", fault))
                self.assertIn(done.returncode, (0, 1), done.stderr)
                # A call that failed once may have been made again.
                if failed(folder / "trace") and fault.first == 1 and fault.times > 1 and fault.kind in READS:
                    self.assertEqual(1, done.returncode, failed(folder / "trace"))
                    self.assertIn(fault.text, done.stdout + done.stderr)
                return "failed" if done.returncode == 1 else "succeeded"
            with self.subTest(command=name):
                whole = self.folder / "whole"
                whole.mkdir()
                self.assertEqual("succeeded", check(whole, None))
                for kind in READS:
                    folder = self.folder / kind
                    folder.mkdir()
                    check(folder, failing_calls.Fault(kind, 1, times=failing_calls.ALWAYS))
                    self.assertTrue(failed(folder / "trace") or kind not in traced(whole / "trace"))
                    shutil.rmtree(folder)
                self.each_fault(whole / "trace", check)
                shutil.rmtree(whole)


if __name__ == "__main__":
    stack.main()

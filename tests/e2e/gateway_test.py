#!/usr/bin/env python3
"""Queries through a gateway in front of two rdbs and an hdb: answers are those of one process, also while days end and
rdbs are killed or stopped."""

import datetime
import os
import pathlib
import random
import signal
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kdb_ipc, secured, stack  # noqa: E402
from tests.support.kdb_ipc import Typed  # noqa: E402
from tests.support.moved_clock import MovedClock  # noqa: E402

FIRST_NOON = datetime.datetime(2024, 1, 30, 12)
CONFIG = """
[tables]
trade = "time n, sym s, price f, size j"
quote = "time n, sym s, bid f, ask f"
[tickerplant]
batch_ms = 5
[[rdb]]
[[rdb]]
name = "rdb2"
port = 5012
[hdb]
[eod]
retry_s = 0.1
[gateway]
"""
NAMES = ["A", "B", "C"]
# Without a date they are about the last day.
LAST = ["select from trade", "count quote", "select last bid, max ask by sym from quote where ask>2",
        "aj[`sym`time;select time,sym,price from trade;quote]", "exec sum size from trade",
        "t:select from trade where sym=`A;select count i by sym from t", "{[s]exec max price from trade where sym=s}`B",
        "(`A;2)", "cols trade", "trade", "5#quote", "update mid:(bid+ask)%2 from quote"]
# These do not depend on the order of rows, which is another one in a partition.
DATED = ["select n:count i, avg price, size wavg price, hi:max price, lo:min price by date, sym from trade where {}",
         "select sum size, avg price by sym from trade where {}",
         "`date`time`sym xasc select from trade where {},size>500",
         "`date`sym`time xasc select date,sym,time,mid:(bid+ask)%2 from quote where {},sym in `A`B",
         "asc exec distinct sym from trade where {}", "exec count i from quote where {}",
         "select from (select max price by date,sym from trade where {}) where price>90",
         "(select vwap:(sum price*size)%sum size by sym from trade where {}) lj select max ask by sym from quote where {}",
         "raze {{[d]select n:count i by date from trade where date=d}} each date where {}"]
WHEN = ["date within 2024.01.30 2024.02.01", "date=2024.01.30", "date=2024.01.31", "date=2024.02.01",
        "date>=2024.01.31", "date in 2024.01.30 2024.02.01", "date=last date", "date>2024.02.10"]


class GatewayTest(stack.StackTest):
    def setUp(self):
        super().setUp()
        self.random = random.Random(24)
        self.time = 0
        self.days = 0
        self.clock = MovedClock(self.folder)
        self.addCleanup(self.clock.remove)
        self.clock.set(FIRST_NOON)

    def publish(self, running, rows=300):
        with running.connect("tickerplant") as feed:
            # Sums of quarters are exact, in whatever order they are added.
            draw = lambda most: [0.25 * self.random.randrange(4 * most) for _ in range(rows)]  # noqa: E731
            times = [self.time + 1000 * i for i in range(rows)]
            self.time += 1000 * rows
            names = [self.random.choice(NAMES) for _ in range(rows)]
            sizes = Typed("j", [self.random.randrange(1000) for _ in range(rows)])
            feed.call([b".u.upd", "trade", [Typed("n", times), names, draw(100), sizes]])
            bids = draw(50)
            feed.call([b".u.upd", "quote", [Typed("n", times), names, bids, [bid + 1 for bid in bids]]])

    def wait_for_rows(self, running, rows):
        for rdb in ("rdb", "rdb2"):
            stack.wait_until(lambda: running.count("quote", rdb) == rows, 60, f"all rows in {rdb}")
        # It knows a new table after 0.1 s.
        stack.wait_until(lambda: running.ask("gateway", "all `trade`quote in tables[]"), 60, "the tables")

    def end_day(self, running):
        ended = self.run_program("eod", "--tickerplant", f"127.0.0.1:{running.port('tickerplant')}",
                                 "--rdb", f"127.0.0.1:{running.port('rdb')}", "--timeout", "60")
        self.assertEqual(0, ended.returncode, ended.stdout + ended.stderr)
        self.days += 1
        self.clock.set(FIRST_NOON + datetime.timedelta(days=self.days))

    def dated(self):
        return [query.replace("{{", "{").replace("}}", "}") if "raze" in query and "{}" not in query
                else query.format(*[when] * query.count("{}")) for query in DATED for when in WHEN]

    def test_answers_are_those_of_one_process(self):
        running = self.start_stack(CONFIG)
        self.publish(running)
        self.wait_for_rows(running, 300)
        with running.connect("gateway") as gateway, running.connect("rdb") as rdb:
            for query in LAST:
                self.assertEqual(repr(rdb.call(query)), repr(gateway.call(query)), query)
            for query in ("select nothing from trade", "1+`a", "nobody", "select from trade where date=2024.01.30,"):
                with self.assertRaises(kdb_ipc.QError) as by_rdb:
                    rdb.call(query)
                with self.assertRaises(kdb_ipc.QError) as by_gateway:
                    gateway.call(query)
                self.assertEqual(str(by_rdb.exception), str(by_gateway.exception), query)
            # A long answer is sent on while it arrives.
            for query in ("til 3000000", "(til 500000;string til 300000)", "1000000#enlist `a`b!1 2"):
                answers = []
                for connection in (rdb, gateway):
                    connection.socket.sendall(kdb_ipc.message(kdb_ipc.SYNC, kdb_ipc.encode(query.encode())))
                    answers.append(connection.receive())
                self.assertGreater(len(answers[0][1]), 3_000_000)
                self.assertTrue(answers[0] == answers[1], query)
            # Its client's variables stay in the gateway.
            gateway.call("n:3")
            self.assertEqual(rdb.call("select from trade where i<3"), gateway.call("select from trade where i<n"))
            self.end_day(running)
            self.publish(running, 200)
            self.wait_for_rows(running, 200)
            for query in LAST:
                self.assertEqual(repr(rdb.call(query)), repr(gateway.call(query)), query)
            self.end_day(running)
            self.publish(running, 100)
            self.wait_for_rows(running, 100)
            # Two days are in the hdb, and one is in the rdbs. When the third has ended, the hdb has all of them.
            stack.wait_until(lambda: gateway.call("count date") == 3, 60, "three days")
            before = {query: repr(gateway.call(query)) for query in self.dated()}
            stats = gateway.call(".gateway.stats[]")
            self.assertGreater(stats["parts"], 100)
            self.end_day(running)
            with running.connect("hdb") as hdb:
                self.assertEqual(3, hdb.call("count date"))
                for query, answer in before.items():
                    self.assertEqual(repr(hdb.call(query)), answer, query)
            self.assertEqual(["rdb", "rdb", "hdb"], gateway.call("exec side from .gateway.replicas[]"))
            self.assertEqual(["live"] * 3, gateway.call("exec state from .gateway.replicas[]"))

    def test_days_end_while_it_answers(self):
        running = self.start_stack(CONFIG)
        query = "exec sum n from select n:count i by date from trade where date>2024.01.01"
        stop, seen, errors = threading.Event(), [], []

        def ask():
            with running.connect("gateway") as gateway:
                while not stop.is_set():
                    try:
                        seen.append(gateway.call(query))
                    except kdb_ipc.QError as error:
                        errors.append(str(error))
        total = 0
        self.publish(running)
        total += 300
        self.wait_for_rows(running, 300)
        with running.connect("gateway") as gateway:
            stack.wait_until(lambda: gateway.call("count date") == 1, 60, "the day")
        threads = [threading.Thread(target=ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(6):
                time.sleep(0.3)
                self.end_day(running)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        self.assertEqual([], errors)
        self.assertEqual({total}, set(seen), "a day is missing, or taken twice")
        self.assertGreater(len(seen), 20)

    def test_a_day_that_waits_for_the_hdb_is_answered_by_its_rdb(self):
        running = self.start_stack(CONFIG)
        self.publish(running)
        self.wait_for_rows(running, 300)
        hdb = running.pid("hdb")
        with running.connect("gateway") as gateway:
            os.kill(hdb, signal.SIGSTOP)
            try:
                ending = threading.Thread(target=self.end_day, args=(running,))
                ending.start()
                stack.wait_until(lambda: running.count("trade", "rdb2") == 0, 60, "the end of the day")
                # The gateway asks both rdbs at the same time. When it has heard of both days from the rdb that keeps
                # the ended one, the other rdb may have answered before it began the next day.
                stack.wait_until(lambda: gateway.call("count date") == 2, 60, "the next day")
                stack.wait_until(lambda: gateway.call("count trade") == 0, 60, "the rdb that has only the next day")
                self.assertEqual(300, running.count("trade"), "it keeps the day until the hdb has it")
                for _ in range(20):
                    self.assertEqual(0, gateway.call("count trade"), "not that of the ended day now and then")
                    self.assertEqual(0, gateway.call("count select from t:trade"))
                    self.assertEqual(300, gateway.call("exec count i from trade where date=first date"))
            finally:
                os.kill(hdb, signal.SIGCONT)
            ending.join()
            self.assertEqual(300, gateway.call("exec count i from trade where date=first date"))

    # Goal: a day that cannot be written is never answered as a day without rows. Method: the list of the database's
    # segments is empty; the rdb that has the day in memory is killed; then the list is mended.
    def test_a_blocked_day_is_an_error(self):
        running = self.start_stack(CONFIG)
        self.publish(running)
        self.wait_for_rows(running, 300)
        database = running.data / "hdb"
        database.mkdir(exist_ok=True)
        (database / "par.txt").write_text("")
        ended = self.run_program("eod", "--tickerplant", f"127.0.0.1:{running.port('tickerplant')}",
                                 "--rdb", f"127.0.0.1:{running.port('rdb')}", "--timeout", "60")
        self.assertEqual(1, ended.returncode, ended.stdout)
        self.assertIn("par.txt: no lines", ended.stderr)
        self.clock.set(FIRST_NOON + datetime.timedelta(days=1))
        query = "exec count i from trade where date=2024.01.30"
        with running.connect("gateway") as gateway:
            stack.wait_until(lambda: gateway.call("count date") == 2, 60, "the next day")
            self.assertEqual(300, gateway.call(query), "the rdb has it in memory")
            running.kill("rdb")
            errors = []

            def is_named():
                try:
                    self.assertEqual(300, gateway.call(query))
                except kdb_ipc.QError as error:
                    errors.append(str(error))
                return errors and "the day is not written: 2024.01.30: " in errors[-1]
            stack.wait_until(is_named, 60, "the reason")
            self.assertIn("par.txt: no lines", errors[-1])
            segment = self.folder / "segment"
            segment.mkdir()
            (database / "par.txt").write_text(f"{segment}\n")

            def is_answered():
                try:
                    return gateway.call(query) == 300
                except kdb_ipc.QError:
                    return False
            stack.wait_until(is_answered, 60, "the day")
        self.assertEqual(0, running.stop(), running.log_text())

    # Goal: a table that is left out of a day is an error for that day only, and other tables are answered. Method: the
    # log of a past day, the first of the database, has a row of another type; then a log without it takes its place.
    def test_a_table_that_is_left_out_is_an_error(self):
        def upd(table, *columns):
            return kdb_ipc.encode(["upd", table, [Typed("n", [1, 2]), ["A", "B"], [1.0, 2.0], *columns]])
        head, quotes = b"\xff\x01" + bytes(6), upd("quote", [2.0, 3.0])
        log = self.folder / "stack" / "data" / "tplog" / "sym2024.01.29"
        log.parent.mkdir(parents=True)
        log.write_bytes(head + upd("trade", [1.5, 2.5]) + quotes)
        running = self.start_stack(CONFIG)
        self.publish(running)
        self.wait_for_rows(running, 300)
        with running.connect("gateway") as gateway:
            stack.wait_until(lambda: gateway.call("2024.01.29 in date"), 60, "the past day")

            def answer(query):
                try:
                    return gateway.call(query)
                except kdb_ipc.QError as error:
                    return str(error)
            of_day = "exec count i from {} where date=2024.01.29"
            stack.wait_until(lambda: answer(of_day.format("quote")) == 2, 60, "the other table")
            for query in (of_day.format("trade"), "select from trade where date=2024.01.29",
                          "exec sum size from trade where date within 2024.01.29 2024.01.30"):
                self.assertRegex(str(answer(query)), "2024.01.29/trade: the table of this day is not written: .*size", query)
            self.assertEqual(300, answer("exec count i from trade where date=2024.01.30"))
            # A whole log in one step, since the rdb reads it again and again.
            right = self.folder / "right"
            right.write_bytes(head + upd("trade", Typed("j", [1, 2])) + quotes)
            right.replace(log)

            def is_written():
                # Its index is of the log before, and so may be one that the rdb has just written.
                for file in log.parent.glob(f"{log.name}.*"):
                    file.unlink(missing_ok=True)
                return answer(of_day.format("trade")) == 2
            stack.wait_until(is_written, 60, "the table")
            self.assertEqual(3, answer("exec sum size from trade where date=2024.01.29"))
        self.assertEqual(0, running.stop(), running.log_text())

    def test_rdbs_die_and_hang_while_it_answers(self):
        running = self.start_stack(CONFIG)
        self.publish(running)
        self.wait_for_rows(running, 300)
        self.end_day(running)
        self.publish(running, 200)
        self.wait_for_rows(running, 200)
        queries = ["select n:count i, sum size, avg price by date,sym from trade where date>2024.01.01",
                   "select last bid by sym from quote", "count trade", "select from trade where sym=`A"]
        with running.connect("gateway") as gateway:
            stack.wait_until(lambda: gateway.call("count date") == 2, 60, "both days")
            right = {query: repr(gateway.call(query)) for query in queries}
        stop, wrong, took_ms = threading.Event(), [], []

        def ask(seed):
            draw = random.Random(seed)
            with running.connect("gateway") as gateway:
                while not stop.is_set():
                    query = draw.choice(queries)
                    begin = time.monotonic()
                    try:
                        answer = repr(gateway.call(query))
                    except kdb_ipc.QError as error:
                        answer = str(error)
                    took_ms.append(1000 * (time.monotonic() - begin))
                    if answer != right[query]:
                        wrong.append((query, answer))

        def are_live():
            with running.connect("gateway") as gateway:
                return gateway.call("all `live=exec state from .gateway.replicas[]")
        threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        try:
            for i in range(6):
                name = ("rdb", "rdb2")[i % 2]
                other = ("rdb2", "rdb")[i % 2]
                running.kill(name)
                stack.wait_until(are_live, 60, "both rdbs")
                pid = running.pid(other)
                os.kill(pid, signal.SIGSTOP)
                try:
                    time.sleep(0.7)
                finally:
                    os.kill(pid, signal.SIGCONT)
                stack.wait_until(are_live, 60, "both rdbs")
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        took_ms.sort()
        print(f"{len(took_ms)} answers, ms: p50 {took_ms[len(took_ms) // 2]:.2f}, "
              f"p99 {took_ms[len(took_ms) * 99 // 100]:.2f}, longest {took_ms[-1]:.0f}", file=sys.stderr)
        self.assertEqual([], wrong[:3])
        self.assertGreater(len(took_ms), 100)
        with running.connect("gateway") as gateway:
            self.assertGreater(gateway.call("exec sum hedged+failures from .gateway.replicas[]"), 0)

    def test_without_a_live_rdb_it_says_so(self):
        running = self.start_stack(CONFIG)
        self.publish(running)
        self.wait_for_rows(running, 300)
        pids = [running.pid(name) for name in ("rdb", "rdb2")]
        with running.connect("gateway") as gateway:
            self.assertEqual(300, gateway.call("count trade"))
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            # Rdbs that still read the log are not asked: what they have is not all.
            answers = set()

            def answered():
                try:
                    answers.add(gateway.call("count trade"))
                except kdb_ipc.QError as error:
                    self.assertRegex(str(error), r"^rdb: no answer: 127.0.0.1:\d+: .*; 127.0.0.1:\d+: ")
                return answers
            stack.wait_until(answered, 60, "an answer")
            self.assertEqual({300}, answers)


class GatewayUsersTest(secured.SecuredTest):
    def connect(self, running, process, user):
        return running.connect(process, user=user, password=secured.PASSWORD)

    def test_rights_are_those_at_the_other_processes(self):
        running = self.start_secured(CONFIG, users=True, tls=False)
        with self.connect(running, "tickerplant", "client") as feed:
            feed.call([b".u.upd", "trade", [Typed("n", [1, 2]), ["A", "B"], [1.0, 2.0], Typed("j", [10, 20])]])
            feed.call([b".u.upd", "quote", [Typed("n", [1]), ["A"], [1.0], [2.0]]])
        with self.connect(running, "gateway", "client") as client, self.connect(running, "gateway", "reader") as reader:
            stack.wait_until(lambda: client.call("all `trade`quote in tables[]"), 60, "the tables")
            stack.wait_until(lambda: client.call("count trade") == 2 and client.call("count quote") == 1, 60, "rows")
            whole = client.call(".gateway.stats[]`whole")
            self.assertEqual(30, client.call("exec sum size from trade"))
            self.assertEqual(whole, client.call(".gateway.stats[]`whole"), "rights are checked in the gateway")
            self.assertEqual(2, client.call("count select from trade where date>2000.01.01"))
            with self.assertRaisesRegex(kdb_ipc.QError, "rdb.latency"):
                client.call(".rdb.latency[`reset]")
            self.assertEqual(1, reader.call("count quote"))
            self.assertEqual(1, reader.call("count select from quote where date>2000.01.01"))
            self.assertEqual(["quote"], reader.call("tables[]"))
            for query in ("count trade", "select from trade", "select from trade where date>2000.01.01", "trade",
                          "?[`trade;();0b;()]", "eval parse\"select from trade\"", "value\"count trade\"",
                          "select from quote where sym in exec sym from trade", "{count trade}[]",
                          "aj[`sym`time;trade;quote]"):
                with self.assertRaisesRegex(kdb_ipc.QError, "^access: reader may not query trade", msg=query):
                    reader.call(query)
            # Nothing that these expressions make is evaluated with the rights of the gateway at an rdb.
            for query in ("exec {value y}[sym;\"exec sum size from trade\"] from quote", "exec {get y}[sym;`trade] from quote",
                          "exec {x;`trade[`size]}[sym] from quote", "exec {x;?[`trade;();();(sum;`size)]}[sym] from quote",
                          "exec sum (get `$\"trade\",0#string first sym)`size from quote",
                          "?[`quote;();0b;(enlist`a)!enlist(value;(,;\"exec sum size from trade\";(#;0;(string;(first;`sym)))))]",
                          "exec sum {value y}[sym;\"exec size from trade\"] from quote where date>2000.01.01",
                          "exec {x;meta `trade}[sym] from quote", "exec {x;cols `trade}[sym] from quote"):
                with self.assertRaises(kdb_ipc.QError, msg=query):
                    reader.call(query)
            for who in (reader, client):
                for query in ("exec {value y}[sym;\".rdb.latency[`reset]\"] from quote", "`.rdb.latency[`reset]",
                              "`.rdb.latency@`reset", "@[`.rdb.latency;`reset]", "exec `.rdb.latency[`reset] from quote",
                              "?[`quote;();();(`.rdb.latency;enlist`reset)]"):
                    with self.assertRaises(kdb_ipc.QError, msg=query):
                        who.call(query)


class UrgentUsersTest(stack.StackTest):
    def test_their_questions_go_to_other_rdbs(self):
        running = self.start_stack(CONFIG + 'urgent_rdbs = ["rdb2"]\nurgent_users = ["desk"]\n')
        answers = "exec answers from .gateway.replicas[] where side=`rdb"
        with running.connect("gateway", user="desk") as desk, running.connect("gateway", user="other") as other:
            self.assertEqual([False, True], [bool(flag) for flag in desk.call(
                "exec urgent from .gateway.replicas[] where side=`rdb")])
            stack.wait_until(lambda: desk.call("all `live=exec state from .gateway.replicas[] where side=`rdb"), 30,
                             "both rdbs")

            def answered(client):
                """Which rdbs answer five questions of the client, and how often."""
                before = client.call(answers)
                for _ in range(5):
                    client.call("count trade")
                return [after - had for after, had in zip(client.call(answers), before)]
            # If the machine is busy, an rdb may be silent for a moment, and the other one is asked.
            stack.wait_until(lambda: answered(desk) == [0, 5], 60, "the answers of the urgent users' rdb")
            stack.wait_until(lambda: answered(other) == [5, 0], 60, "the answers of the other rdb")


if __name__ == "__main__":
    stack.main()

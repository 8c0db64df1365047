#!/usr/bin/env python3
"""Where an rdb's columns are: what `tickstack tiers` predicts and what a running rdb does, a tier that fills up, and
equal answers whatever the memory."""

import csv
import json
import pathlib
import random
import re
import shutil
import sys
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kdb_ipc, stack  # noqa: E402

DATE = "2013.10.07"
SYMBOLS = ("AIG", "BAC", "IBM")
QUOTES, TRADES = 1_665_857, 137_816


def raw_answer(connection, query):
    """Returns the bytes of an answer's body."""
    connection.socket.sendall(kdb_ipc.message(kdb_ipc.SYNC, kdb_ipc.encode(query.encode())))
    kind, body = connection.receive()
    assert kind == kdb_ipc.RESPONSE
    return body


def rows_of(table):
    """Returns a q table as a list of dictionaries."""
    return [dict(zip(table, row)) for row in zip(*table.values())]


def wait_for_log(running, pattern):
    """A process may log what happened after it answers that it did."""
    stack.wait_until(lambda: re.search(pattern, running.log_text()), 60, f"in the log: {pattern}")


def wait_for_rows(running, rows, rdb="rdb"):
    stack.wait_until(lambda: running.count("quote", rdb) + running.count("trade", rdb) >= rows, 120, f"{rows} rows in {rdb}")


class PlacementTest(stack.StackTest):
    ROWS = 300_000

    def predicted(self, path, rows):
        done = self.run_program("tiers", str(path), "--json", "--rows", str(rows))
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        (rdb,) = json.loads(done.stdout)["rdbs"]
        return rdb

    def check_example(self, name):
        example = (stack.ROOT / "examples" / name).read_text(encoding="utf-8")
        config = example.replace("rate = 4800", "rate = 0").replace("seconds = 120", f"rows = {self.ROWS}")
        self.assertNotEqual(example, config)
        running = self.start_stack(config, "--date", DATE, name=name)
        wait_for_rows(running, self.ROWS)
        counts = {table: running.count(table) for table in ("trade", "quote")}
        parts = rows_of(running.ask("rdb", ".tier.of[]"))
        of_quote = running.ask("rdb", ".tier.of[`quote]")
        tiers = {tier["tier"]: tier for tier in rows_of(running.ask("rdb", ".tier.stats[]"))}
        self.assertEqual(0, running.stop(), running.log_text())

        path = stack.ROOT / "examples" / name
        expected = {table: [part for part in self.predicted(path, rows)["columns"] if part["table"] == table]
                    for table, rows in counts.items()}
        self.assertEqual([(part["table"], part["column"], part["tier"])
                          for table in ("quote", "trade") for part in expected[table]],
                         [(part["table"], part["column"], part["tier"]) for part in parts])
        self.assertEqual({part["column"]: part["tier"] for part in expected["quote"]}, of_quote)
        index_bytes = {}
        for part, want in zip(parts, expected["quote"] + expected["trade"]):
            with self.subTest(table=part["table"], column=part["column"]):
                if part["column"] == "index":  # Depends on the symbols of the rows.
                    index_bytes[part["table"]] = part["bytes"]
                    self.assertLess(abs(part["bytes"] - want["bytes"]), 0.25 * want["bytes"])
                else:
                    self.assertEqual(want["bytes"], part["bytes"])
        for want in self.predicted(path, 1)["tiers"]:
            have = tiers[want["tier"]]
            self.assertEqual(want["kind"], have["kind"])
            self.assertEqual(want["path"], have["path"])
            self.assertEqual(want["filesystem"], have["filesystem"])
            self.assertEqual(want["dax"], have["dax"])
            self.assertEqual(want["size_bytes"] or (1 << 63) - 1, have["capacity"])
            self.assertEqual(sum(part["bytes"] for part in parts if part["tier"] == want["tier"]), have["used"])

    def test_a_running_rdb_has_its_rows_where_tiers_says(self):
        for name in ("hybrid.toml", "cold_columns.toml"):
            with self.subTest(example=name):
                self.check_example(name)

    def test_tiers_shows_tables_and_fails_as_a_start_would(self):
        done = self.run_program("tiers", str(stack.ROOT / "examples" / "hybrid.toml"))
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^quote +bid +f +pmem +")
        self.assertRegex(done.stdout, r"(?m)^quote +index +dram +")
        done = self.run_program("tiers", str(stack.ROOT / "examples" / "simulated.toml"))
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("simulate optane-dc (SIMULATED)", done.stdout)

        path = self.folder / "tiers.toml"

        def run(text):
            path.write_text("[tickerplant]\n[[rdb]]\n" + text)
            done = self.run_program("tiers", str(path), "--json", "--rows", "1")
            return done.returncode, done.stderr

        self.assertEqual((2, f"{path}:4:8: rdb[0].placement.quot: no table \"quot\": expected default, index, "
                          "query, or one of trade, quote\n"), run("[rdb.placement]\nquot = 'dram'\n"))
        self.assertEqual((0, f"warning: {path}:3:1: rdb[0].tier.t: this tier is declared, and nothing is placed "
                          "in it\n"), run("[rdb.tier.t]\nkind='filesystem'\npath='/no/directory'\nsize='1GiB'\n"))
        code, said = run("[rdb.tier.t]\nkind='filesystem'\npath='/no/directory'\nsize='1GiB'\n"
                         "[rdb.placement]\ndefault='t'\n")
        self.assertEqual(1, code)
        self.assertIn("rdb rdb: tier t: ", said)
        self.assertIn("/no/directory", said)
        code, said = run(f"[rdb.tier.t]\nkind='filesystem'\npath='{self.folder}'\nsize='1000TiB'\n"
                         "[rdb.placement]\ndefault='t'\n")
        self.assertEqual(1, code)
        self.assertRegex(said, r"tier t: size is 1099511627776000 bytes, .* has \d+ free")
        # Rows by table, and whether they fit.
        path.write_text(f"[tickerplant]\n[[rdb]]\n[rdb.tier.t]\nkind='filesystem'\npath='{self.folder}'\n"
                        "size='64MiB'\n[rdb.placement]\ndefault='t'\n")
        done = self.run_program("tiers", str(path), "--rows", "10000,quote=500000")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertNotIn("too small", done.stderr)
        self.assertIn("rdb rdb, 10000 rows of trade, 500000 rows of quote", done.stdout)
        self.assertRegex(done.stdout, r"\nVerdict: tier t is large enough: the rows need .* of 64.0 MiB \(\d+ %\)\.\n")
        done = self.run_program("tiers", str(path), "--json", "--rows", "quote=50000000,trade=1")
        (rdb,) = json.loads(done.stdout)["rdbs"]
        self.assertEqual({"trade": 1, "quote": 50_000_000}, rdb["rows"])
        self.assertEqual("too_small", rdb["tiers"][1]["verdict"])
        quote = {part["column"]: part["bytes"] for part in rdb["columns"] if part["table"] == "quote"}
        self.assertLess(abs(quote["bid"] - 8 * 50_000_000), 4 << 20)
        self.assertEqual(1, done.returncode)
        self.assertRegex(done.stderr, r"(?m)^rdb rdb: tier t is too small, rows will be refused: the rows need .* of 64.0 MiB")
        done = self.run_program("tiers", "--rows", "quot=5", str(path))
        self.assertEqual((2, '--rows: no table "quot": expected one of trade, quote\n'), (done.returncode, done.stderr))
        path.write_text("[tickerplant]\n[[rdb]]\n")
        done = self.run_program("tiers", str(path), "--rows", "4000000000")
        self.assertEqual(1, done.returncode)
        self.assertRegex(done.stderr, r"^all rdbs: rows in DRAM need .* GiB, and the machine has .* GiB\n$")
        code, said = run("numa_node = 1023\n")
        self.assertEqual(1, code)
        self.assertIn("rdb rdb: numa_node: ", said)
        self.assertEqual(2, self.run_program("tiers", "/no/file.toml").returncode)
        path.write_text("[tickerplant]\n")
        self.assertEqual(2, self.run_program("tiers", str(path)).returncode)


class FullTierTest(stack.StackTest):
    ROWS = 900_000
    CONFIG = """
[tier.small]
kind = "filesystem"
path = "{path}"
size = "{size}"
[placement]
default = "small"
[tickerplant]
batch_ms = 5
[[rdb]]
[feed]
rate = 0
rows = 900000
batch_rows = 1000
[monitor]
query_ms = 50
progress_s = 0
"""
    FIRST_ROWS = "select from quote where i<100000"
    QUERIES = (FIRST_ROWS, "select sum bid, max time, count i by sym from quote", "select[-1000] from trade",
               "select last bid, last ask from quote where sym=`SPY",
               "aj[`sym`time;select sym,time,price from trade where sym=`SPY;select sym,time,bid from quote]")

    def start(self, size, overflow=""):
        config = self.CONFIG.format(path=self.folder, size=size)
        return self.start_stack(config.replace("[placement]", overflow + "[placement]"), "--date", DATE)

    def test_rows_go_to_dram_when_the_tier_is_full(self):
        overflow = 'overflow = "dram"\noverflow_size = "256MiB"\n'
        running = self.start("32MiB", overflow)
        wait_for_rows(running, self.ROWS)

        def check_the_overflow():
            self.assertEqual((0, 0), tuple(running.ask("rdb", ".rdb.stats[]")[key] for key in ("rows_refused", "incomplete")))
            tiers = {tier["tier"]: tier for tier in rows_of(running.ask("rdb", ".tier.stats[]"))}
            used = tiers["small"]["overflow_used"]
            self.assertGreater(used, 4 << 20)
            self.assertEqual((256 << 20, 0), (tiers["small"]["overflow_capacity"], tiers["small"]["refused"]))
            parts = rows_of(running.ask("rdb", ".tier.of[]"))
            self.assertEqual(tiers["small"]["used"] + used, sum(part["bytes"] for part in parts))
        check_the_overflow()
        with running.connect("rdb") as rdb:
            answers = [raw_answer(rdb, query) for query in self.QUERIES]
        stack.wait_until(lambda: "tier is full, new rows go to DRAM tier=small" in running.log_text(), 60, "the warning")
        port = running.port("rdb")
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=20)
        self.assertRegex(refused.exception.read().decode(), r"- tier small was full: .* in DRAM, its overflow has at most 256 MiB\n")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20) as page:
            self.assertRegex(page.read().decode(), r'tickstack_rdb_tier_overflow_used_bytes\{[^}]*tier="small"[^}]*\} [1-9]')
        # A restarted rdb has the same rows from the log, and the same answers.
        running.kill("rdb")
        stack.wait_until(lambda: running.ask("rdb", ".rdb.stats[]")["live"] == 1, 60, "the rdb live again")
        wait_for_rows(running, self.ROWS)
        check_the_overflow()
        with running.connect("rdb") as rdb:
            self.assertEqual(answers, [raw_answer(rdb, query) for query in self.QUERIES])
        self.assertEqual(0, running.stop(), running.log_text())

        # The overflow is bounded, and a tier that is large enough gives the same answers.
        running = self.start("16MiB", overflow.replace("256", "16"))
        stack.wait_until(lambda: running.ask("rdb", ".rdb.stats[]")["rows_refused"] > 0, 60, "refused rows")
        wait_for_log(running, r"E rdb upd refused table=\w+ .*tier small: .*; tier small.overflow: ")
        self.assertEqual(0, running.stop(), running.log_text())
        running = self.start("192MiB")
        wait_for_rows(running, self.ROWS)
        with running.connect("rdb") as rdb:
            self.assertEqual(answers, [raw_answer(rdb, query) for query in self.QUERIES])
        self.assertEqual(0, running.stop(), running.log_text())

    def test_a_full_tier_refuses_rows_and_a_larger_one_gets_them_from_the_log(self):
        running = self.start("32MiB")
        pid = running.pid("rdb")

        def all_came():
            stats = running.ask("rdb", ".rdb.stats[]")
            taken = stats["rows"] + stats["rows_replayed"] + stats["rows_refused"]
            return stats if taken >= self.ROWS else None
        stats = stack.wait_until(all_came, 60, "every row taken or refused")
        self.assertGreater(stats["rows_refused"], 0)
        self.assertEqual(stats["rows"] + stats["rows_replayed"], running.count("quote") + running.count("trade"))
        with running.connect("rdb") as rdb:
            first_rows = raw_answer(rdb, self.FIRST_ROWS)
            tiers = {tier["tier"]: tier for tier in rows_of(rdb.call(".tier.stats[]"))}
            self.assertGreater(rdb.call("exec sum bsize from quote"), 0)
        self.assertGreater(tiers["small"]["refused"], 0)
        self.assertLessEqual(tiers["small"]["used"], tiers["small"]["capacity"])
        self.assertEqual(32 << 20, tiers["small"]["capacity"])

        stack.wait_until(lambda: "rdb refuses rows" in running.log_text(), 60, "the monitor's warning")
        wait_for_log(running, r"W monitor rdb refuses rows rows=\d+ rows_refused=\d+ full_tiers=small")
        wait_for_log(running, r"E rdb upd refused table=\w+ rows=\d+ error=.*tier small")
        self.assertEqual(pid, running.pid("rdb"))
        self.assertTrue(stack.is_alive(pid))
        # Polled once a second: the last sample has the final state.
        samples = running.data / "monitor" / "monitor.csv"
        stack.wait_until(lambda: self.last_sample(samples)["stats.rows_refused"] == str(stats["rows_refused"]),
                         30, "a sample that has all refused rows")
        self.assertGreater(int(self.last_sample(samples)["tier.small.used"]), 16 << 20)
        self.assertIn("tier.small.resident", self.last_sample(samples))
        self.assertEqual(0, running.stop(), running.log_text())
        self.assertIn("tier small", (running.data / "monitor" / "monitor.summary.txt").read_text())

        larger = self.start("192MiB")
        wait_for_rows(larger, self.ROWS)
        self.assertEqual(self.ROWS, larger.count("quote") + larger.count("trade"))
        self.assertEqual(0, larger.ask("rdb", ".rdb.stats[]")["rows_refused"])
        with larger.connect("rdb") as rdb:
            self.assertEqual(first_rows, raw_answer(rdb, self.FIRST_ROWS))
        self.assertEqual(0, larger.stop(), larger.log_text())

    def last_sample(self, path):
        with open(path, newline="", encoding="utf-8") as file:
            whole = [row for row in csv.DictReader(file) if None not in row.values()]
        return whole[-1] if whole else {"stats.rows_refused": None}


class AgedRowsTest(stack.StackTest):
    """Old rows move to a second tier while rows arrive and queries run."""

    ROWS = 1_500_000  # Some 80 MB with the index.
    CONFIG = """
[tier.recent]
kind = "dram"
size = "{recent}"
[tier.older]
kind = "filesystem"
path = "{path}"
size = "{older}"
[placement]
default = "recent"
then = "older"
older_than_minutes = 60
[tickerplant]
batch_ms = 5
[eod]
retry_s = 0.1
[health]
disk_free = "1B"
[feed]
rate = 400000
rows = {rows}
batch_rows = 1000
[[rdb]]
name = "aged"
"""
    PLAIN = """
[[rdb]]
name = "plain"
port = 5012
[rdb.tier.all]
kind = "dram"
[rdb.placement]
default = "all"
then = ""
"""
    QUERIES = ("select from quote where i<100000", "select sum bid, max time, count i by sym from quote",
               "select[-1000] from trade", "select first bid, last ask from quote where sym=`SPY",
               "aj[`sym`time;select sym,time,price from trade where sym=`SPY;select sym,time,bid from quote]",
               "exec sum bsize from quote", "select avg asize by 5 xbar time.minute from quote where sym in `SPY`AAPL")

    def start(self, recent, older, rows=ROWS, date=DATE, more=""):
        config = self.CONFIG.format(path=self.folder, recent=recent, older=older, rows=rows)
        return self.start_stack(config + more, "--date", date)

    def test_a_day_larger_than_the_tier_of_recent_rows_is_captured_queried_and_written(self):
        running = self.start("24MiB", "160MiB", more=self.PLAIN)
        # Answers are the same while chunks move. The rdbs may have other rows of the day: asks for those of both.
        asked = 0
        while running.count("quote", "aged") + running.count("trade", "aged") < self.ROWS:
            rows = min(running.count("quote", rdb) for rdb in ("aged", "plain"))
            if rows > 0:
                query = f"select sum bid, sum bsize, last time by sym from quote where i<{rows}"
                with running.connect("aged") as aged, running.connect("plain") as plain:
                    self.assertEqual(raw_answer(plain, query), raw_answer(aged, query))
                asked += 1
        self.assertGreater(asked, 0)
        wait_for_rows(running, self.ROWS, "plain")
        stats = running.ask("aged", ".rdb.stats[]")
        self.assertEqual((0, 0, 0), tuple(stats[key] for key in ("rows_refused", "incomplete", "moves_refused")))
        self.assertEqual(0, running.ask("plain", ".rdb.stats[]")["rows_moved"])
        tiers = {tier["tier"]: tier for tier in rows_of(running.ask("aged", ".tier.stats[]"))}
        self.assertGreater(tiers["older"]["used"], 40 << 20)
        self.assertEqual({"dram": 0, "recent": 1, "older": 0}, {name: tier["passes_on"] for name, tier in tiers.items()})
        with urllib.request.urlopen(f"http://127.0.0.1:{running.port('aged')}/readyz", timeout=20) as page:
            self.assertEqual(200, page.status)  # A full tier of recent rows is no reason to be unready.
        self.assertEqual(0, tiers["recent"]["refused"])
        parts = rows_of(running.ask("aged", ".tier.of[]"))
        self.assertEqual({("quote", "bid", "recent"), ("quote", "bid", "older")},
                         {tuple(part[key] for key in ("table", "column", "tier"))
                          for part in parts if (part["table"], part["column"]) == ("quote", "bid")})
        self.assertEqual({"recent"}, set(running.ask("aged", ".tier.of[`quote]").values()))
        with running.connect("aged") as aged, running.connect("plain") as plain:
            for query in self.QUERIES:
                answer = raw_answer(plain, query)
                self.assertNotEqual(128, answer[0], answer[1:100])
                self.assertEqual(answer, raw_answer(aged, query), query)
        # `tickstack tiers` predicts the tier to which rows move.
        done = self.run_program("tiers", str(running.folder / "stack.toml"), "--rows", f"quote={self.ROWS},trade=1")
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertIn("Verdict: tier recent passes its rows on when they are old or it is nearly full.\n", done.stdout)
        self.assertRegex(done.stdout, r"(?m)^Verdict: tier older is large enough")
        done = self.run_program("tiers", str(running.folder / "stack.toml"), "--rows", "quote=50000000,trade=1")
        self.assertEqual(1, done.returncode)
        self.assertIn("tier older is too small, rows will be refused", done.stderr)
        # A killed rdb has all rows from the log again, and moves them again.
        running.kill("aged")
        wait_for_rows(running, self.ROWS, "aged")
        with running.connect("aged") as aged, running.connect("plain") as plain:
            for query in self.QUERIES:
                self.assertEqual(raw_answer(plain, query), raw_answer(aged, query), query)
        # Its end of day writes rows from both tiers.
        checksum = running.ask("plain", ".rdb.checksum[`quote]")
        self.assertEqual(checksum, running.ask("aged", ".rdb.checksum[`quote]"))
        ended = self.run_program("eod", "--tickerplant", f"127.0.0.1:{running.port('tickerplant')}",
                                 "--rdb", f"127.0.0.1:{running.port('aged')}", "--timeout", "120")
        self.assertEqual(0, ended.returncode, ended.stdout + ended.stderr + running.log_text())
        checked = self.run_program("hdb", "check", str(running.data / "hdb"))
        self.assertEqual(0, checked.returncode, checked.stdout + checked.stderr)
        self.assertEqual(0, running.stop(), running.log_text())

    def test_a_past_day_goes_through_the_tier_of_older_rows(self):
        running = self.start("24MiB", "160MiB")
        wait_for_rows(running, self.ROWS, "aged")
        self.assertEqual(0, running.stop(), running.log_text())
        # The next start finds a log without a partition, and replays it into the tier that has room for it.
        running = self.start("24MiB", "160MiB", rows=1, date="2013.10.08")
        stack.wait_until(lambda: f"day written date={DATE}" in running.log_text(), 60, "the day")
        self.assertEqual(0, running.stop(), running.log_text())
        # Without room it waits, and says for what.
        shutil.rmtree(running.data / "hdb" / DATE)
        running = self.start("24MiB", "48MiB", rows=1, date="2013.10.08")
        blocked = stack.wait_until(lambda: running.ask("aged", ".rdb.blocked[]"), 60, "the blocked day")
        self.assertRegex(blocked.decode(), r"^2013\.10\.07: .*tier older does not hold \d+ of its rows")
        self.assertEqual(0, running.stop(), running.log_text())

    def test_rows_are_refused_only_if_both_tiers_are_full(self):
        running = self.start("16MiB", "24MiB")

        def all_came():
            stats = running.ask("aged", ".rdb.stats[]")
            return stats if stats["rows"] + stats["rows_replayed"] + stats["rows_refused"] >= self.ROWS else None
        stats = stack.wait_until(all_came, 60, "every row taken or refused")
        self.assertGreater(stats["rows_refused"], 0)
        wait_for_log(running, r"E aged upd refused table=\w+ .*tier older: ")
        stack.wait_until(lambda: "old rows stay in their tier" in running.log_text(), 60, "the mover's error")
        tiers = {tier["tier"]: tier for tier in rows_of(running.ask("aged", ".tier.stats[]"))}
        for tier in ("recent", "older"):
            self.assertGreater(tiers[tier]["used"], 0.75 * tiers[tier]["capacity"])
        self.assertEqual(stats["rows"] + stats["rows_replayed"],
                         running.count("quote", "aged") + running.count("trade", "aged"))
        self.assertEqual(0, running.stop(), running.log_text())


class Questions:
    """Queries of docs/q.md's subset on the default tables, drawn from a seed."""

    NUMBERS = {"trade": ("price", "size"), "quote": ("bid", "ask", "bsize", "asize")}
    OTHERS = {"trade": ("time", "sym", "stop", "cond", "ex"), "quote": ("time", "sym", "mode", "ex")}
    AGGREGATES = ("max", "min", "sum", "avg", "first", "last", "count")

    def __init__(self, seed):
        self.random = random.Random(seed)

    def window(self, minutes):
        """Returns a condition on time: some minutes of the day."""
        begin = self.random.randrange(9 * 60 + 30, 16 * 60 - minutes)
        end = begin + minutes
        return f"time within {begin // 60:02}:{begin % 60:02} {end // 60:02}:{end % 60:02}"

    def symbols(self):
        if self.random.random() < 0.6:
            return f"sym=`{self.random.choice(SYMBOLS)}"
        return "sym in `" + "`".join(self.random.sample(SYMBOLS, 2))

    def condition(self, table):
        column = self.random.choice(self.NUMBERS[table])
        if column.endswith("size"):
            return f"{column}{self.random.choice(('>', '<', '=', '>='))}{self.random.choice((1, 5, 100, 300))}"
        if self.random.random() < 0.5:
            return f"{column} within {self.random.choice(('10 20f', '14 49.5', '150 185.0'))}"
        return self.random.choice((f"not null {column}", f"{column}>40.5", f"{column}<>14.1"))

    def where(self, table, minutes):
        conditions = [self.symbols(), self.window(minutes)]
        if self.random.random() < 0.5:
            conditions.append(self.condition(table))
        return "where " + ",".join(conditions)

    def columns(self, table):
        names = self.NUMBERS[table] + self.OTHERS[table]
        return ",".join(self.random.sample(names, self.random.randrange(1, len(names))))

    def aggregates(self, table):
        parts = [f"a{n}:{self.random.choice(self.AGGREGATES)} {self.random.choice(self.NUMBERS[table])}"
                 for n in range(self.random.randrange(1, 4))]
        if table == "trade":
            parts.append("vwap:size wavg price")
        return ",".join(parts)

    def rows(self, table):
        head = self.random.choice(("select", f"select[{self.random.choice((-7, 5, 100))}]"))
        columns = self.random.choice((self.columns(table), "", "time,x:2*" + self.NUMBERS[table][0]))
        return f"{head} {columns} from {table} {self.where(table, 5)}"

    def groups(self, table):
        by = self.random.choice(("sym", "ex", "sym,ex"))
        where = self.random.choice(("", self.where(table, 120), f"where {self.symbols()}"))
        return f"select {self.aggregates(table)} by {by} from {table} {where}"

    def single(self, table):
        aggregate = self.random.choice(self.AGGREGATES)
        column = self.random.choice(self.NUMBERS[table] + ("time",) if aggregate in ("first", "last", "max") else self.NUMBERS[table])
        by = self.random.choice(("", " by sym"))
        return f"exec {aggregate} {column}{by} from {table} {self.where(table, 240)}"

    def asof(self, _):
        kind = self.random.choice(("aj", "aj0"))
        right = self.random.choice(("select sym,time,bid,ask from quote", "quote",
                                    f"select sym,time,bid,ex from quote where {self.symbols()}"))
        return f"{kind}[`sym`time;select sym,time,price,size from trade {self.where('trade', 10)};{right}]"

    def next(self):
        kind = self.random.choice((self.rows, self.groups, self.single, self.asof))
        return kind(self.random.choice(("trade", "quote"))).strip()


class SameAnswersTest(stack.StackTest):
    SEED, QUERIES = 20131007, 200
    CONFIG = """
[tickerplant]
batch_ms = 10
[[rdb]]
name = "dram"
[[rdb]]
name = "files"
port = 5012
[rdb.tier.files]
kind = "filesystem"
path = "{folder}"
size = "256MiB"
[rdb.tier.scratch]
kind = "filesystem"
path = "{folder}"
size = "512MiB"
[rdb.placement]
default = "files"
query = "scratch"
[feed]
source = "lean"
path = "{path}"
symbols = ["aig", "bac", "ibm"]
start = true
"""

    def test_dram_and_filesystem_answer_alike(self):
        path = self.fixture("lean-ticks")
        running = self.start_stack(self.CONFIG.format(path=path, folder=self.folder), "--date", DATE)
        for rdb in ("dram", "files"):
            wait_for_rows(running, QUOTES + TRADES, rdb)
            self.assertEqual((QUOTES, TRADES), (running.count("quote", rdb), running.count("trade", rdb)))
        self.assertEqual({"dram"}, set(running.ask("dram", ".tier.of[`quote]").values()))
        self.assertEqual({"files"}, set(running.ask("files", ".tier.of[`quote]").values()))
        questions = Questions(self.SEED)
        answers = set()
        with running.connect("dram") as dram, running.connect("files") as files:
            for number in range(self.QUERIES):
                query = questions.next()
                with self.subTest(seed=self.SEED, number=number, query=query):
                    answer = raw_answer(dram, query)
                    self.assertNotEqual(128, answer[0], answer[1:100])  # An error would prove nothing.
                    self.assertEqual(answer, raw_answer(files, query))
                    answers.add(answer)
            self.assertEqual(raw_answer(dram, "select from quote where bid>0"),
                             raw_answer(files, "select from quote where bid>0"))
            scratch = [tier for tier in rows_of(files.call(".tier.stats[]")) if tier["tier"] == "scratch"]
        self.assertGreater(scratch[0]["high_water"], 64 << 20)  # 1.7 million rows of 46 bytes were there.
        self.assertEqual(0, scratch[0]["refused"])
        self.assertGreater(len(answers), self.QUERIES * 3 // 4)  # Nor would 200 empty tables.
        self.assertEqual(0, running.stop(), running.log_text())


if __name__ == "__main__":
    stack.main()

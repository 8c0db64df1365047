#!/usr/bin/env python3
"""A gateway in front of two tickerplants, each with some of the symbols: its answers are those of one stack with all
rows, and a shard that is down is missed only by queries that need it."""

import collections
import datetime
import os
import pathlib
import random
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kdb_ipc, stack  # noqa: E402
from tests.support.kdb_ipc import Typed  # noqa: E402
from tests.support.moved_clock import MovedClock  # noqa: E402

FIRST_NOON = datetime.datetime(2024, 1, 30, 12)
SHARDS = {"a": ["A", "C", "E"], "b": ["B", "D"]}
SYMBOLS = "".join(f'[[shard]]\nname = "{name}"\nsymbols = {symbols}\n' for name, symbols in SHARDS.items())
CONFIG = """
[tables]
trade = "time n, sym s, price f, size j"
quote = "time n, sym s, bid f, ask f"
note = "time n, level j"
pos = "sym s | qty j, px f"
odd = "time n, sym s, size j"
ms = "time n, ticker s, sym j, size j"
[tickerplant]
batch_ms = 5
[[rdb]]
[hdb]
[eod]
retry_s = 0.1
"""
# About the last day.
LAST = ["select from trade", "count quote", "select last bid, max ask by sym from quote where ask>2", "trade",
        "aj[`sym`time;select time,sym,price from trade;quote]", "exec sum size from trade", "-5#quote",
        "t:select from trade where sym=`A;select count i by sym from t", "{[s]exec max price from trade where sym=s}`B",
        "cols trade", "update mid:(bid+ask)%2 from quote", "select from note", "exec last level from note",
        "select i,level from note where i<2",
        "select first price, last size from trade", "select[-3] from trade where sym in `A`B",
        "select open:first price, close:last price by sym, 0D00:00:00.0001 xbar time from trade",
        "select med price, max size from trade", "asc exec distinct sym from trade",
        "select from trade where price=(max;price) fby sym"]
DATED = ["select n:count i, avg price, size wavg price, first price, last size by date, sym from trade where {}",
         "select first price, last price, sum size by sym from trade where {}",
         "select from trade where {},size>500", "select max price, last time from trade where {}",
         "select date,sym,time,mid:(bid+ask)%2 from quote where {},sym in `A`B", "exec count i from quote where {}",
         "select last price from trade where {},sym=`D", "exec sum level from note where {}",
         "(select vwap:(sum price*size)%sum size by sym from trade where {}) lj select max ask by sym from quote where {}"]
WHEN = ["date within 2024.01.30 2024.02.01", "date=2024.01.30", "date=2024.01.31", "date=last date",
        "date>=2024.01.30", "date>2024.02.10"]
# How long random queries are compared, and what draws them.
RANDOM_SECONDS = float(os.environ.get("TICKSTACK_SECONDS", "4"))
SEED = int(os.environ.get("TICKSTACK_SEED", str(random.randrange(1 << 31))))


def rounded(value):
    """Returns a value whose floats have 10 digits: the last ones depend on the order in which a sum adds."""
    if isinstance(value, float):
        return float(f"{value:.10g}")
    if isinstance(value, kdb_ipc.KeyedTable):
        return rounded(value.keys), rounded(value.values)
    if isinstance(value, dict):
        return type(value)((key, rounded(each)) for key, each in value.items())
    return [rounded(each) for each in value] if isinstance(value, (list, tuple)) else value


class RandomQuery:
    """A query about both sides of the shards. The rows of `odd` have no known order."""

    def __init__(self, draw):
        self.draw = draw
        self.table = draw.choice(["trade", "trade", "quote", "odd"])
        value, other = {"trade": ("price", "size"), "quote": ("bid", "ask"), "odd": ("size", "size")}[self.table]
        self.dated = draw.random() < 0.6
        where = [draw.choice(["date=2024.01.30", "date=2024.01.31", "date=last date", "date>2024.01.29", "date>=2024.01.31",
                              "date within 2024.01.30 2024.01.31", "date in 2024.01.29 2024.01.31"])] if self.dated else []
        for _ in range(draw.choice([0, 1, 1, 2])):
            where.append(draw.choice(["sym=`A", "sym in `A`B", "`D=sym", "sym in `B`D`X", "sym<>`C", f"{value}>50",
                                      f"{other} within 10 600", f"({value}>50)|sym=`E", f"{value}=max {value}",
                                      f"{value}>(avg;{value}) fby sym", f"{value}=(max;{value}) fby sym", "sym=last sym",
                                      f"{value}>2*avg {value}", f"{value}<>first {other}"]))
        where = f" where {','.join(where)}" if where else ""
        free = ["count i", f"sum {value}", f"max {other}", f"avg {value}", f"{other} wavg {value}", f"dev {value}",
                f"med {other}", f"({value} wsum {other})%sum {other}", "count distinct sym", f"(max {value})-min {value}"]
        ordered = [f"first {value}", f"last {other}", f"sum deltas {value}", f"{value} cor prev {value}", "last time"]
        groups = ["", "", " by sym", " by sym", " by sym,0D00:00:00.00005 xbar time", f" by {value}>40", " by 3 mod i"]
        if self.dated:
            groups += [" by date", " by date,sym"]
        columns = draw.choice(["", "", "sym,time", f"time,sym,x:{value}*2", f"sym,{other}", f"{value}"])
        aggregate = lambda: draw.choice(free + free + ordered)  # noqa: E731
        of = f" from {self.table}{where}"
        self.is_rows = False
        kind = draw.randrange(12)
        if kind < 4:
            self.text = f"select a:{aggregate()},b:{aggregate()}{draw.choice(groups)}{of}"
        elif kind == 4:
            self.text = f"exec {aggregate()}{of}"
        elif kind == 5:
            self.is_rows, self.text = True, f"select {columns}{of}"
        elif kind == 6:
            self.text = f"count select {columns}{of}"
        elif kind == 7:
            self.text = f"select[{draw.choice(['3', '-2', '4;>' + value, '2;<' + other])}] {columns}{of}"
        elif kind == 8:
            self.text = f"`sym xasc select {columns}{of}" if not columns or "sym" in columns else f"count exec {columns}{of}"
        elif kind == 9:
            self.text = draw.choice([f"asc exec distinct sym{of}", f"`sym xasc select distinct sym{of}",
                                     f"t:select{of};select last {value} by sym from t"])
        elif kind == 10:
            self.text = f"(select a:{draw.choice(free)} by sym{of}) lj select b:max bid by sym from quote"
        else:
            self.text = draw.choice([f"{{[s]exec {draw.choice(free)} from {self.table} where sym=s}}`{draw.choice('ABCDE')}",
                                     f"aj[`sym`time;select sym,time,{value}{of};select sym,time,bid from quote]",
                                     f"update x:{value}-avg {value} by sym from {self.table}"])
            self.is_rows = not self.text.startswith("{")

    def agrees(self, answer, right):
        """True if the answer is that of one process. Only rows that are the answer itself may come shard by shard, and
        only if their order is not known; those of one symbol keep their order."""
        answer, right = rounded(answer), rounded(right)
        if repr(answer) == repr(right):
            return True
        if not (self.is_rows and self.table == "odd" and isinstance(answer, kdb_ipc.Table)):
            return False
        rows = []
        for table in (answer, right):
            lines = [repr(line) for line in zip(*table.values())]
            keys = table.get("sym", lines)
            rows.append([line for _, line in sorted(zip(keys, lines), key=lambda pair: pair[0])])
        return list(answer) == list(right) and rows[0] == rows[1]


class Side:
    """One shard of a stack; or the whole stack, without a name."""

    def __init__(self, running, shard=""):
        self.running, self.suffix = running, f"-{shard}" if shard else ""

    def port(self, process):
        return self.running.port(process + self.suffix)

    def address(self, process):
        return f"127.0.0.1:{self.port(process)}"

    def connect(self, process):
        return self.running.connect(process + self.suffix)

    def count(self, table):
        return self.running.count(table, "rdb" + self.suffix)


class ShardedGatewayTest(stack.StackTest):
    def setUp(self):
        super().setUp()
        self.random = random.Random(25)
        self.time = 0
        self.clock = MovedClock(self.folder)
        self.addCleanup(self.clock.remove)
        self.clock.set(FIRST_NOON)
        sharded = self.start_stack(SYMBOLS + CONFIG, name="sharded")
        self.stacks = {name: Side(sharded, name) for name in SHARDS}
        self.stacks["one"] = Side(self.start_stack(CONFIG, name="one"))
        # The gateway asks rdbs that nobody restarts.
        self.rdbs = {name: self.start_rdb(name, self.stacks[name].address("tickerplant")) for name in SHARDS}
        self.config = config = self.folder / "gateway.toml"
        config.write_text("[gateway]\n" + "".join(
            f'[[gateway.shard]]\nname = "{name}"\nrdbs = ["{self.rdbs[name][0]}"]\n'
            f'hdbs = ["{self.stacks[name].address("hdb")}"]\nsymbols = {symbols}\n' for name, symbols in SHARDS.items()),
            encoding="utf-8")
        port, _ = self.start_process("gateway", "--config", str(config))
        self.gateway = kdb_ipc.connect_within(port)
        self.addCleanup(self.gateway.socket.close)

    def start_rdb(self, shard, tickerplant, port=0, symbols=SYMBOLS):
        """Returns the address and the process of an rdb of a shard, which drops its rows when a day ends."""
        config = self.folder / "rdb.toml"
        config.write_text(symbols + "[tickerplant]\n[[rdb]]\n", encoding="utf-8")
        port, process = self.start_process("rdb", "--config", str(config), "--data", str(self.folder / "rdb"), "--name",
                                           f"rdb-{shard}", "--tickerplant", tickerplant, port=port)
        return f"127.0.0.1:{port}", process

    def publish(self, rows):
        draw = lambda: 0.25 * self.random.randrange(400)  # noqa: E731
        tables = {"trade": [], "quote": [], "note": []}
        for _ in range(rows):
            self.time += 1000
            sym = self.random.choice(SHARDS["a"] + SHARDS["b"])
            tables["trade"].append((self.time, sym, draw(), self.random.randrange(1000)))
            tables["quote"].append((self.time + 500, sym, draw(), draw()))
        tables["note"] = [(self.time, level) for level in range(5)]
        types = {"trade": "nsfj", "quote": "nsff", "note": "nj"}
        for name, running in self.stacks.items():
            with running.connect("tickerplant") as feed:
                for table, all_rows in tables.items():
                    # What has no symbol is published to the first shard.
                    own = [row for row in all_rows
                           if name == "one" or (row[1] in SHARDS[name] if table != "note" else name == "a")]
                    if own:
                        feed.call([b".u.upd", table, [
                            list(column) if letter == "s" else Typed(letter, list(column))
                            for letter, column in zip(types[table], zip(*own))]])
        stack.wait_until(lambda: self.stacks["one"].count("note") == 5, 60, "all rows in one stack")
        stack.wait_until(lambda: self.asked("(exec count i from quote;exec count i from note)") == [rows, 5], 60,
                         "all rows in the shards")

    def asked(self, query, gateway=None):
        """Returns the answer of a gateway, or the text of its error."""
        try:
            return (gateway or self.gateway).call(query)
        except kdb_ipc.QError as error:
            return str(error)

    def end_day(self, noon=FIRST_NOON + datetime.timedelta(days=1), of=("a", "b", "one")):
        for running in (self.stacks[name] for name in of):
            ended = self.run_program("eod", "--tickerplant", running.address("tickerplant"), "--rdb",
                                     running.address("rdb"), "--timeout", "60")
            self.assertEqual(0, ended.returncode, ended.stdout + ended.stderr)
        self.clock.set(noon)

    def test_answers_are_those_of_one_process(self):
        self.publish(300)
        self.end_day()
        self.publish(200)
        stack.wait_until(lambda: self.asked("count date") == 2, 60, "both days")
        with self.stacks["one"].connect("rdb") as one:
            for query in LAST:
                self.assertEqual(repr(one.call(query)), repr(self.gateway.call(query)), query)
        one_gateway = self.folder / "one.toml"
        one_gateway.write_text(f'[gateway]\nrdbs = ["{self.stacks["one"].address("rdb")}"]\n'
                               f'hdbs = ["{self.stacks["one"].address("hdb")}"]\n', encoding="utf-8")
        port, _ = self.start_process("gateway", "--config", str(one_gateway))
        with kdb_ipc.connect_within(port) as one:
            stack.wait_until(lambda: one.call("count date") == 2, 60, "both days")
            for query in DATED:
                for when in WHEN:
                    text = query.format(*[when] * query.count("{}"))
                    self.assertEqual(repr(one.call(text)), repr(self.gateway.call(text)), text)
        self.assertEqual(["a", "a", "b", "b"], self.gateway.call("exec shard from .gateway.replicas[]"))
        self.assertEqual(["rdb", "hdb"] * 2, self.gateway.call("exec side from .gateway.replicas[]"))
        stats = self.gateway.call(".gateway.stats[]")
        self.assertEqual((2, 2, 0), (stats["shards"], stats["shards_live"], stats["whole"]))
        with self.assertRaisesRegex(kdb_ipc.QError, "^nyi: i over rows of several shards"):
            self.gateway.call("select from trade where i<5")

    def test_a_shard_that_is_down_is_missed_only_by_queries_that_need_it(self):
        self.publish(300)
        self.end_day()
        self.publish(200)
        stack.wait_until(lambda: self.asked("count date") == 2, 60, "both days")
        with_a = ["select from trade where sym=`A", "select max price by sym from trade where sym in `A`C`E",
                  "select max price from trade where date=last date,sym=`C", "select from note",
                  "select max price by sym from trade where date=2024.01.30"]
        before = {query: repr(self.gateway.call(query)) for query in with_a}
        address, process = self.rdbs["b"]
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        for query in ("select from trade", "count quote", "select from trade where sym=`B",
                      "select max price by sym from trade where date>=2024.01.30",
                      "exec max price from trade where date=last date,sym in `A`D"):
            with self.assertRaisesRegex(kdb_ipc.QError, f"^shard b: rdb: no answer: {address}: ", msg=query):
                self.gateway.call(query)
        for query, answer in before.items():
            self.assertEqual(answer, repr(self.gateway.call(query)), query)
        stack.wait_until(lambda: self.gateway.call(".gateway.stats[]")["shards_live"] == 1, 60, "its absence")

    def test_a_shard_whose_rdb_is_not_up_to_date_is_not_one_without_rows(self):
        self.publish(60)
        self.end_day()
        self.publish(60)
        stack.wait_until(lambda: self.asked("count date") == 2, 60, "both days")
        address, process = self.rdbs["b"]
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        # A day begins without it.
        self.end_day(FIRST_NOON + datetime.timedelta(days=2))
        self.time += 1000
        for running in (self.stacks["a"], self.stacks["one"]):
            with running.connect("tickerplant") as feed:
                feed.call([b".u.upd", "trade", [Typed("n", [self.time]), ["A"], Typed("f", [1.0]), Typed("j", [7])]])
        stack.wait_until(lambda: self.asked("exec sum size from trade where date=2024.02.01,sym=`A") == 7, 30,
                         "the new day")
        of_new_day = ["exec sum size from trade where date=last date", "count select from trade where date=2024.02.01",
                      "exec count i from trade where date=last date,sym=`B", "select count i by date from trade"]
        for query in of_new_day + ["count trade"]:
            with self.assertRaisesRegex(kdb_ipc.QError, f"^shard b: rdb: no answer: {address}: ", msg=query):
                self.gateway.call(query)
        self.assertEqual(60, self.gateway.call("exec count i from trade where date=2024.01.30"))
        # It comes back, and waits for its tickerplant. Another gateway knows nothing else of it.
        self.start_rdb("b", "127.0.0.1:1", port=int(address.rsplit(":", 1)[1]))
        other, _ = self.start_process("gateway", "--config", str(self.config))
        with kdb_ipc.connect_within(other) as gateway:
            for asked in (self.gateway, gateway):
                stack.wait_until(lambda asked=asked: "whole log" in str(self.asked(of_new_day[0], asked)), 60, "its state")
                self.assertIn("behind", asked.call("exec state from .gateway.replicas[]"))
                for query in of_new_day + ["count trade", "exec count i from trade where sym=`B"]:
                    with self.assertRaisesRegex(
                            kdb_ipc.QError, f"^shard b: rdb: no answer: {address}: it has not read its whole log yet",
                            msg=query):
                        asked.call(query)
                self.assertEqual(7, asked.call("exec sum size from trade where sym=`A"))

    def test_the_order_of_partitions(self):
        """Rows of a day are in the order of a partition: by symbol and time, also those that a shard has not written yet;
        by time if the column `sym` has no symbols."""
        odd = [(5, "A", 1), (3, "B", 2), (4, "A", 4), (9, "D", 8), (2, "A", 16), (1, "B", 32), (7, "D", 64)]
        by_ticker = [(1, "A", 1, 10), (2, "B", 9, 20), (3, "C", 2, 30), (4, "D", 1, 40)]
        for name, running in self.stacks.items():
            with running.connect("tickerplant") as feed:
                for table, types, rows in (("odd", "nsj", odd), ("ms", "nsjj", by_ticker)):
                    own = [row for row in rows if name == "one" or row[1] in SHARDS[name]]
                    feed.call([b".u.upd", table, [list(column) if letter == "s" else Typed(letter, list(column))
                                                  for letter, column in zip(types, zip(*own))]])
        stack.wait_until(lambda: self.asked("(exec count i from odd;exec count i from ms)") == [7, 4], 60, "all rows")
        queries = ["exec deltas size from odd where date=2024.01.30", "exec last size from ms where date=2024.01.30,size<35",
                   "exec deltas size from ms where date=2024.01.30"]
        # The clock stays in this day, so that shard b does not end it by itself.
        self.end_day(FIRST_NOON, of=("a", "one"))
        with self.stacks["one"].connect("hdb") as one:
            stack.wait_until(lambda: 7 == one.call("exec count i from odd where date=2024.01.30"), 60, "the partition")
            expected = {query: repr(one.call(query)) for query in queries}
        for ended in (False, True):
            if ended:
                self.end_day(of="b")
            stack.wait_until(lambda: self.asked("exec count i from odd where date=2024.01.30") == 7, 60, "the day")
            self.assertEqual(expected, {query: repr(self.asked(query)) for query in queries})

    def publish_odd(self, rows):
        """Publishes rows that are not in order of time, and have equal times."""
        odd = [(self.random.randrange(200), self.random.choice("ABCDE"), self.random.randrange(100)) for _ in range(rows)]
        for name, running in self.stacks.items():
            own = [row for row in odd if name == "one" or row[1] in SHARDS[name]]
            with running.connect("tickerplant") as feed:
                feed.call([b".u.upd", "odd", [list(column) if letter == "s" else Typed(letter, list(column))
                                              for letter, column in zip("nsj", zip(*own))]])
        stack.wait_until(lambda: self.stacks["one"].count("odd") == rows and self.asked("count odd") == rows, 60, "all rows")

    def test_random_queries(self):
        """Goal: an answer over shards is that of one process, or an error by name. Method: queries that are drawn, over
        days of rdbs and hdbs."""
        print(f"TICKSTACK_SEED={SEED}")
        draw = random.Random(SEED)
        self.publish(300)
        self.publish_odd(60)
        self.end_day()
        self.publish(200)
        self.publish_odd(50)
        stack.wait_until(lambda: self.asked("count date") == 2, 60, "both days")
        config = self.folder / "one.toml"
        config.write_text(f'[gateway]\nrdbs = ["{self.stacks["one"].address("rdb")}"]\n'
                          f'hdbs = ["{self.stacks["one"].address("hdb")}"]\n', encoding="utf-8")
        port, _ = self.start_process("gateway", "--config", str(config))
        counts = collections.Counter()
        with kdb_ipc.connect_within(port) as one:
            stack.wait_until(lambda: one.call("count date") == 2, 60, "both days")
            end = time.monotonic() + RANDOM_SECONDS
            while time.monotonic() < end:
                query = RandomQuery(draw)
                answer, right = self.asked(query.text), self.asked(query.text, one)
                if isinstance(answer, str) and answer.startswith("nyi: "):
                    counts["nyi"] += 1
                    # Row numbers are errors over several processes; so is an order that is not known.
                    self.assertRegex(answer, "order of rows of several shards|^nyi: i over ", query.text)
                    continue
                counts["error" if isinstance(answer, str) else "equal"] += 1
                self.assertTrue(query.agrees(answer, right), f"{query.text}: {answer!r}, expected {right!r}")
        print(dict(counts))
        self.assertGreater(counts["equal"], counts["nyi"] + counts["error"])

    def test_an_rdb_with_another_map_is_not_asked(self):
        self.publish(60)
        by_map = "select count i by sym from trade"
        # A gateway that has `D` in the other shard, and one whose shards have each other's rdbs.
        moved = self.config.read_text(encoding="utf-8").replace("['A', 'C', 'E']", "['A', 'C', 'E', 'D']") \
            .replace("['B', 'D']", "['B']")
        swapped = self.config.read_text(encoding="utf-8").replace(self.rdbs["a"][0], "?") \
            .replace(self.rdbs["b"][0], self.rdbs["a"][0]).replace("?", self.rdbs["b"][0])
        for text, error in ((moved, "it is shard a of the map [0-9a-f]{16}, expected shard a of the map [0-9a-f]{16}"),
                            (swapped, "it is shard b of the map ([0-9a-f]{16}), expected shard a of the map \\1")):
            self.assertNotEqual(self.config.read_text(encoding="utf-8"), text)
            config = self.folder / "other.toml"
            config.write_text(text, encoding="utf-8")
            port, _ = self.start_process("gateway", "--config", str(config))
            with kdb_ipc.connect_within(port) as other:
                for query in (by_map, "exec count i from trade where sym=`A", "exec count i from trade where sym=`D"):
                    with self.assertRaisesRegex(kdb_ipc.QError, f"^shard a: rdb: no answer: .*: {error}", msg=query):
                        other.call(query)
                self.assertEqual({"other"}, set(other.call("exec state from .gateway.replicas[] where side=`rdb")))
        # An rdb that comes back with another map.
        address, process = self.rdbs["b"]
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        symbols = SYMBOLS.replace("'D'", "'F'")
        config = self.folder / "tickerplant.toml"
        config.write_text(symbols + CONFIG, encoding="utf-8")
        tickerplant, _ = self.start_process("tickerplant", "--config", str(config), "--name", "tickerplant-b", "--data",
                                            str(self.folder / "other"))
        self.start_rdb("b", f"127.0.0.1:{tickerplant}", port=int(address.rsplit(":", 1)[1]), symbols=symbols)
        stack.wait_until(lambda: "of the map" in str(self.asked(by_map)), 60, "its state")
        for query in (by_map, "exec count i from trade where sym=`B"):
            with self.assertRaisesRegex(kdb_ipc.QError, f"^shard b: rdb: no answer: {address}: it is (not )?shard b of the "
                                                        "map", msg=query):
                self.gateway.call(query)
        self.assertLess(0, self.gateway.call("exec count i from trade where sym=`A"))

    def test_a_keyed_table_keeps_its_key(self):
        for name, running in self.stacks.items():
            symbols = [s for s in "ABCDE" if name == "one" or s in SHARDS[name]]
            with running.connect("tickerplant") as feed:
                feed.call([b".u.upd", "pos", [symbols, Typed("j", [ord(s) for s in symbols]),
                                              Typed("f", [0.5] * len(symbols))]])
        stack.wait_until(lambda: self.asked("count pos") == 5, 60, "all rows")
        with self.stacks["one"].connect("rdb") as one:
            for query in ("type select from pos", "`sym xasc pos", "keys `sym xasc select from pos", "(`sym xasc pos)`B",
                          "([]sym:`A`B) lj `sym xasc pos", "select from pos where sym=`D", "exec sum qty from pos",
                          "`sym xasc update x:1 from pos"):
                self.assertEqual(repr(one.call(query)), repr(self.asked(query)), query)


if __name__ == "__main__":
    stack.main()

#!/usr/bin/env python3
"""A sharded stack from one file: each row of the feed is in exactly one shard, in order by symbol, also when the
tickerplant of one shard and the feed are killed. The rows of all shards are those of a stack without shards."""

import collections
import os
import pathlib
import random
import signal
import socket
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kdb_ipc, stack  # noqa: E402

DATE, NEXT = "2020.03.09", "2020.03.10"
ROWS = 66_000
TRADES, QUOTES = ROWS // 11, ROWS // 11 * 10

SHARDS = """
[[shard]]
name = "a"
symbols = [{symbols}]
[[shard]]
name = "b"
"""
STACK = """
[tickerplant]
batch_ms = 5
[[rdb]]
[hdb]
[aggengine]
[eod]
[gateway]
[feed]
source = "sim"
symbols = 300
rate = 20000
rows = {rows}
batch_rows = 20
"""


def config(symbols=None):
    shards = "" if symbols is None else SHARDS.format(symbols=", ".join(f'"{symbol}"' for symbol in symbols))
    return shards + STACK.format(rows=ROWS)


class ShardsTest(stack.StackTest):
    def shard_of(self, running, *symbols):
        found = self.run_program("shard", "of", "--config", str(running.folder / "stack.toml"), *symbols)
        self.assertEqual(0, found.returncode, found.stderr)
        return dict(line.split() for line in found.stdout.splitlines())

    def wait_until_done(self, running, rdbs, feeds=("feed",)):
        """A feed is done when its rows are logged, which can be before an rdb has them."""
        def done():
            return (sum(running.count("trade", rdb) for rdb in rdbs) >= TRADES
                    and sum(running.count("quote", rdb) for rdb in rdbs) >= QUOTES)
        stack.wait_until(done, 120, "the last row")
        for feed in feeds:
            stack.wait_until(lambda name=feed: running.ask(name, ".feed.stats[]`state") == "done", 60, f"the end of {feed}")

    def rows_by_symbol(self, running, rdb):
        """The rows of a symbol in their order, without the time, which differs from run to run."""
        rows = collections.defaultdict(list)
        for table, columns in (("trade", "sym,price,size,stop,cond,ex"), ("quote", "sym,bid,ask,bsize,asize,mode,ex")):
            answer = running.ask(rdb, f"select {columns} from {table}")
            for row in zip(*answer.values()):
                rows[table, row[0]].append(row[1:])
        return rows

    def test_each_row_is_in_one_shard(self):
        single = self.start_stack(config(), "--date", DATE, name="single")
        self.wait_until_done(single, ["rdb"])
        expected = self.rows_by_symbol(single, "rdb")
        single.stop()

        named = sorted({symbol for _, symbol in expected})[:3]
        running = self.start_stack(config(named), "--date", DATE, name="sharded")
        rdbs = ["rdb-a", "rdb-b"]
        stack.wait_until(lambda: running.count("quote", "rdb-b") > 1000, 60, "rows")
        before_a = running.count("quote", "rdb-a")
        running.kill("tickerplant-b")
        stack.wait_until(lambda: running.count("quote", "rdb-a") > before_a, 60, "more rows of the other shard")
        running.kill("feed")
        self.wait_until_done(running, rdbs)
        found = [self.rows_by_symbol(running, rdb) for rdb in rdbs]
        self.assertFalse({symbol for _, symbol in found[0]} & {symbol for _, symbol in found[1]})
        self.assertEqual(expected, {**found[0], **found[1]})

        where = self.shard_of(running, *sorted({symbol for _, symbol in expected}))
        for rows, shard in zip(found, "ab"):
            self.assertEqual({shard}, {where[symbol] for _, symbol in rows})
        self.assertEqual({"a"}, {where[symbol] for symbol in named})
        stats = running.ask("feed", ".feed.stats[]")
        self.assertEqual({"trade": TRADES, "quote": QUOTES}, dict(stats["logged"]))
        self.assertEqual({"a": "done", "b": "done"}, dict(stats["shards"]))
        self.asks_the_gateway(running, expected, named[0])
        self.is_shown_by_top(running)
        self.refuses_rows_of_another_shard(running, named[0])
        self.plans(running)
        self.ends_the_day(running, rdbs)
        self.map_changes_between_days(running, named)

    def test_each_shard_may_have_a_feed(self):
        feed = config([])
        at = feed.index("[feed]")
        feeds = "".join(feed[at:].replace("[feed]", f'[[feed]]\nname = "feed-{shard}"\nshards = ["{shard}"]')
                        .replace("rate = 20000", "rate = 0") for shard in "ab")
        running = self.start_stack(feed[:at] + feeds, "--date", DATE)
        rdbs = ["rdb-a", "rdb-b"]
        self.wait_until_done(running, rdbs, ["feed-a", "feed-b"])
        self.assertEqual(TRADES, sum(running.count("trade", rdb) for rdb in rdbs))
        self.assertEqual(QUOTES, sum(running.count("quote", rdb) for rdb in rdbs))
        for shard in "ab":
            stats = running.ask(f"feed-{shard}", ".feed.stats[]")
            self.assertEqual(running.count("quote", f"rdb-{shard}"), dict(stats["logged"])["quote"])

    def test_a_tickerplant_restarts_after_the_feed(self):
        """Each row is logged once if the feed restarts late in its source, and a tickerplant after that. No process
        takes a changed map while the stack runs."""
        running = self.start_stack(config([]), "--date", DATE)
        rdbs = ["rdb-a", "rdb-b"]
        quotes = lambda: sum(running.count("quote", rdb) for rdb in rdbs)
        stack.wait_until(lambda: quotes() > QUOTES // 2, 60, "half of the rows")
        running.kill("feed")
        before = quotes()
        stack.wait_until(lambda: quotes() > before + 500, 60, "rows of the second feed")
        running.kill("tickerplant-b")
        self.wait_until_done(running, rdbs)
        self.assertEqual(QUOTES, quotes())
        self.assertEqual(TRADES, sum(running.count("trade", rdb) for rdb in rdbs))

        toml = running.folder / "stack.toml"
        toml.write_text(config(["AAPL"]), encoding="utf-8")
        old = running.pid("feed")
        os.kill(old, signal.SIGKILL)
        log = running.data / "logs" / "feed.log"
        stack.wait_until(lambda: "with which the stack was started" in log.read_text(encoding="utf-8", errors="replace"),
                         60, "the refusal of the changed file")
        toml.write_text(config([]), encoding="utf-8")
        self.wait_until_done(running, rdbs)
        self.assertEqual(QUOTES, quotes())
        shards = [running.ask(name, ".u.shard[]") for name in ("tickerplant-b", "rdb-b")]
        self.assertEqual("b", dict(shards[0])["shard"])
        self.assertEqual(dict(shards[0]), dict(shards[1]))

    def asks_the_gateway(self, running, expected, symbol):
        counts = running.ask("gateway", "exec count i by sym from trade")
        self.assertEqual({sym: len(rows) for (table, sym), rows in expected.items() if table == "trade"}, dict(counts))
        self.assertEqual(TRADES, running.ask("gateway", "count trade"))
        sizes = running.ask("gateway", f"exec size from trade where sym=`{symbol}")
        self.assertEqual([row[1] for row in expected["trade", symbol]], list(sizes))
        shards = running.ask("gateway", ".gateway.replicas[]")["shard"]
        self.assertEqual({"a", "b"}, set(shards))

    def is_shown_by_top(self, running):
        ports = {name: process["port"] for name, process in running.processes().items() if process["port"]}
        shown = self.run_program("top", "--once", ",".join(f"127.0.0.1:{port}" for port in ports.values()))
        self.assertEqual(0, shown.returncode, shown.stdout + shown.stderr)
        roles = collections.Counter(line.split()[1] for line in shown.stdout.splitlines() if line.startswith("127.0.0.1:"))
        expected = collections.Counter(name.split("-")[0] for name in ports if not name.startswith("eod"))
        self.assertEqual(expected, roles, shown.stdout)

    def refuses_rows_of_another_shard(self, running, symbol):
        with running.connect("tickerplant-b") as tickerplant:
            for call in (f'.u.upd[`trade;(`{symbol};1f;2i;0b;" ";"N")]',
                         f'.u.upd[`trade;(enlist `{symbol};enlist 1f;enlist 2i;enlist 0b;enlist " ";enlist "N")]',
                         f'.u.updn[`me;0;`trade;(`{symbol};1f;2i;0b;" ";"N")]'):
                with self.assertRaisesRegex(kdb_ipc.QError, f"shard: {symbol} belongs to shard a"):
                    tickerplant.call(call)

    def plans(self, running):
        toml = str(running.folder / "stack.toml")
        by_log = self.run_program("shard", "plan", "--config", toml,
                                  *(str(running.data / shard / "tplog" / f"sym{DATE}") for shard in "ab"))
        by_rdb = self.run_program("shard", "plan", "--config", toml,
                                  *(f"127.0.0.1:{running.port(rdb)}" for rdb in ("rdb-a", "rdb-b")))
        self.assertEqual(0, by_log.returncode, by_log.stderr)
        self.assertEqual(by_log.stdout, by_rdb.stdout, by_rdb.stderr)
        self.assertIn("[[shard]]\nname = \"b\"\n", by_log.stdout)

    def ends_the_day(self, running, rdbs):
        for shard in "ab":
            running.ask(f"tickerplant-{shard}", ".u.endofday[]")
        for table, rows in (("trade", TRADES), ("quote", QUOTES)):
            stack.wait_until(
                lambda t=table, n=rows: n == sum(running.count(f"select from {t} where date={DATE}", f"hdb-{shard}")
                                                 for shard in "ab"), 60, "the partitions")
        self.assertEqual(TRADES, running.ask("gateway", f"exec count i from trade where date={DATE}"))
        for shard in "ab":
            self.assertTrue((running.data / shard / "hdb" / DATE / "trade").is_dir())
        self.assertEqual([0, 0], [running.count("trade", rdb) for rdb in rdbs])

    def map_changes_between_days(self, running, named):
        """Another map is used after the day has ended, and none once the next day has a row."""
        running.stop()
        running.ready_file.unlink(missing_ok=True)
        again = self.start_stack(config(named[:1]), "--date", DATE, name="sharded")
        stack.wait_until(lambda: again.ask("feed", ".feed.stats[]`state") == "failed", 60, "the feed's refusal")
        self.assertRegex(again.ask("feed", ".feed.stats[]`error").decode(), "again: [0-9]+ rows of feed@sim.* are logged as")
        self.assertEqual([0, 0], [again.count("quote", rdb) for rdb in ("rdb-a", "rdb-b")])
        again.ask("tickerplant-a", f'.u.upd[`trade;(`{named[0]};1f;2i;0b;" ";"N")]')
        again.stop()
        toml = running.folder / "stack.toml"
        toml.write_text(config(named), encoding="utf-8")
        refused = self.run_program("process", "tickerplant-a", "--config", str(toml), "--data", str(running.data),
                                   "--date", DATE, "--port", "0", timeout=30)
        self.assertEqual(1, refused.returncode, refused.stderr)
        self.assertIn(f"sym{NEXT}: has rows of shard a of the map ", refused.stderr)


EOD = """
[[shard]]
name = "a"
symbols = ["AAA"]
[[shard]]
name = "b"
symbols = ["BBB"]
[tickerplant]
port = {port}
batch_ms = 5
[[rdb]]
port = {port_of_rdb}
[eod]
"""


def free_ports():
    """Returns a port P so that P, P + 1, P + 100 and P + 101 are free."""
    while True:
        port = random.randrange(20_000, 30_000)
        try:
            for offset in (0, 1, 100, 101):
                socket.create_server(("127.0.0.1", port + offset)).close()
            return port
        except OSError:
            continue


class EndOfDayTest(stack.StackTest):
    """`tickstack eod` of a sharded stack, whose processes run one by one on the ports of its file."""

    def start(self):
        port = free_ports()
        toml = self.folder / "stack.toml"
        toml.write_text(EOD.format(port=port, port_of_rdb=port + 1), encoding="utf-8")
        self.common = ("--config", str(toml), "--data", str(self.folder / "data"))
        for shard, offset in (("a", 0), ("b", 100)):
            self.start_process("tickerplant", "--name", f"tickerplant-{shard}", "--date", DATE, *self.common,
                               port=port + offset)
            _, self.rdb = self.start_process("rdb", "--name", f"rdb-{shard}", *self.common, port=port + 1 + offset)
            symbol = {"a": "AAA", "b": "BBB"}[shard]
            with kdb_ipc.connect_within(port + offset) as tickerplant:
                tickerplant.call(f'.u.upd[`trade;(`{symbol};1f;2i;0b;" ";"N")]')
            stack.wait_until(lambda at=port + 1 + offset: self.count(at) == 1, 60, "the row")
        return port

    def count(self, port):
        try:
            with kdb_ipc.connect_within(port) as rdb:
                return rdb.call("count trade")
        except (OSError, kdb_ipc.Closed, kdb_ipc.QError):
            return 0

    def day(self, port):
        with kdb_ipc.connect_within(port) as tickerplant:
            return tickerplant.call(".u.d")

    def eod(self):
        return self.run_program("eod", *self.common, "--timeout", "30")

    def partition(self, shard):
        return self.folder / "data" / shard / "hdb" / DATE / "trade"

    def test_a_day_that_ended_in_some_shards_ends_in_the_others(self):
        port = self.start()
        with kdb_ipc.connect_within(port) as tickerplant:
            tickerplant.call(".u.endofday[]")
        stack.wait_until(self.partition("a").is_dir, 60, "the partition of one shard")
        self.assertNotEqual(self.day(port), self.day(port + 100))
        ended = self.eod()
        self.assertEqual(0, ended.returncode, ended.stdout + ended.stderr)
        self.assertTrue(self.partition("b").is_dir())
        self.assertEqual(self.day(port), self.day(port + 100))
        again = self.eod()
        self.assertEqual(1, again.returncode)
        self.assertIn(f"{NEXT} has not begun yet", again.stderr)

    def test_no_day_ends_if_a_shard_does_not_answer(self):
        port = self.start()
        self.rdb.kill()
        self.rdb.wait()
        day = self.day(port)
        self.assertEqual(1, self.eod().returncode)
        self.assertEqual(day, self.day(port))


if __name__ == "__main__":
    stack.main()

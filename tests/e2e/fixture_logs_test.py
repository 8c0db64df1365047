#!/usr/bin/env python3
"""Logs of real kdb+ tickerplants, and our own, replay into an rdb, message by message and row by row."""

import collections
import json
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kdb_ipc, stack  # noqa: E402

# Each log's messages per table, from the fixtures' README.
LOGS = {
    "DataIntellectTech-TorQ/tests/merge/tplogreplay/testlogs/stp1_quote20220616122504": {"quote": 308},
    "DataIntellectTech-TorQ/tests/merge/tplogreplay/testlogs/stp1_trade20220616122504": {"trade": 306},
    "DataIntellectTech-TorQ/tests/stp/tickerlog/logs/oldlog/testoldlog": {"quote": 50, "trade": 50},
    "DataIntellectTech-TorQ/tests/stp/tickerlog/logs/stpnone/stpnone_20201006204450":
        {"quote": 1, "trade": 1},
    "DunnyDon-advancedKdb/section2/newtp": {"trade": 7},
    "DunnyDon-advancedKdb/tpLogs/schema2019.06.21": {"quote": 25, "statsTab": 19, "bid": 2},
    "DunnyDon-advancedKdb/tpLogs/schema2019.06.24": {"quote": 47, "statsTab": 44, "bid": 4},
    "SirCsimbok-kdb-tick/schema2024.01.29": {"quote": 1529, "trade": 167},
    "chanjam03-AdvKDB/logs/replay/ENB2023.04.24": {"trade": 3},
    "chanjam03-AdvKDB/logs/replay/sym2023.04.24":
        {"quote": 5117, "OHLC": 114, "trade": 568, "optTrades": 3000},
    "ghlian-AdvancedKDB/AdvancedKDB/Question2_Answers/tplog_fixed": {"trade": 8},
    "glimKX-advKDB/tplog/IBM.2018.06.11": {"quote": 1},
    "pmcnamee99-10-advanced-kdb-tick-arch/kdb-tick/schema2026.02.19": {"quote": 209, "trade": 209},
}


def rows_of(x):
    """Returns the rows of an upd's third item: a table, or a list of columns, atoms or rows."""
    if isinstance(x, kdb_ipc.Table):
        return len(next(iter(x.values())))
    first = x[0]
    if not isinstance(first, (list, tuple, bytes)):
        return 1
    return len(first)


def read_log(path):
    """Returns the number of messages, and messages and rows per table, read with a protocol decoder only. A message
    without a table (one log has a damaged one) counts only in the number of messages."""
    data = path.read_bytes()
    reader = kdb_ipc._Reader(data)
    reader.at = 8
    total, messages, rows = 0, collections.Counter(), collections.Counter()
    while reader.at < len(data):
        _, table, x = reader.value()[:3]
        total += 1
        if isinstance(table, str):
            messages[table] += 1
            rows[table] += rows_of(x)
    return total, dict(messages), dict(rows)


class FixtureLogsTest(stack.StackTest):
    def test_every_log_replays_with_its_counts(self):
        for name, messages in LOGS.items():
            with self.subTest(log=name):
                path = self.fixture(f"kdb/{name}")
                total, read_messages, rows = read_log(path)
                self.assertEqual(messages, read_messages)
                self.check_replay(path, total, rows)
                self.check_tool(path, total, sum(messages.values()), rows)

    def check_replay(self, path, messages, rows):
        port, process = self.start_process("rdb", "--replay", str(path))
        with kdb_ipc.connect_within(port) as rdb:
            def replayed():
                stats = rdb.call(".rdb.stats[]")
                return stats if stats["messages_replayed"] >= messages else None
            stats = stack.wait_until(replayed, 60, f"the replay of {path}")
            self.assertEqual(messages, stats["messages_replayed"])
            self.assertEqual(rows, {table: rdb.call(f"count {table}") for table in rdb.call("tables[]")})
            self.assertEqual(0, stats["upds_refused"])
        process.terminate()
        self.assertEqual(0, process.wait(30), process.log_path.read_text())

    def check_tool(self, path, messages, upds, rows):
        copy = self.folder / path.name
        shutil.copyfile(path, copy)
        checked = json.loads(self.run_program("log", "check", "--json", str(copy)).stdout)
        self.assertEqual(0, checked["problem_count"], checked)
        # A message that is no upd, such as the damaged one, is named.
        odd = messages - upds
        self.assertEqual(odd, sum(kind["messages"] for kind in checked["odd"]), checked)
        self.assertEqual(odd == 0, checked["ok"])
        self.assertEqual(messages, checked["messages"])
        self.assertEqual(rows, checked["rows"])

    def test_our_own_log_is_served_with_the_schemas_of_the_configuration(self):
        running = self.start_stack("[tables]\na = 'time p, sym s, n j'\nb = 'time p, sym s, x f'\n[tickerplant]\n[[rdb]]\n")
        with running.connect("tickerplant") as feed:
            feed.call([".u.upd", "a", [["S", "T"], [1, 2]]])
            feed.call([".u.upd", "b", [["S"], [1.5]]])
        stack.wait_until(lambda: running.count("a") + running.count("b") == 3, 60, "the rows")
        self.assertEqual(0, running.stop(), running.log_text())
        logs = [path for path in (running.data / "tplog").iterdir() if path.suffix != ".idx" and path.is_file()]
        log = min(logs, key=lambda path: len(path.name))
        other = self.folder / "other.toml"  # `b` does not fit, and `a` is unknown.
        other.write_text("[tables]\nb = 'time p, n j'\n[tickerplant]\n[[rdb]]\n")
        for config, columns in ((running.folder / "stack.toml", "a:time,sym,n b:time,sym,x"),
                                (other, "a:x,x1,x2 b:x,x1,x2")):
            with self.subTest(config=config):
                port, process = self.start_process("rdb", "--config", str(config), "--replay", str(log))
                with kdb_ipc.connect_within(port) as rdb:
                    self.assertEqual({"a": 2, "b": 1}, {table: rdb.call(f"count {table}") for table in rdb.call("tables[]")})
                    found = " ".join(f"{table}:{','.join(rdb.call(f'cols {table}'))}" for table in ("a", "b"))
                    self.assertEqual(columns, found)
                process.terminate()
                self.assertEqual(0, process.wait(30), process.log_path.read_text())


if __name__ == "__main__":
    stack.main()

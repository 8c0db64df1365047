#!/usr/bin/env python3
"""A stack takes a changed configuration at SIGHUP: what can change does, the rest is named, and an error changes nothing."""

import http.client
import json
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kdb_ipc, stack  # noqa: E402

CONFIG = """
[stack]
log_level = "info"
log_format = "text"
[health]
disk_free = "1B"
[tickerplant]
batch_ms = 5
[[rdb]]
query_slow_ms = 0
query_timeout_s = 0
[hdb]
[feed]
rate = 2000
"""
SLOW = "sum til 1000000"


class ReloadTest(stack.StackTest):

    def write(self, *changes, config=CONFIG):
        for was, changed in changes:
            self.assertIn(was, config)
            config = config.replace(was, changed)
        (self.running.folder / "stack.toml").write_text(config, encoding="utf-8")

    def log_of(self, name):
        if name == "stack":
            return self.running.log_path.read_text(encoding="utf-8")
        return (self.running.data / "logs" / f"{name}.log").read_text(encoding="utf-8")

    def reload(self, *names, words="configuration loaded again"):
        before = {name: self.log_of(name).count(words) for name in names}
        self.running.process.send_signal(signal.SIGHUP)
        for name, count in before.items():
            stack.wait_until(lambda n=name, c=count: self.log_of(n).count(words) > c, 60, f"{words} in {name}")

    def ready(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.running.port("tickerplant"), timeout=30)
        try:
            connection.request("GET", "/readyz")
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def wait_until_ready_again(self):
        stack.wait_until(lambda: self.ready()[0] == 200, what=f"a ready tickerplant: {self.ready()}")

    def test_what_can_change_does_and_the_rest_is_named(self):
        self.running = self.start_stack(CONFIG)
        stack.wait_until(lambda: self.running.count("trade") > 0, what="rows")
        self.wait_until_ready_again()
        self.running.ask("rdb", SLOW)
        self.assertNotIn("slow query", self.log_of("rdb"))
        self.write(("query_slow_ms = 0", "query_slow_ms = 0.001"), ('disk_free = "1B"', 'disk_free = "999999TiB"'),
                   ("batch_ms = 5", "batch_ms = 7"), ("[hdb]", "[hdb]\ncache = \"1MiB\""))
        self.reload("tickerplant", "rdb", "hdb", "feed")
        self.running.ask("rdb", SLOW)
        stack.wait_until(lambda: "slow query" in self.log_of("rdb"), what="a slow query")
        stack.wait_until(lambda: self.ready()[0] == 503, what="a tickerplant that is not ready")
        self.assertIn("disk", self.ready()[1])
        said = self.log_of("stack")
        self.assertIn('I stack configuration changed key=rdb[0].query_slow_ms was="0" is="0.001"', said)
        self.assertIn('I stack configuration changed key=health.disk_free was="\'1B\'" is="\'999999TiB\'"', said)
        self.assertIn('W stack configuration changed, needs a restart key=tickerplant.batch_ms was="5" is="7"', said)
        self.assertIn('W stack configuration changed, needs a restart key=hdb.cache was="" is="\'1MiB\'"', said)
        self.assertEqual(4, said.count("stack configuration changed"))

        # Timeout and format; the rest as at the start.
        self.write(("query_timeout_s = 0", "query_timeout_s = 0.02"), ('"text"', '"json"'))
        self.reload("tickerplant", "rdb", "hdb", "feed")
        self.wait_until_ready_again()
        with self.assertRaisesRegex(kdb_ipc.QError, "stop"):
            self.running.ask("rdb", "{x+1}/[100000000;0]")
        for name in ("tickerplant", "rdb", "hdb", "feed"):
            last = json.loads(self.log_of(name).splitlines()[-1])
            self.assertEqual(name, last["process"])
        self.assertEqual(4, len({self.running.pid(name) for name in ("tickerplant", "rdb", "hdb", "feed")}))
        self.assertNotIn("died", self.log_of("stack"))

    def test_a_wrong_configuration_changes_nothing(self):
        self.running = self.start_stack(CONFIG)
        wrong = "not loaded again, nothing has changed"
        for change in (("query_slow_ms = 0", "query_slow_ms = 0.001\nqueries = 5"), ("[hdb]", "[hdb"),
                       ('"text"', '"xml"')):
            self.write(("rate = 2000", "rate = 1000"), change)
            self.reload("stack", words=wrong)
        self.running.ask("rdb", SLOW)
        for name in ("tickerplant", "rdb"):
            self.assertNotIn("configuration", self.log_of(name))
        self.assertNotIn("slow query", self.log_of("rdb"))
        self.assertRegex(self.log_of("stack"), r"nothing has changed error=\".*stack\.toml:\d+:\d+: rdb\[0\]\.queries: unknown")
        self.write()
        self.reload("stack", "rdb")
        self.assertNotIn("configuration changed", self.log_of("stack"))

    def test_flags_of_a_single_process_stay_in_force(self):
        path = self.folder / "stack.toml"
        path.write_text("[hdb]\nquery_slow_ms = 0\n", encoding="utf-8")
        port, process = self.start_process("hdb", "--config", str(path), "--data", str(self.folder), "--log-format", "json",
                                           "--query-slow-ms", "1000000")
        with kdb_ipc.connect_within(port) as hdb:
            path.write_text('[stack]\nlog_level = "debug"\n[hdb]\nquery_slow_ms = 0.001\n', encoding="utf-8")
            process.send_signal(signal.SIGHUP)
            lines = []

            def loaded():
                lines[:] = [json.loads(line) for line in process.log_path.read_text(encoding="utf-8").splitlines()]
                return any(line["event"] == "configuration loaded again" for line in lines)
            stack.wait_until(loaded, 60, "the configuration")
            hdb.call(SLOW)
        changed = {line["key"]: line["is"] for line in lines if line["event"] == "configuration changed"}
        self.assertEqual({"stack.log_level": "'debug'", "hdb.query_slow_ms": "0.001"}, changed)
        self.assertNotIn("slow query", process.log_path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    stack.main()

#!/usr/bin/env python3
"""A real Prometheus: promtool's checks of the rules and of a scraped page, the tests of the rules, and a server that
scrapes a stack on loopback, whose alert fires when a process is killed and clears when it is back.

    tests/e2e/prometheus_test.py --program build/release/cli/tickstack

`make test-prometheus` runs it. Without Prometheus its tests are skipped; TICKSTACK_REQUIRE_PROMETHEUS=1: they fail.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.e2e.dashboard_test import targets  # noqa: E402
from tests.e2e.metrics_test import HEALTH, get  # noqa: E402
from tests.support import stack  # noqa: E402

RULES = stack.ROOT / "packaging/prometheus/tickstack.rules.yml"
ROWS = 5000


def listening_port(pid):
    """Returns the TCP port on which a process listens; None if it does not listen yet."""
    try:
        links = [os.readlink(entry) for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir()]
        tables = [pathlib.Path(f"/proc/{pid}/net/{name}").read_text(encoding="ascii") for name in ("tcp", "tcp6")]
    except OSError:
        return None
    inodes = {match[1] for link in links if (match := re.fullmatch(r"socket:\[(\d+)\]", link))}
    for table in tables:
        for line in table.splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                return int(fields[1].rpartition(":")[2], 16)
    return None


class PrometheusTest(stack.StackTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for tool in ("prometheus", "promtool"):
            if shutil.which(tool) is None:
                if os.environ.get("TICKSTACK_REQUIRE_PROMETHEUS") == "1":
                    raise AssertionError(f"no {tool}")
                raise stack.unittest.SkipTest(f"no {tool}: packaging/debian-packages-prometheus.txt")

    def promtool(self, *arguments, **options):
        done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False, **options)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_rules_are_valid_and_pass_their_tests(self):
        self.assertIn("SUCCESS", self.promtool("check", "rules", str(RULES)))
        self.assertIn("SUCCESS", self.promtool("test", "rules", str(RULES.parent / "tickstack.rules_test.yml")))

    def test_the_example_of_a_configuration_is_valid(self):
        example = (RULES.parent / "scrape.yml").read_text(encoding="utf-8")
        path = self.folder / "prometheus.yml"
        path.write_text(example.replace("/usr/share/tickstack/prometheus", str(RULES.parent)), encoding="utf-8")
        self.assertIn("SUCCESS", self.promtool("check", "config", str(path)))

    def start(self, role, *flags, port=0):
        config = self.folder / "stack.toml"
        if not config.exists():
            config.write_text(HEALTH + f"[tickerplant]\n[[rdb]]\n[[feed]]\nrate = 0\nrows = {ROWS}\nstart = true\n",
                              encoding="utf-8")
        return self.start_process(role, "--config", str(config), *flags, port=port)

    def start_stack_of_processes(self):
        data = str(self.folder / "data")
        ports = {"tickerplant": self.start("tickerplant", "--data", data)[0]}
        address = f"127.0.0.1:{ports['tickerplant']}"
        ports["rdb"], self.rdb = self.start("rdb", "--tickerplant", address, "--data", data)
        ports["feed"] = self.start("feed", "--tickerplant", address)[0]
        return ports

    def start_prometheus(self, ports):
        # At once instead of after a minute.
        rules = re.sub(r"\bfor: \S+", "for: 0s", RULES.read_text(encoding="utf-8"))
        (self.folder / "rules.yml").write_text(rules, encoding="utf-8")
        targets = [{"targets": [f"127.0.0.1:{port}"], "labels": {"stack": "test", "role": role}}
                   for role, port in ports.items()]
        config = {"global": {"scrape_interval": "200ms", "scrape_timeout": "200ms", "evaluation_interval": "200ms"},
                  "rule_files": [str(self.folder / "rules.yml")],
                  "scrape_configs": [{"job_name": "tickstack", "static_configs": targets}]}
        (self.folder / "prometheus.yml").write_text(json.dumps(config), encoding="utf-8")  # JSON is YAML.
        with open(self.folder / "prometheus.log", "wb") as log:
            server = subprocess.Popen(
                ["prometheus", f"--config.file={self.folder}/prometheus.yml", f"--storage.tsdb.path={self.folder}/tsdb",
                 "--web.listen-address=127.0.0.1:0"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

        def end():
            server.kill()
            server.wait()
        self.addCleanup(end)
        self.api_port = stack.wait_until(lambda: listening_port(server.pid), 60, "Prometheus")

    def api(self, path, **parameters):
        url = f"http://127.0.0.1:{self.api_port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=30) as response:
            return json.load(response)["data"]

    def query(self, expression):
        """{role: value} of an instant vector."""
        return {sample["metric"].get("role"): float(sample["value"][1]) for sample in self.api("query", query=expression)["result"]}

    def firing(self):
        return {(alert["labels"]["alertname"], alert["labels"].get("role")) for alert in self.api("alerts")["alerts"]
                if alert["state"] == "firing"}

    def check_dashboard(self, roles):
        """Prometheus evaluates every expression of the dashboard, and those about `roles` have results."""
        for title, expression, _ in targets():
            query = expression.replace("$stack", "test").replace("$__rate_interval", "1m")
            about = set(re.findall(r"tickstack_(tickerplant|rdb|feed|hdb|aggengine|monitor)_", query))
            if about <= set(roles):
                stack.wait_until(lambda query=query: self.api("query", query=query)["result"], 60, f"{title}: {query}")
            else:
                self.assertEqual([], self.api("query", query=query)["result"])

    def test_a_killed_process_is_an_alert_until_it_is_back(self):
        ports = self.start_stack_of_processes()
        for port in ports.values():
            stack.wait_until(lambda port=port: get(port, "/readyz")[0] == 200, 60, "the stack")
            self.assertEqual("", self.promtool("check", "metrics", input=get(port, "/metrics")[2]))
        self.start_prometheus(ports)
        up = {role: 1.0 for role in ports}
        stack.wait_until(lambda: self.query("up") == up, 60, "all targets are up")
        stack.wait_until(lambda: self.query("tickstack_ready") == up, 60, "all are ready")
        stack.wait_until(lambda: self.query("sum by (role) (tickstack_tickerplant_rows_logged_total)") == {"tickerplant": ROWS},
                         60, "the rows")
        stack.wait_until(lambda: self.query('sum by (role) (tickstack_rdb_table_rows)') == {"rdb": ROWS}, 60, "their tables")
        self.assertEqual([], [alert for alert in self.firing() if alert[0] != "TickstackFeedSilent"])
        self.check_dashboard(ports)

        self.rdb.kill()
        self.rdb.wait()
        stack.wait_until(lambda: ("TickstackProcessDown", "rdb") in self.firing(), 60, "the alert")
        self.assertNotIn(("TickstackProcessDown", "tickerplant"), self.firing())
        self.start("rdb", "--tickerplant", f"127.0.0.1:{ports['tickerplant']}", "--data", str(self.folder / "data"),
                   port=ports["rdb"])
        stack.wait_until(lambda: ("TickstackProcessDown", "rdb") not in self.firing(), 60, "the end of the alert")
        stack.wait_until(lambda: self.query('sum by (role) (tickstack_rdb_table_rows)') == {"rdb": ROWS}, 60, "the rows again")


if __name__ == "__main__":
    stack.main()

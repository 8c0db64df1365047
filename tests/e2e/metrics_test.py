#!/usr/bin/env python3
"""/metrics, /healthz and /readyz of every process, by a strict reader: the values are those of the statistics
functions, and a process that cannot do its work says so."""

import http.client
import json
import os
import pathlib
import re
import signal
import socket
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kdb_ipc, metrics_text, stack  # noqa: E402

ROWS = 20_000
ROLES = ("tickerplant", "rdb", "aggengine", "hdb", "feed", "monitor")
# Whatever the disks of this machine have.
HEALTH = "[health]\ndisk_free = \"1B\"\n"
CONFIG = HEALTH + f"""
[tickerplant]
batch_ms = 5
[[rdb]]
[rdb.tier.dram]
size = "1GiB"
[eod]
[hdb]
[aggengine]
[feed]
rate = 0
rows = {ROWS}
symbols = 20
[monitor]
query_ms = 50
progress_s = 0
"""
# Units of the entries of statistics, by the ends of their names.
UNITS = {"_ms": 1e-3, "_us": 1e-6, "_ns": 1e-9, "_ms_max": 1e-3, "_ns_max": 1e-9}
# Entries that change by asking, and by the monitor, which asks all the time.
CHANGING = {"queries_running", "queries_waiting", "unread_bytes", "clients", "connections", "queued_bytes", "queued_bytes_max"}


def get(port, path, method="GET", headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(method, path, headers=headers or {})
        response = connection.getresponse()
        return response.status, response.headers["Content-Type"], response.read().decode()
    finally:
        connection.close()


def scrape(port):
    status, content_type, text = get(port, "/metrics")
    assert (status, content_type) == (200, "text/plain; version=0.0.4; charset=utf-8"), (status, content_type, text)
    return metrics_text.parse(text)


def scale_of(key):
    return next((scale for end, scale in UNITS.items() if key.endswith(end)), 1)


class MetricsOfAStackTest(stack.StackTest):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.page = (stack.ROOT / "docs/metrics.md").read_text(encoding="utf-8")

    def setUp(self):
        super().setUp()
        self.running = self.start_stack(CONFIG)
        stack.wait_until(lambda: self.running.ask("feed", ".feed.stats[]")["state"] == "done", 60, "the feed")
        stack.wait_until(lambda: self.running.count("trade") + self.running.count("quote") >= ROWS, 60, "the rows")
        stack.wait_until(lambda: self.running.ask("aggengine", ".agg.stats[]")["rows_waiting"] == 0, 60, "the bars")

    def scrape(self, role):
        return scrape(self.running.port(role))

    @staticmethod
    def wait_for_same(answer, metric):
        """Waits until a query and a page of metrics, asked one after the other, have the same value."""
        found = []

        def are_same():
            found[:] = [answer(), metric()]
            return found[0] == found[1]
        try:
            stack.wait_until(are_same, 60, "the same value")
        except AssertionError as error:
            raise AssertionError(f"{error}: {found}") from None

    def rows_of_page(self, role):
        """(metric, label, source, key) of the table of a process in docs/metrics.md."""
        section = self.page.split(f"\n## {role}\n")[1].split("\n## ")[0]
        return re.findall(r"^\| `(\w+?)(?:\{(\w+)\})?` \|.*\| `([.\w]+)\[\]`(?: `(\w+)`)? \|$", section, re.M)

    def test_numbers_of_rows_are_those_that_were_published(self):
        tickerplant, rdb, feed = (self.scrape(role) for role in ("tickerplant", "rdb", "feed"))
        logged = tickerplant.values("tickstack_tickerplant_rows_logged_total")
        self.assertEqual(ROWS, logged["trade"] + logged["quote"])
        self.assertEqual(ROWS, feed.value("tickstack_feed_rows_sent_total"))
        self.assertEqual({table: logged[table] for table in ("trade", "quote")}, feed.values("tickstack_feed_logged_rows"))
        # The last bars may still be on their way.
        self.wait_for_same(lambda: {table: self.running.count(table) for table in ("trade", "quote", "trade_daily")}, lambda: {
            table: rows for table, rows in self.scrape("rdb").values("tickstack_rdb_table_rows").items()
            if table in ("trade", "quote", "trade_daily")})
        self.assertEqual(1, feed.value("tickstack_feed_state", state="done"))
        self.assertEqual(1 << 30, rdb.value("tickstack_rdb_tier_capacity_bytes", tier="dram"))
        self.wait_for_same(lambda: dict(zip(*[self.running.ask("rdb", ".tier.stats[]")[column] for column in ("tier", "used")]))["dram"],
                           lambda: self.scrape("rdb").value("tickstack_rdb_tier_used_bytes", tier="dram"))
        stack.wait_until(lambda: self.scrape("monitor").value("tickstack_monitor_measured_seconds_count", metric="query"), what="a query")

    def test_histograms_count_the_rows_that_came_live(self):
        for role, source in (("rdb", ".rdb.stats[]"), ("aggengine", ".agg.stats[]")):
            stack.wait_until(lambda role=role, source=source: self.running.ask(role, source)["live"] == 1, 60, f"{role} live")
        before = self.running.ask("rdb", ".rdb.latency[]")["count"]
        row = ["AIG", 1.0, kdb_ipc.Typed("i", 1), False, kdb_ipc.Typed("c", "A"), kdb_ipc.Typed("c", "N")]
        with self.running.connect("tickerplant") as feed:  # The tickerplant adds the time.
            self.assertIsNone(feed.call([".u.upd", "trade", row]))
        stack.wait_until(lambda: self.running.ask("rdb", ".rdb.latency[]")["count"] > before, 60, "the row")
        # Bars of the row follow it.
        self.wait_for_same(lambda: self.running.ask("rdb", ".rdb.latency[]")["count"],
                           lambda: self.scrape("rdb").value("tickstack_rdb_row_latency_seconds_count"))
        self.assertGreater(self.scrape("rdb").value("tickstack_rdb_row_latency_seconds_sum"), 0)
        stack.wait_until(lambda: self.scrape("aggengine").value("tickstack_aggengine_bar_lag_seconds_count") > 0, 60, "its bar")

    def test_values_are_those_of_the_statistics_functions(self):
        compared = 0
        for role in ROLES:
            rows = self.rows_of_page(role)
            # This tickerplant leads no others.
            sources = {source for _, _, source, key in rows if key and source not in (".tier.stats", ".u.replica")}
            before = {source: self.running.ask(role, f"{source}[]") for source in sources}
            page = self.scrape(role)
            after = {source: self.running.ask(role, f"{source}[]") for source in sources}
            for metric, label, source, key in rows:
                with self.subTest(metric=metric):
                    expected = source in sources and before[source].get(key)
                    # It changes all the time, or has a test of its own.
                    if label or source not in sources or key in CHANGING or expected != after[source].get(key):
                        continue
                    if expected is None:
                        self.assertIsNone(page.value(metric))
                    else:
                        self.assertAlmostEqual(expected * scale_of(key), page.value(metric), delta=1e-9)
                    compared += 1
        self.assertGreater(compared, 80)

    def test_counters_never_fall_and_every_series_stays(self):
        first = {role: self.scrape(role) for role in ROLES}
        for role in ROLES:
            self.running.ask(role, "1+1")
        for role in ROLES:
            later = self.scrape(role)
            missing = set(first[role].counters()) - set(later.counters())
            self.assertEqual(set(), missing)
            for series, value in first[role].counters().items():
                self.assertGreaterEqual(later.counters()[series], value, series)
            self.assertGreater(later.value("process_resident_memory_bytes"), 1 << 20)
            version = self.run_program("--version").stdout.split()[1]
            self.assertEqual(1, later.value("tickstack_build_info", version=version))

    def test_pages_have_every_metric_that_the_documentation_lists(self):
        for role in ROLES:
            section = self.page.split(f"\n## {role}\n")[1].split("\n## ")[0]
            listed = set(re.findall(r"^\| `(\w+)", section, re.M))
            self.assertGreater(len(listed), 5)
            # These have no sample while nothing is wrong, or before the first day.
            absent = {"tickstack_rdb_stale_seconds", "tickstack_hdb_tables", "tickstack_hdb_partitions",
                      "tickstack_hdb_segments", "tickstack_hdb_symbols", "tickstack_aggengine_last_bar_lag_seconds"}
            absent.add("tickstack_feed_messages_total")  # A simulated market has no messages.
            # Those of a leader of several tickerplants: kafka_log_test.py has one.
            absent |= {metric for metric in listed if "_tickerplant_replication_" in metric}
            # Those of a live feed: live_feed_test.py has one.
            absent |= {metric for metric in listed if "_feed_line_" in metric}
            # Some have a sample after the first measurement.
            missing = lambda role=role, wanted=listed - absent: wanted - set(self.scrape(role).families)  # noqa: E731
            stack.wait_until(lambda missing=missing: not missing(), 60, f"the metrics {missing()} of {role}")

    def test_a_healthy_stack_is_alive_and_ready_and_has_logged_no_warning(self):
        for role in ROLES:
            self.assertEqual((200, "alive\n"), get(self.running.port(role), "/healthz")[::2])
            stack.wait_until(lambda role=role: get(self.running.port(role), "/readyz")[::2] == (200, "ready\n"), 30,
                             f"{role} is ready")
            self.assertEqual(1, self.scrape(role).value("tickstack_ready"))
        lines = self.running.log_text().splitlines()
        self.assertEqual([], [line for line in lines if re.match(r"\S{26} [WE] ", line)])
        self.assertRegex([line for line in lines if " ready " in line][-1], r"http://127.0.0.1:\d+/")

    def test_only_get_and_head_of_this_machine(self):
        port = self.running.port("tickerplant")
        self.assertEqual(405, get(port, "/metrics", "POST")[0])
        self.assertEqual((200, ""), get(port, "/metrics", "HEAD")[::2])
        self.assertEqual(403, get(port, "/metrics", headers={"Host": "evil.example"})[0])
        self.assertEqual(404, get(port, "/metrics/x")[0])

    def test_one_connection_scrapes_many_times_and_asks_in_between(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.running.port("rdb"), timeout=30)
        for path, expected in (("/metrics", 200), ("/.txt?1+1", 200), ("/healthz", 200), ("/.txt?1+%60a", 400), ("/metrics", 200)):
            connection.request("GET", path)
            response = connection.getresponse()
            text = response.read().decode()
            self.assertEqual(expected, response.status, text)
        metrics_text.parse(text)
        connection.close()


class ReadinessTest(stack.StackTest):
    def start(self, role, *flags, port=0):
        config = self.folder / "stack.toml"
        if not config.exists():
            config.write_text(HEALTH + "feed_silent = \"300ms\"\n[tickerplant]\n[[rdb]]\n", encoding="utf-8")
        return self.start_process(role, "--config", str(config), "--data", str(self.folder / "data"), *flags, port=port)

    def readiness(self, port):
        try:
            return get(port, "/readyz")[::2]
        except (OSError, http.client.HTTPException):
            return None, ""

    def wait_for(self, port, status, text):
        def as_expected():
            found = self.readiness(port)
            return found[0] == status and text in found[1]
        stack.wait_until(as_expected, 60, f"{status} {text!r}, found {self.readiness(port)}")

    def test_a_lost_tickerplant_makes_an_rdb_unready_until_it_is_back(self):
        tp_port, tickerplant = self.start("tickerplant")
        rdb_port, _ = self.start("rdb", "--tickerplant", f"127.0.0.1:{tp_port}")
        self.wait_for(rdb_port, 200, "ready")
        tickerplant.kill()
        tickerplant.wait()
        self.wait_for(rdb_port, 503, "not ready:\n- it is not connected to the tickerplant\n")
        self.assertEqual(0, scrape(rdb_port).value("tickstack_ready"))
        self.assertEqual(200, get(rdb_port, "/healthz")[0])
        self.start("tickerplant", port=tp_port)
        self.wait_for(rdb_port, 200, "ready")
        self.assertEqual(1, scrape(rdb_port).value("tickstack_rdb_connected"))

    def test_a_silent_feed_is_named(self):
        port, _ = self.start("tickerplant")
        self.wait_for(port, 200, "ready")
        row = [kdb_ipc.Typed("p", 0), "AIG", 1.0, kdb_ipc.Typed("i", 1), False, kdb_ipc.Typed("c", "A"), kdb_ipc.Typed("c", "N")]
        with kdb_ipc.connect_within(port) as feed:
            self.assertEqual({"trade": 0, "quote": 0}, feed.call([b".u.feed", "nyse", "one"]))
            self.assertIsNone(feed.call([".u.updn", "nyse", 0, "trade", row]))
            self.wait_for(port, 503, "- feed nyse has sent no rows for ")
            self.assertEqual({"trade": 1, "quote": 0}, feed.call(b".u.activity[]")["rows"])
            self.assertGreater(scrape(port).value("tickstack_tickerplant_feed_silent_seconds", feed="nyse"), 0.29)

    def test_a_full_tier_is_named_with_the_tables_that_lack_rows(self):
        running = self.start_stack(HEALTH + f"""
[tickerplant]
batch_ms = 5
[[rdb]]
[rdb.tier.small]
kind = "filesystem"
path = "{self.folder}"
size = "32MiB"
[rdb.placement]
default = "small"
[feed]
rate = 0
rows = 900000
start = true
""")
        self.wait_for(running.port("rdb"), 503, "has lacked rows that it refused for")
        text = self.readiness(running.port("rdb"))[1]
        self.assertRegex(text, r"- tier small is \d+ % full: .* of 32.0 MiB, expected at most 80 %\n")
        self.assertIn("- today's tables lack rows: ", text)
        stack.wait_until(lambda: "tier is nearly full tier=small" in running.log_text(), 60, "the warning")
        page = scrape(running.port("rdb"))
        self.assertGreater(page.value("tickstack_rdb_tier_refused_total", tier="small"), 0)
        self.assertEqual((0, 1), (page.value("tickstack_rdb_live"), page.value("tickstack_rdb_incomplete")))

    def test_a_disk_with_too_little_space_is_named(self):
        config = self.folder / "stack.toml"
        config.write_text("[health]\ndisk_free = \"8000000TiB\"\n[tickerplant]\n", encoding="utf-8")
        port, _ = self.start("tickerplant")
        self.wait_for(port, 503, f"free at {self.folder}/data/tplog, expected ")

    def test_a_process_that_is_stopped_does_not_answer_and_then_does(self):
        port, tickerplant = self.start("tickerplant")
        self.wait_for(port, 200, "ready")
        os.kill(tickerplant.pid, signal.SIGSTOP)
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=0.5) as client, self.assertRaises(TimeoutError):
                client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                client.recv(1)
        finally:
            os.kill(tickerplant.pid, signal.SIGCONT)
        self.wait_for(port, 200, "ready")


class PagesTest(unittest.TestCase):
    """Files that name metrics."""

    def listed(self):
        return set(re.findall(r"^\| `(\w+)", (stack.ROOT / "docs/metrics.md").read_text(encoding="utf-8"), re.M))

    def test_the_page_is_what_the_program_prints(self):
        printed = stack.subprocess.run([stack.PROGRAM, "metrics"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(printed, (stack.ROOT / "docs/metrics.md").read_text(encoding="utf-8"),
                         "build/release/cli/tickstack metrics > docs/metrics.md")

    def check_names(self, path):
        text = path.read_text(encoding="utf-8")
        names = {re.sub(r"_(bucket|sum|count)$", "", name)
                 for name in re.findall(r"\b(?:tickstack_[a-z]\w*|process_\w+)(?=[{\[ )\"/]|$)", text)}
        self.assertGreater(len(names), 10, path)
        self.assertEqual(set(), names - self.listed(), path)

    def test_rules_and_dashboard_name_metrics_that_exist(self):
        self.check_names(stack.ROOT / "packaging/prometheus/tickstack.rules.yml")
        self.check_names(stack.ROOT / "packaging/grafana/tickstack.json")

    def test_every_query_of_the_dashboard_is_of_the_chosen_stack(self):
        dashboard = json.loads((stack.ROOT / "packaging/grafana/tickstack.json").read_text(encoding="utf-8"))
        expressions = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
        self.assertGreater(len(expressions), 20)
        for expression in expressions:
            for selector in re.findall(r"(?:tickstack_|process_)\w+(\{[^}]*\})?", expression):
                self.assertIn('stack=~"$stack"', selector, expression)

    def test_the_reader_refuses_what_is_wrong(self):
        good = '# HELP a_total A.\n# TYPE a_total counter\na_total{t="x\\"y"} 1\n'
        self.assertEqual(1, metrics_text.parse(good).value("a_total", t='x"y'))
        for bad in (good[:-1], good.replace("# HELP a_total A.\n", ""), good + 'a_total{t="x\\"y"} 2\n', good + "b 1\n",
                    good.replace("a_total", "a"), good.replace(" 1\n", " one\n"), good + good,
                    '# HELP h H.\n# TYPE h histogram\nh_bucket{le="1"} 2\nh_bucket{le="+Inf"} 1\nh_sum 1\nh_count 1\n'):
            with self.assertRaises(metrics_text.Malformed, msg=bad):
                metrics_text.parse(bad)


if __name__ == "__main__":
    stack.main()

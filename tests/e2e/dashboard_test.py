#!/usr/bin/env python3
"""The dashboard and the alert rules of packaging/: Grafana can import the dashboard, and every expression selects series
that a running stack has, by labels that they have."""

import json
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.e2e.metrics_test import HEALTH, ROLES, scrape  # noqa: E402
from tests.support import promql, stack  # noqa: E402

DASHBOARD = json.loads((stack.ROOT / "packaging/grafana/tickstack.json").read_text(encoding="utf-8"))
RULES = (stack.ROOT / "packaging/prometheus/tickstack.rules.yml").read_text(encoding="utf-8")
SCRAPE = (stack.ROOT / "packaging/prometheus/scrape.yml").read_text(encoding="utf-8")
PAGE = (stack.ROOT / "docs/metrics.md").read_text(encoding="utf-8")
CONFIG = HEALTH + """
[tickerplant]
batch_ms = 5
[[rdb]]
[eod]
retry_s = 0.1
[hdb]
[aggengine]
[[feed]]
name = "feed"
rate = 2000
seconds = 0
symbols = 20
[[feed]]
name = "exchange"
source = "itch"
path = "EXCHANGE"
tables = ["status", "gap"]
start = true
[monitor]
query_ms = 50
progress_s = 0
"""
# A file of ITCH: a system event, and one that is too short.
ITCH = b"\0\x0cS" + bytes(10) + b"O" + b"\0\x05S" + bytes(4)
VALUE_PANELS = {"stat", "timeseries"}
OTHER_PANELS = {"row", "alertlist"}
UNITS = {"none", "short", "s", "bytes", "percentunit"}  # Of Grafana's list; a wrong one shows plain numbers.
COLUMNS = 24  # Of Grafana's grid.
# A metric has one sample, for the state that this label names; docs/metrics.md lists the states.
STATE_LABELS = {"tickstack_feed_state": "state"}
# Grafana provides them.
BUILT_IN = {"__rate_interval", "__all"}


def panels():
    return DASHBOARD["panels"]


def targets():
    """(panel's title, expression, legend)"""
    return [(panel["title"], target["expr"], target.get("legendFormat", ""))
            for panel in panels() for target in panel.get("targets", [])]


def alerts():
    """(alert's name, expression, text of its annotations)"""
    found = []
    for text in RULES.split("- alert: ")[1:]:
        name, rest = text.split("\n", 1)
        expression = re.search(r"^ *expr: (.+)$", rest, re.M)[1]
        found.append((name, expression, rest.split("annotations:")[1]))
    return found


class DashboardFileTest(unittest.TestCase):
    def test_it_has_what_an_import_needs(self):
        self.assertIsNone(DASHBOARD.get("id"), "an id of another Grafana would replace one of its dashboards")
        self.assertEqual(("tickstack", "tickstack"), (DASHBOARD["uid"], DASHBOARD["title"]))
        self.assertGreaterEqual(DASHBOARD["schemaVersion"], 36)
        self.assertEqual({"from", "to"}, set(DASHBOARD["time"]))
        # The data source is chosen by a variable, so the import asks for none (`__inputs`).
        self.assertNotIn("${DS_", json.dumps(DASHBOARD))
        variables = {variable["name"]: variable for variable in DASHBOARD["templating"]["list"]}
        self.assertEqual(("datasource", "prometheus"), (variables["datasource"]["type"], variables["datasource"]["query"]))
        self.assertEqual("${datasource}", variables["stack"]["datasource"]["uid"])
        used = set(re.findall(r"\$\{?(\w+)", json.dumps(DASHBOARD)))
        self.assertEqual(set(), used - set(variables) - BUILT_IN)

    def test_panels_have_ids_places_and_units(self):
        ids = [panel["id"] for panel in panels()]
        self.assertEqual(len(ids), len(set(ids)))
        taken = {}
        for panel in panels():
            with self.subTest(panel=panel["title"]):
                self.assertIn(panel["type"], VALUE_PANELS | OTHER_PANELS)
                place = panel["gridPos"]
                self.assertEqual({"x", "y", "w", "h"}, set(place))
                self.assertTrue(0 <= place["x"] and place["w"] > 0 and place["x"] + place["w"] <= COLUMNS, place)
                for x in range(place["x"], place["x"] + place["w"]):
                    for y in range(place["y"], place["y"] + place["h"]):
                        self.assertEqual(panel["id"], taken.setdefault((x, y), panel["id"]), "panels overlap")
                if panel["type"] in VALUE_PANELS:
                    self.assertIn(panel["fieldConfig"]["defaults"]["unit"], UNITS)
                    self.assertTrue(panel["targets"])

    def test_targets_ask_the_chosen_data_source(self):
        chosen = {"type": "prometheus", "uid": "${datasource}"}
        for panel in panels():
            if panel["type"] not in VALUE_PANELS:
                continue
            with self.subTest(panel=panel["title"]):
                self.assertEqual(chosen, panel["datasource"])
                self.assertEqual([chosen] * len(panel["targets"]), [target["datasource"] for target in panel["targets"]])
                references = [target["refId"] for target in panel["targets"]]
                self.assertEqual(len(references), len(set(references)))

    def test_the_reader_of_expressions_finds_every_selector(self):
        found = promql.selectors('sum by (a, le) (rate(x_total{s=~"$s",d!~"t .*"}[5m])) / y > 0 and on () (hour() >= 15)')
        self.assertEqual(["x_total", "y"], [selector.name for selector in found])
        self.assertEqual([("s", "=~", "$s"), ("d", "!~", "t .*")], found[0].matchers)
        self.assertFalse(found[0].matches({"s": "$s", "d": "t x"}))
        self.assertTrue(promql.selectors('z{a="b",c!="d"}')[0].matches({"a": "b"}))
        self.assertEqual({"a"}, promql.result_labels("sum by (a, le) (x)", {"b"}))
        self.assertEqual({"b"}, promql.result_labels("x > 5", {"b"}))


class ExpressionsTest(stack.StackTest):
    def scrape_all(self):
        """{name: [labels of each series]}, with the labels that Prometheus adds."""
        series = {"up": []}
        for name, role in [*zip(ROLES, ROLES), ("exchange", "feed")]:
            port = self.running.port(name)
            added = {"job": "tickstack", "instance": f"localhost:{port}", "stack": "march", "role": role}
            self.assertEqual(set(), set(added) - {"job", "instance"} - set(re.findall(r"(\w+): \w+[,}]", SCRAPE)))
            series["up"].append(added)
            for metric, labels in scrape(port).series():
                series.setdefault(metric, []).append({**dict(labels), **added})
        return series

    def end_a_day(self):
        """Some metrics have no value before the first day has ended."""
        with self.running.connect("tickerplant") as client:
            client.call(".u.endofday[]")
        stack.wait_until(lambda: scrape(self.running.port("hdb")).value("tickstack_hdb_partitions") == 1, 60, "the day")

    def check_states(self, selector):
        """Removes the matchers of a state, which the stack need not be in, after comparing them with the documented ones."""
        label = STATE_LABELS.get(selector.name)
        meaning = re.search(rf"^\| `{selector.name}\{{{label}\}}` .*$", PAGE, re.M)
        for matcher in [one for one in selector.matchers if one[0] == label]:
            selector.matchers.remove(matcher)
            for state in matcher[2].split("|"):
                self.assertRegex(meaning[0], rf"\b{state}\b")

    def check(self, what, expression, text):
        """`text` names labels of the expression's result."""
        with self.subTest(what, expression=expression):
            selected = promql.selectors(expression.replace("$stack", "march"))
            self.assertTrue(selected)
            labels = set()
            for selector in selected:
                self.check_states(selector)
                found = [one for one in self.series.get(selector.name, []) if selector.matches(one)]
                self.assertTrue(found, f"no process has {selector}; it has {self.series.get(selector.name)}")
                labels |= set(found[0])
                self.assertEqual(set(), {label for label, _, _ in selector.matchers} - set(found[0]), selector)
            self.assertEqual(set(), promql.grouping_labels(expression) - labels)
            named = set(re.findall(r"\{\{ *(\w+) *\}\}|\$labels\.(\w+)", text))
            self.assertEqual(set(), {one or other for one, other in named} - promql.result_labels(expression, labels))

    def test_every_expression_selects_series_of_a_running_stack(self):
        (self.folder / "exchange.itch").write_bytes(ITCH)
        self.running = self.start_stack(CONFIG.replace("EXCHANGE", str(self.folder / "exchange.itch")), "--date", "2019.12.30")
        stack.wait_until(lambda: self.running.count("trade_daily") > 0, 60, "bars")
        stack.wait_until(lambda: self.running.ask("exchange", ".feed.stats[]`state") == "done", 60, "the exchange's file")
        self.end_a_day()
        self.series = self.scrape_all()
        self.assertGreater(len(targets()), 25)
        for title, expression, legend in targets():
            self.check(title, expression, legend)
        self.assertGreaterEqual(len(alerts()), 20)
        for name, expression, annotations in alerts():
            self.check(name, expression, annotations)


if __name__ == "__main__":
    stack.main()

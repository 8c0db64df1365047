"""A strict reader of Prometheus' text format, for the pages of /metrics.

    page = metrics_text.parse(text)
    page.value("tickstack_rdb_live")                        # 1.0
    page.value("tickstack_rdb_table_rows", table="trade")   # 5000.0
    page.counters()                                         # {(name, labels): value}, with those of histograms

What Prometheus would accept and a good page does not have is an error: a sample without HELP and TYPE before it, a
family in two places, a series twice, a counter whose name does not end in _total, a histogram whose buckets are not
cumulative or do not end with +Inf and the count.
"""

import math
import re

SAMPLE = re.compile(r'([a-z_:][a-z0-9_:]*)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'([a-z_][a-z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')
TYPES = ("counter", "gauge", "histogram")


class Malformed(AssertionError):
    """The page breaks a rule; the text has the line."""


class Family:
    def __init__(self, name, help_text):
        self.name, self.help, self.type = name, help_text, None
        self.samples = {}  # (name, labels as a sorted tuple) -> value


class Page:
    def __init__(self, families):
        self.families = families

    def series(self):
        return {key: value for family in self.families.values() for key, value in family.samples.items()}

    def value(self, name, **labels):
        """The value of a series; None if there is none."""
        return self.series().get((name, tuple(sorted(labels.items()))))

    def values(self, name):
        """{value of the only label: value of the series}"""
        return {labels[0][1]: value for (found, labels), value in self.series().items() if found == name}

    def counters(self):
        return {key: value for family in self.families.values() if family.type != "gauge"
                for key, value in family.samples.items()}


def _number(text, line):
    try:
        return {"+Inf": math.inf, "-Inf": -math.inf, "NaN": math.nan}[text]
    except KeyError:
        if not re.fullmatch(r"-?\d+(\.\d+)?(e[-+]\d+)?", text):
            raise Malformed(f"no number: {line}") from None
        return float(text)


def _labels(text, line):
    labels, at = {}, 0
    while at < len(text):
        match = LABEL.match(text, at)
        if not match or match[1] in labels:
            raise Malformed(f"labels: {line}")
        labels[match[1]] = match[2].replace(r"\n", "\n").replace(r"\"", '"').replace(r"\\", "\\")
        at = match.end()
    return tuple(sorted(labels.items()))


def _check_histogram(family):
    groups = {}
    for (name, labels), value in family.samples.items():
        rest = tuple(label for label in labels if label[0] != "le")
        group = groups.setdefault(rest, {"buckets": []})
        suffix = name[len(family.name):]
        if suffix == "_bucket":
            group["buckets"].append((float(dict(labels)["le"].replace("+Inf", "inf")), value))
        elif suffix in ("_sum", "_count") and suffix not in group:
            group[suffix] = value
        else:
            raise Malformed(f"{name} is no series of a histogram")
    for labels, group in groups.items():
        bounds = [bound for bound, _ in group["buckets"]]
        counts = [count for _, count in group["buckets"]]
        if bounds != sorted(set(bounds)) or counts != sorted(counts) or not bounds or bounds[-1] != math.inf:
            raise Malformed(f"buckets of {family.name}{labels}: {group['buckets']}")
        if group.get("_count") != counts[-1] or group.get("_sum", -1) < 0:
            raise Malformed(f"{family.name}{labels}: count {group.get('_count')}, +Inf {counts[-1]}, sum {group.get('_sum')}")


def parse(text):
    if not text.endswith("\n"):
        raise Malformed("the last line has no end")
    families, family = {}, None
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            _, _, name, help_text = line.split(" ", 3)
            if name in families:
                raise Malformed(f"a second family: {line}")
            family = families[name] = Family(name, help_text)
        elif line.startswith("# TYPE "):
            _, _, name, family_type = line.split(" ", 3)
            if family is None or family.name != name or family.type or family_type not in TYPES:
                raise Malformed(f"no HELP before, or no type: {line}")
            if (family_type == "counter") != name.endswith("_total"):
                raise Malformed(f"counters, and only they, end in _total: {line}")
            family.type = family_type
        else:
            match = SAMPLE.match(line)
            if not match or family is None or family.type is None:
                raise Malformed(f"no sample: {line}")
            fits = match[1].startswith(family.name + "_") if family.type == "histogram" else match[1] == family.name
            key = (match[1], _labels(match[2] or "", line))
            if not fits or key in family.samples:
                raise Malformed(f"of another family, or a second time: {line}")
            family.samples[key] = _number(match[3], line)
    for family in families.values():
        if not family.samples:
            raise Malformed(f"no samples: {family.name}")
        if family.type == "histogram":
            _check_histogram(family)
    return Page(families)

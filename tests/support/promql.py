"""Reads what the tests need of Prometheus' expressions: which series they select, and which labels their results have.

    promql.selectors('sum by (role) (rate(a_total{x="y"}[5m])) / b')   # [Selector a_total{x="y"}, Selector b]
    promql.result_labels('sum by (role) (b)', {"role", "job"})          # {"role"}
"""

import re

WORDS = {"and", "or", "unless", "by", "on", "ignoring", "without", "group_left", "group_right", "bool", "offset"}
NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABELS = re.compile(rf"\b(by|on|ignoring|without|group_left|group_right)\s*\(([^)]*)\)")
SELECTOR = re.compile(rf"(?<![\w.])({NAME})\s*(\{{[^}}]*\}})?(?!\s*[\w(])")
MATCHER = re.compile(rf'({NAME})\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"')


class Selector:
    def __init__(self, name, matchers):
        self.name, self.matchers = name, matchers

    def matches(self, labels):
        """`labels`: {name: value} of a series."""
        def fits(label, operator, value):
            found = labels.get(label, "")
            equal = re.fullmatch(value, found) is not None if operator.endswith("~") else value == found
            return equal != operator.startswith("!")
        return all(fits(*matcher) for matcher in self.matchers)

    def __repr__(self):
        return f"{self.name}{self.matchers}"


def selectors(expression):
    text = re.sub(r"\[[^\]]*\]", "", LABELS.sub(" ", expression))  # No lists of labels, no ranges.
    found = []
    for match in SELECTOR.finditer(text):
        inside_braces = text.count("{", 0, match.start()) > text.count("}", 0, match.start())
        if match[1] not in WORDS and not inside_braces:
            found.append(Selector(match[1], [matcher.groups() for matcher in MATCHER.finditer(match[2] or "")]))
    return found


def grouping_labels(expression):
    """The labels in all lists of the expression, such as `by (role)`."""
    return {label.strip() for _, listed in LABELS.findall(expression) for label in listed.split(",") if label.strip()}


def result_labels(expression, series_labels):
    """The labels of an expression's result, of which each selected series has `series_labels`."""
    by = re.search(r"\bby\s*\(([^)]*)\)", expression)
    if by:
        return {label.strip() for label in by[1].split(",")} - {"le"}
    if re.match(r"(sum|min|max|count|avg)\s*\(", expression):
        return set()
    return set(series_labels)

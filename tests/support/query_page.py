"""docs/queries.toml: real-life queries in q and SQL. Asks both, compares the answers, and writes docs/queries.md."""

import http.client
import math
import pathlib
import re
import textwrap
import time
import tomllib

import numpy as np

from tests.support import kdb_ipc, typed_answer

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE, PAGE = ROOT / "docs/queries.toml", ROOT / "docs/queries.md"
RTOL = 1e-10
SHOWN_ROWS = 4
FLOAT = re.compile(r"(?<![\d:.D])-?\d+\.\d+(?:e-?\d+)?(?![\d:.])")
TIMES_TITLE = "## Times"
TIMED = 5
COLUMNS = 100


def source():
    """Returns the contents of docs/queries.toml."""
    return tomllib.loads(SOURCE.read_text())


def ask(rdb, q):
    """Returns the names of the answer's columns and the columns, as from typed_answer.decode()."""
    rdb.socket.sendall(kdb_ipc.message(kdb_ipc.SYNC, kdb_ipc.encode(q.encode())))
    _, body = rdb.receive()
    return typed_answer.decode(body)


def _plain(column):
    """Converts a DuckDB column: missing values are NaN, NaT or an empty name; times of day are durations."""
    missing = np.ma.getmaskarray(column) if isinstance(column, np.ma.MaskedArray) else np.zeros(len(column), "?")
    values = np.asarray(column)
    if values.dtype.kind == "O":
        known = values[~missing]
        if len(known) and hasattr(known[0], "microsecond"):
            lengths = np.full(len(values), np.timedelta64("NaT"), "m8[us]")
            lengths[~missing] = [
                ((t.hour * 60 + t.minute) * 60 + t.second) * 1_000_000 + t.microsecond for t in known
            ]
            return lengths
        return np.where(missing, "", values).astype("U")
    if not missing.any():
        return values
    values = values.astype("f8") if values.dtype.kind in "iu" else values.copy()
    values[missing] = np.nan if values.dtype.kind == "f" else "NaT"
    return values


def compare(query, found, database):
    """Raises AssertionError if the answers differ. Floats are compared within the query's or the page's relative
    tolerance, everything else exactly; rows are in the order that both request."""
    names, columns = found
    expected = database.execute(query["sql"]).fetchnumpy()
    assert names is None or names == list(expected), f"columns {names}, expected {list(expected)}"
    assert len(columns) == len(expected), f"{len(columns)} columns, expected {len(expected)}"
    for (name, want), have in zip(expected.items(), columns):
        want = _plain(want)
        assert len(have) == len(want), f"{name}: {len(have)} rows, expected {len(want)}"
        if have.dtype.kind == "f":
            np.testing.assert_allclose(have, want.astype("f8"), rtol=query.get("rtol", RTOL), atol=0, err_msg=name)
        else:
            assert (have.dtype.kind == "U") == (want.dtype.kind == "U"), f"{name}: {have.dtype}, expected {want.dtype}"
            np.testing.assert_array_equal(have, want, name)
    assert len(columns[0]) > 0, "no rows"


def _seven_digits(match):
    """Rounds floats to digits that are the same on every machine."""
    value = float(match[0])
    if len(match[0]) <= 8 or not 1e-4 <= abs(value) < 1e15:
        return f"{value:.7g}".ljust(len(match[0]))
    text = f"{value:.{max(1, 6 - math.floor(math.log10(abs(value))))}f}".rstrip("0")
    return text.removesuffix(".").ljust(len(match[0]))


def shown(port, q):
    """Returns the first rows of the answer as an RDB shows them in `.txt`."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("POST", "/.txt", body=q)
        text = connection.getresponse().read().decode()
    finally:
        connection.close()
    lines = text.rstrip("\n").split("\n")
    head = next((at + 1 for at, line in enumerate(lines) if line and set(line) <= set("-| ")), 0)
    rows = lines[head:]
    return lines[:head] + [FLOAT.sub(_seven_digits, row).rstrip() for row in rows[:SHOWN_ROWS]] + ([f".. {len(rows)} rows"] if len(rows) > SHOWN_ROWS else [])


def best_ms(ask_once):
    """Returns the shortest of several runs, in ms."""
    def once():
        begin = time.perf_counter()
        ask_once()
        return (time.perf_counter() - begin) * 1000
    return min(once() for _ in range(TIMED))


def wrapped(text):
    """Wraps the text to the page's width."""
    return textwrap.fill(text, COLUMNS, break_long_words=False, break_on_hyphens=False)


def page(answers):
    """Returns the page without its times; `answers` maps a title to the shown lines of its answer."""
    asked = source()
    lines = [asked["introduction"].strip(), ""]
    for section in asked["section"]:
        lines += [f"## {section['title']}", ""]
        for query in section["query"]:
            lines += [f"### {query['title']}", "", wrapped(query["says"]), "", "```q", query["q"].strip(), "```", "```sql",
                      query["sql"].strip(), "```", "```", *answers[query["title"]], "```", ""]
            if "rtol" in query:
                lines[-1:] = [wrapped(f"Floats are compared within {query['rtol']:g}: {query['because']}."), ""]
    return "\n".join(lines)

"""Compares answers. Systems return the rows of an answer in any order, and one answer here has 30 million
rows, so summaries are compared that do not depend on the order of rows."""

import dataclasses
import pathlib

import numpy as np

from bench.peers.lines import RELATIVE_TOLERANCE

KEPT_ROWS_MAX = 4_000_000  # Answers with at most this many rows are kept, to show where two differ.
PIECE_ROWS = 1 << 17  # Rows that are hashed together: they fit into the cache.


@dataclasses.dataclass
class Summary:
    rows: int
    digest: str  # Hash of the exact columns of all rows.
    kept: str  # A file with the rows in the order of their hashes; empty: too many rows.

    def as_json(self):
        return dataclasses.asdict(self)


def _mix(x):
    """The finaliser of splitmix64, in place."""
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


def _bits(values):
    """Returns 64 bits per element that are equal where elements are: one kind of NaN, one kind of zero."""
    if values.dtype.kind == "f":
        values = values.astype(np.float64) + 0.0
        values[np.isnan(values)] = np.nan
        return values.view(np.uint64)
    return values.astype(np.int64).view(np.uint64)


def row_hashes(columns):
    rows = len(columns[0])
    hashes = np.empty(rows, np.uint64)
    for begin in range(0, rows, PIECE_ROWS):
        piece = np.full(min(PIECE_ROWS, rows - begin), 0x9E3779B97F4A7C15, np.uint64)
        for column in columns:
            piece *= np.uint64(0x9FB21C651E98DF25)
            piece ^= _bits(np.asarray(column[begin : begin + PIECE_ROWS]))
            _mix(piece)
        hashes[begin : begin + PIECE_ROWS] = piece
    return hashes


def summarise(line, answer, path):
    """Returns the summary of an answer. Writes its rows to `path` if they are not too many."""
    missing = [name for name in (*line.exact, *line.close) if name not in answer]
    if missing:
        raise ValueError(f"{line.name}: no column {missing[0]}, found {', '.join(answer)}")
    counts = {name: len(answer[name]) for name in (*line.exact, *line.close)}
    if len(set(counts.values())) != 1:
        raise ValueError(f"{line.name}: columns of different lengths: {counts}")
    hashes = row_hashes([answer[name] for name in line.exact])
    # A sum does not depend on the order of its terms; two sums exclude a coincidence.
    digest = f"{int(hashes.sum(dtype=np.uint64)):016x}{int(_mix(hashes.copy()).sum(dtype=np.uint64)):016x}"
    kept = ""
    if len(hashes) <= KEPT_ROWS_MAX:
        order = np.argsort(hashes, kind="stable")
        columns = {name: np.asarray(answer[name])[order] for name in (*line.exact, *line.close)}
        np.savez(path, hashes=hashes[order], **columns)
        kept = str(path)
    elif line.close:
        raise ValueError(f"{line.name}: {len(hashes)} rows with inexact columns, at most {KEPT_ROWS_MAX} are compared")
    return Summary(len(hashes), digest, kept)


def difference(line, expected, found):
    """Returns what is wrong with `found`, or None."""
    if found.rows != expected.rows:
        return f"{found.rows} rows, expected {expected.rows}"
    if found.digest != expected.digest:
        return _first_row_that_differs(line, expected, found)
    if not line.close:
        return None
    with np.load(expected.kept) as want, np.load(found.kept) as have:
        for name in line.close:
            apart = np.flatnonzero(~np.isclose(have[name], want[name], rtol=RELATIVE_TOLERANCE, atol=0, equal_nan=True))
            if len(apart):
                row = apart[0]
                key = ", ".join(f"{column}={want[column][row]}" for column in line.exact)
                return (
                    f"{name} differs in {len(apart)} of {found.rows} rows; at {key}: {have[name][row]!r}, "
                    f"expected {want[name][row]!r}"
                )
    return None


def _first_row_that_differs(line, expected, found):
    if not expected.kept or not found.kept:
        return f"{found.rows} rows of other content than expected"
    with np.load(expected.kept) as want, np.load(found.kept) as have:
        lacking = ~np.isin(want["hashes"], have["hashes"])
        extra = ~np.isin(have["hashes"], want["hashes"])

        def first(rows, which):
            at = np.flatnonzero(which)
            return "none" if not len(at) else ", ".join(f"{name}={rows[name][at[0]]}" for name in line.exact)

        return (
            f"{int(extra.sum())} of {found.rows} rows are not as expected; found {first(have, extra)}; "
            f"expected {first(want, lacking)}"
        )


def forget(*summaries):
    """Removes the files of summaries."""
    for summary in summaries:
        if summary.kept:
            pathlib.Path(summary.kept).unlink(missing_ok=True)

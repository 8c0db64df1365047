"""Answers of the KX benchmark's queries in one form for all systems, and the comparison of two of them.

An answer is a dictionary of columns: bytes for texts, int64 for whole numbers, flags and times (ns since
midnight; column `minute` in minutes), float64 for all else. A null is NULL_INT, NaN or the empty text."""

import numpy as np

NULL_INT = np.iinfo(np.int64).min
NULLS = {"i2": np.iinfo(np.int16).min, "i4": np.iinfo(np.int32).min, "i8": NULL_INT}
NS_PER_MINUTE = 60_000_000_000
# Reals are sums and products of 24-bit numbers, and each system adds them in an order of its own.
RELATIVE_TOLERANCE, ABSOLUTE_TOLERANCE = 1e-5, 1e-6


def of_bytes(answer):
    """Converts what tickstack answered, as decode.py returns it: a table, keyed or not."""
    return {name: _of_numpy(column) for name, column in answer.items()}


def _of_numpy(column):
    if isinstance(column, list):
        raise ValueError("a column of lists: expected one of atoms")
    if column.dtype.kind == "S":
        return np.char.strip(column)
    if column.dtype.kind == "f":
        return column.astype(np.float64)
    null = NULLS.get(column.dtype.str[1:])
    out = column.astype(np.int64)
    if null is not None:
        out[column == null] = NULL_INT
    return out


def of_arrow(table, day_ns=0):
    """Converts an Arrow table. Timestamps are those of one day, which began at `day_ns`."""
    import pyarrow as pa

    out = {}
    for name in table.column_names:
        column = table[name].combine_chunks()
        kind = column.type
        if pa.types.is_dictionary(kind):
            out[name] = _texts_of_dictionary(column)
        elif pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
            out[name] = _texts_of_dictionary(column.cast(pa.string()).dictionary_encode())
        elif pa.types.is_floating(kind):
            out[name] = column.cast(pa.float64()).fill_null(np.nan).to_numpy(zero_copy_only=False)
        elif pa.types.is_decimal(kind):
            out[name] = column.cast(pa.int64(), safe=False).fill_null(NULL_INT).to_numpy(zero_copy_only=False)
        elif pa.types.is_timestamp(kind):
            ns = column.cast(pa.timestamp("ns")).cast(pa.int64())
            out[name] = _times(ns, day_ns)
        elif pa.types.is_time(kind):
            out[name] = _times(column.cast(pa.time64("ns")).cast(pa.int64()), 0)
        elif pa.types.is_duration(kind):
            out[name] = _times(column.cast(pa.duration("ns")).cast(pa.int64()), 0)
        else:
            out[name] = column.cast(pa.int64(), safe=False).fill_null(NULL_INT).to_numpy(zero_copy_only=False)
    if "minute" in out and out["minute"].dtype.kind == "i":
        out["minute"] = (out["minute"] - day_ns % NS_PER_MINUTE) // NS_PER_MINUTE % (24 * 60)
    return out


def _times(column, day_ns):
    values = column.fill_null(NULL_INT).to_numpy(zero_copy_only=False)
    return np.where(values == NULL_INT, NULL_INT, values - day_ns)


def _texts_of_dictionary(column):
    texts = [(text or "").strip().encode() for text in column.dictionary.to_pylist()] + [b""]
    codes = column.indices.fill_null(len(texts) - 1).to_numpy(zero_copy_only=False)
    return np.array(texts)[codes]


def difference(expected, found):
    """Returns what is wrong with `found`, or None. Rows and columns may be in another order."""
    if set(expected) != set(found):
        lacks, has = sorted(set(expected) - set(found)), sorted(set(found) - set(expected))
        return f"columns: lacks {', '.join(lacks[:5])}; expected no {', '.join(has[:5])}"
    counts = len(next(iter(expected.values()))), len(next(iter(found.values())))
    if counts[0] != counts[1]:
        return f"{counts[1]} rows, expected {counts[0]}"
    names = list(expected)
    problem = _first_difference(names, expected, found)
    if problem is None:
        return None
    problem = _first_difference(names, _in_order(expected, names), _in_order(found, names))
    return problem


def _in_order(answer, names):
    """Returns the rows ordered by their exact columns, then by the rounded others."""
    keys = [answer[name] for name in names if answer[name].dtype.kind != "f"]
    keys = [np.unique(key, return_inverse=True)[1] if key.dtype.kind == "S" else key for key in keys]
    keys += [np.round(answer[name], 4) for name in names if answer[name].dtype.kind == "f"]
    order = np.lexsort(keys[::-1])
    return {name: answer[name][order] for name in names}


def _first_difference(names, expected, found):
    for name in names:
        want, have = expected[name], found[name]
        if want.dtype.kind != have.dtype.kind and {want.dtype.kind, have.dtype.kind} != {"i", "f"}:
            return f"{name}: {have.dtype}, expected {want.dtype}"
        if "f" in (want.dtype.kind, have.dtype.kind):
            same = np.isclose(have, want, rtol=RELATIVE_TOLERANCE, atol=ABSOLUTE_TOLERANCE, equal_nan=True)
        else:
            same = want == have
        if not same.all():
            row = int(np.flatnonzero(~same)[0])
            return f"{name}: {have[row]!r} in row {row}, expected {want[row]!r}; {int((~same).sum())} rows differ"
    return None

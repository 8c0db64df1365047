"""An answer of a process as columns of numpy arrays that keep q's types of times: datetime64 for instants, timedelta64
for times of day and timespans, NaT for their nulls, and NaN in floats for a null integer."""

import struct

import numpy as np

from tests.support.kdb_ipc import QError

KDB_EPOCH = np.datetime64("2000-01-01")
# Type code: numpy's type of the bytes, and the unit of times that count since 2000 or since midnight.
NUMBERS = {
    1: ("?", None), 4: ("u1", None), 5: ("<i2", None), 6: ("<i4", None), 7: ("<i8", None), 8: ("<f4", None),
    9: ("<f8", None), 10: ("S1", None), 12: ("<i8", "ns"), 13: ("<i4", "M"), 14: ("<i4", "D"), 16: ("<i8", "ns"),
    17: ("<i4", "m"), 18: ("<i4", "s"), 19: ("<i4", "ms"),
}
INSTANTS = (12, 13, 14)
INTEGERS = (5, 6, 7)


def _typed(code, raw):
    """Converts the numbers of a vector to what they mean."""
    unit = NUMBERS[code][1]
    if unit is None and code not in INTEGERS:
        return raw.astype("U1") if code == 10 else raw
    null = raw == np.iinfo(raw.dtype).min
    if unit is None:
        return np.where(null, np.nan, raw) if null.any() else raw
    lengths = raw.astype("i8").astype(f"m8[{unit}]")
    lengths[null] = np.timedelta64("NaT")
    return KDB_EPOCH.astype(f"M8[{unit}]") + lengths if code in INSTANTS else lengths


class _Reader:
    def __init__(self, body):
        self.body, self.at = body, 0

    def take(self, form):
        values = struct.unpack_from("<" + form, self.body, self.at)
        self.at += struct.calcsize("<" + form)
        return values

    def text(self):
        end = self.body.index(b"\0", self.at)
        text, self.at = self.body[self.at : end].decode(), end + 1
        return text

    def numbers(self, code, count):
        raw = np.frombuffer(self.body, NUMBERS[code][0], count, self.at)
        self.at += raw.nbytes
        return _typed(code, raw)

    def value(self):
        """Returns (names, columns): names are None unless it is a table; an atom is a column of one item."""
        (code,) = self.take("b")
        if code == -128:
            raise QError(self.text())
        if code == 98:
            self.take("Bb")  # Its attribute, and the type of its dictionary.
            (_, (names,)), (_, columns) = self.value(), self.value()
            return list(names), columns
        if code in (99, 127):
            (names, columns), (more_names, more_columns) = self.value(), self.value()
            return names and more_names and names + more_names, columns + more_columns
        if code < 0:
            return None, [np.array([self.text()]) if code == -11 else self.numbers(-code, 1)]
        _, count = self.take("Bi")
        if code == 0:
            return None, [column for _ in range(count) for column in self.value()[1]]
        if code == 11:
            return None, [np.array([self.text() for _ in range(count)])]
        return None, [self.numbers(code, count)]


def decode(body):
    """Returns the names of the columns in a message's body, None if it is no table, and the columns: for a keyed table the
    key first, for a dictionary keys and values, for a list its items. Raises QError if it is an error."""
    return _Reader(body).value()

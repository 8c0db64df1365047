"""Decodes answers of tickstack into numpy arrays, as a Python client would."""

import struct

import numpy as np

from bench.peers.day import UNIX_NS_OF_KDB_EPOCH
from tests.support.kdb_ipc import QError

# Type code: numpy's name.
NUMBERS = {
    1: "?",
    4: "u1",
    5: "<i2",
    6: "<i4",
    7: "<i8",
    8: "<f4",
    9: "<f8",
    10: "S1",
    12: "<i8",
    13: "<i4",
    14: "<i4",
    15: "<f8",
    16: "<i8",
    17: "<i4",
    18: "<i4",
    19: "<i4",
}
NAME_BYTES_MAX = 8
PIECE_BYTES = 1 << 20  # Bytes of names that are decoded together: they fit into the cache.


def names(text, count, name_bytes_max=NAME_BYTES_MAX):
    """Returns the first `count` names of a text of NUL-terminated names as an array of byte strings, and the
    number of bytes that they take."""
    raw = np.frombuffer(text, np.uint8)
    out = np.zeros((count, name_bytes_max), np.uint8)
    done = at = 0
    while done < count:
        # The data after the names is full of zeros: read no more than the names can take.
        piece = raw[at : at + min(PIECE_BYTES, (count - done) * (name_bytes_max + 1))]
        ends = np.flatnonzero(piece == 0)[: count - done]
        if not len(ends):
            raise ValueError(f"no end of a name within {len(piece)} bytes: expected names of at most {name_bytes_max}")
        begins = np.concatenate(([0], ends[:-1] + 1))
        lengths = ends - begins
        if lengths.max() > name_bytes_max:
            raise ValueError(f"a name of {lengths.max()} bytes: expected at most {name_bytes_max}")
        rows = out[done : done + len(ends)]
        for place in range(int(lengths.max())):
            long_enough = place < lengths
            rows[long_enough, place] = piece[begins[long_enough] + place]
        done += len(ends)
        at += int(ends[-1]) + 1
    return out.reshape(-1).view(f"S{name_bytes_max}"), at


class _Reader:
    def __init__(self, body, name_bytes_max):
        self.body, self.at = memoryview(body), 0
        self.name_bytes_max = name_bytes_max

    def take(self, form):
        values = struct.unpack_from("<" + form, self.body, self.at)
        self.at += struct.calcsize("<" + form)
        return values

    def value(self):
        (code,) = self.take("b")
        if code == -128:
            raise QError(bytes(self.body[self.at :]).split(b"\0")[0].decode())
        if code == 98:
            self.take("B")
            return self.value()
        if code in (99, 127):
            keys, values = self.value(), self.value()
            if isinstance(keys, dict):
                return keys | values
            return dict(zip((name.decode() for name in keys.tolist()), values))
        if code < 0:
            return np.frombuffer(self.body, NUMBERS[-code], 1, self._skip(np.dtype(NUMBERS[-code]).itemsize))
        _, count = self.take("Bi")
        if code == 0:
            return [self.value() for _ in range(count)]
        if code == 11:
            vector, used = names(self.body[self.at :], count, self.name_bytes_max)
            self.at += used
            return vector
        kind = np.dtype(NUMBERS[code])
        return np.frombuffer(self.body, kind, count, self._skip(kind.itemsize * count))

    def _skip(self, count):
        at = self.at
        self.at += count
        return at


def decode(body, name_bytes_max=NAME_BYTES_MAX):
    """Returns the value of a message's body: an array for a vector or atom, a dictionary of columns for a table,
    keyed or not. Raises QError if it is an error."""
    return _Reader(body, name_bytes_max).value()


def columns_of(answer, day):
    """Returns a decoded table in the form of the other systems: symbols as numbers, times since 1970."""
    out = dict(answer)
    if "sym" in out:
        known = np.array(day.names, f"S{NAME_BYTES_MAX}")
        order = np.argsort(known)
        out["sym"] = order[np.searchsorted(known, out["sym"], sorter=order)]
    if "time" in out:
        out["time"] = out["time"] + UNIX_NS_OF_KDB_EPOCH
    return out

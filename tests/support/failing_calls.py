"""System calls on files that fail in a process under test, by tests/faults/failing_calls.cc.

    fault = Fault("sync", 3)                              # the third fsync or fdatasync fails with EIO
    environment = fault.environment(data, trace)          # for the process; only calls on files below `data` count
    failed(trace)                                         # "sync 3 fdatasync /tplog/sym2020.03.09 EIO", or ""

`every_fault(trace)` returns the faults that a run without any could have had.
"""

import collections
import dataclasses
import errno
import os
import pathlib
import random
import unittest

ALWAYS = 1_000_000_000
ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = pathlib.Path(os.environ.get("TICKSTACK_FAILING_CALLS", ROOT / "build/release/tests/failing_calls.so"))


@dataclasses.dataclass(frozen=True)
class Fault:
    """Calls of a kind that fail: `times` calls from number `first` on. The kinds are those of failing_calls.cc."""
    kind: str
    first: int
    error: int = errno.EIO
    times: int = 1

    def __str__(self):
        return f"{self.kind} {self.first} {self.error} {self.times}"

    @property
    def text(self):
        """What strerror says about the error."""
        return os.strerror(self.error)


def environment(below, trace, fault=None):
    """Returns the environment of a process whose calls on files below a directory are traced, and may fail."""
    if not LIBRARY.exists():
        raise unittest.SkipTest(f"no {LIBRARY}: build the target failing_calls, or set TICKSTACK_FAILING_CALLS")
    variables = dict(os.environ, LD_PRELOAD=str(LIBRARY), FAILING_CALLS_BELOW=str(below), FAILING_CALLS_TRACE=str(trace))
    if fault is not None:
        variables["FAILING_CALLS"] = str(fault)
    return variables


def calls(trace):
    """Yields (kind, number, function, path, error or "") of each call."""
    if not trace.exists():
        return
    for line in trace.read_text(encoding="utf-8").splitlines():
        kind, number, function, path, *error = line.split(" ")
        yield kind, int(number), function, path, "".join(error)


def failed(trace):
    """Returns the first call that failed, as text; empty if none did."""
    return next((f"{kind} {number} {function} {path} {error}" for kind, number, function, path, error in calls(trace) if error),
                "")


CHANGES = {"create", "write", "sync", "truncate", "allocate", "rename", "link", "remove", "mkdir", "times"}
GROWS = {"create", "write", "allocate", "link", "mkdir"}


def every_fault(trace):
    """Returns a list of faults for each kind of trouble: each call fails once (EIO), from there on all of its kind
    (EIO), all that change something (EROFS, as after a remount), or a few that need room (ENOSPC)."""
    counts = collections.Counter(kind for kind, *_ in calls(trace))
    by_trouble = {}
    for kind, count in sorted(counts.items()):
        by_trouble[kind, "once"] = [Fault(kind, number) for number in range(1, count + 1)]
        by_trouble[kind, "always"] = [Fault(kind, number, times=ALWAYS) for number in range(1, count + 1)]
    changes = sum(counts[kind] for kind in CHANGES)
    by_trouble["read-only"] = [Fault("change", number, errno.EROFS, ALWAYS) for number in range(1, changes + 1)]
    grows = sum(counts[kind] for kind in GROWS)
    by_trouble["full"] = [Fault("grow", number, errno.ENOSPC, 10) for number in range(1, grows + 1)]
    return by_trouble


def some_faults(trace, count, seed):
    """Returns `count` faults, of as many kinds of trouble as possible; all if `count` is 0."""
    by_trouble = list(every_fault(trace).values())
    if count == 0:
        return [fault for faults in by_trouble for fault in faults]
    chosen = random.Random(seed)
    for faults in by_trouble:
        chosen.shuffle(faults)
    chosen.shuffle(by_trouble)
    turns = [faults[turn] for turn in range(max(map(len, by_trouble))) for faults in by_trouble if turn < len(faults)]
    return turns[:count]

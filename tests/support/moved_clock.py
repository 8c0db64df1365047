"""A wall clock that a test moves, for the processes that it starts, by tests/faults/moved_clock.cc.

    clock = MovedClock(folder)                     # from here on, in the environment of started processes
    clock.set(datetime.datetime(2020, 2, 28, 12))  # it goes on from there
    clock.remove()
"""

import datetime
import os
import pathlib
import struct
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = pathlib.Path(os.environ.get("TICKSTACK_MOVED_CLOCK", ROOT / "build/release/tests/moved_clock.so"))


class MovedClock:
    def __init__(self, folder):
        if not LIBRARY.exists():
            raise unittest.SkipTest(f"no {LIBRARY}: build the target moved_clock, or set TICKSTACK_MOVED_CLOCK")
        self.file = open(folder / "clock", "w+b", buffering=0)  # pylint: disable=consider-using-with
        self.file.write(bytes(8))
        os.environ.update(LD_PRELOAD=str(LIBRARY), MOVED_CLOCK=self.file.name)

    def set(self, when):
        """Sets the clock to a time in UTC."""
        seconds = when.replace(tzinfo=datetime.timezone.utc).timestamp()
        self.file.seek(0)
        self.file.write(struct.pack("<q", int(seconds * 1e9) - time.time_ns()))

    def remove(self):
        del os.environ["LD_PRELOAD"], os.environ["MOVED_CLOCK"]
        self.file.close()

#!/usr/bin/env python3
"""The example programs do what they say, and leave nothing behind."""

import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import stack  # noqa: E402


class WeekTest(stack.StackTest):
    def run_week(self, *arguments):
        environment = os.environ | {"TICKSTACK": stack.PROGRAM, "WEEK_QUOTES": "20000", "WEEK_SECONDS": "0.5",
                                    "TMPDIR": str(self.folder)}
        return subprocess.run([stack.ROOT / "examples/week.sh", *arguments], env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120, check=False)

    def test_a_week_is_generated_captured_ended_and_asked_for(self):
        ran = self.run_week()
        self.assertEqual((0, ""), (ran.returncode, ran.stderr), ran.stdout)
        for step in ("== generate", "== capture", "== roll", "== query"):
            self.assertIn(step, ran.stdout)
        self.assertIn("5 partitions", ran.stdout)
        self.assertIn(": sound", ran.stdout)
        by_date = ran.stdout.partition("by date from trade")[2].partition("q)")[0].splitlines()
        self.assertEqual(5, len(by_date[3:]), by_date)
        self.assertEqual([], list(self.folder.iterdir()), "its folder is gone")

    def test_a_folder_that_is_there_is_not_touched(self):
        mine = self.folder / "mine"
        mine.mkdir()
        ran = self.run_week(str(mine))
        self.assertNotEqual(0, ran.returncode)
        self.assertEqual([], list(mine.iterdir()))


if __name__ == "__main__":
    stack.main()

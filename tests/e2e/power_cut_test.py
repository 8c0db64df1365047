#!/usr/bin/env python3
"""The power of a tickerplant's machine is cut: the tickerplant starts without help, keeps what its policy promises, and
every row is in the log and in an RDB that kept running, once.

A cut is simulated on the files of a killed tickerplant: the part that was not synced ends anywhere, and any of its
pages is zeros. The boot in LOG.state is changed, as after a reboot. TICKSTACK_POWER_CUTS is the number of cuts for each
policy."""

import collections
import fcntl
import json
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kdb_ipc, stack  # noqa: E402
from tests.support.kdb_ipc import Typed  # noqa: E402

CUTS = int(os.environ.get("TICKSTACK_POWER_CUTS", "6"))
DATE = "2020.03.09"
PAGE = 4096
HEADER = {"": 8, ".idx": 16}  # Synced when the log is created.


class PowerCutTest(stack.StackTest):
    def setUp(self):
        super().setUp()
        self.random = random.Random(20)
        self.data = self.folder / "data"
        self.log = self.data / "tplog" / f"sym{DATE}"
        self.rows_sent = 0
        self.outcomes = collections.Counter()

    def start_tickerplant(self, policy, port=0):
        return self.start_process("tickerplant", "--data", str(self.data), "--date", DATE, "--fsync", policy,
                                  "--batch-ms", "1", port=port)

    def restart(self, process, policy, port):
        """Stops the tickerplant in order, which syncs its log, and starts it; returns the process and what is synced."""
        process.terminate()
        self.assertEqual(0, process.wait(60))
        synced = self.sizes()
        _, process = self.start_tickerplant(policy, port)
        return process, synced

    def logged(self, tickerplant):
        return tickerplant.call([b".u.feed", "pages"])["trade"]

    def send(self, tickerplant, messages):
        """Sends numbered rows of trade, whose size is their number; returns when they are logged."""
        for _ in range(messages):
            rows = self.random.randrange(1, 400)
            numbers = list(range(self.rows_sent, self.rows_sent + rows))
            x = [Typed("p", numbers), ["IBM"] * rows, [1.5] * rows, Typed("i", numbers), Typed("b", [0] * rows),
                 b"A" * rows, b"N" * rows]
            tickerplant.call([b".u.updn", "pages", Typed("j", self.rows_sent), "trade", x])
            self.rows_sent += rows

    def sizes(self):
        return {suffix: pathlib.Path(f"{self.log}{suffix}").stat().st_size for suffix in HEADER}

    def cut_power(self, synced):
        for suffix, least in synced.items():
            path = pathlib.Path(f"{self.log}{suffix}")
            content = bytearray(path.read_bytes())
            del content[self.random.randrange(least, len(content) + 1):]
            share = self.random.choice((0, 0.3, 0.9))
            for begin in range(least // PAGE * PAGE, len(content), PAGE):
                if self.random.random() < share:
                    begin = self.random.randrange(max(begin, least), max(begin + PAGE, least + 1))
                    end = min(begin // PAGE * PAGE + PAGE, len(content))
                    if begin < end:
                        content[begin:end] = bytes(end - begin)
            path.write_bytes(content)
        state = pathlib.Path(f"{self.log}.state")
        lines = state.read_text(encoding="utf-8").splitlines()
        another = [f"boot {self.random.random()}" if line.startswith("boot ") else line for line in lines]
        state.write_text("\n".join(another) + "\n", encoding="utf-8")

    def rows_of_rdb(self, port):
        """Returns the numbers of the rdb's rows; none while it has no table yet."""
        try:
            with kdb_ipc.Connection(port) as rdb:
                if rdb.call(".rdb.stats[]")["live"] != 1:
                    return None
                return list(rdb.call("exec size from trade"))
        except (OSError, kdb_ipc.Closed, kdb_ipc.QError):
            return None

    def play(self, policy):
        port, process = self.start_tickerplant(policy)
        rdb_port, _ = self.start_process("rdb", "--tickerplant", f"127.0.0.1:{port}")
        for number in range(CUTS):
            with kdb_ipc.connect_within(port) as tickerplant:
                self.rows_sent = self.logged(tickerplant)
                self.send(tickerplant, self.random.randrange(0, 30))
            synced, promised = dict(HEADER), 0
            if policy == "batch":
                synced, promised = self.sizes(), self.rows_sent
            elif policy == "interval":
                # An orderly shutdown syncs, which is all that can be known about an interval from outside.
                process, synced = self.restart(process, policy, port)
                promised = self.rows_sent
                with kdb_ipc.connect_within(port) as tickerplant:
                    self.send(tickerplant, self.random.randrange(0, 30))
            sent = list(range(self.rows_sent))
            stack.wait_until(lambda: self.rows_of_rdb(rdb_port) == sent, 60, "all rows")
            process.kill()
            process.wait()
            self.cut_power(synced)
            with self.subTest(policy=policy, number=number):
                _, process = self.start_tickerplant(policy, port)
                with kdb_ipc.connect_within(port) as tickerplant:
                    kept = self.logged(tickerplant)
                    self.assertGreaterEqual(kept, promised)
                    self.assertLessEqual(kept, self.rows_sent)
                self.outcomes[f"{policy}, {'all' if kept == self.rows_sent else 'fewer'} rows kept"] += 1
                expected = list(range(kept))
                stack.wait_until(lambda: self.rows_of_rdb(rdb_port) == expected, 60, "the rdb has the log's rows")
        self.assertIn("power was cut", process.log_path.read_text(encoding="utf-8"))
        checked = self.run_program("log", "check", str(self.log))
        self.assertEqual(0, checked.returncode, checked.stdout)
        print(f"power cuts: {dict(self.outcomes)}", file=sys.stderr)

    def test_with_fsync_none(self):
        self.play("none")

    def test_with_fsync_interval(self):
        self.play("interval")

    def test_with_fsync_batch(self):
        self.play("batch")

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("mkfs.ext4"), "needs root and mkfs.ext4")
    def test_a_file_system_that_was_lost_and_mounted_again(self):
        """Within one boot, a real ext4 loses its disk while rows are logged, and is mounted again: the tickerplant knows
        which rows are in its log, so that none is there twice after its feed has sent the others again."""
        self.data = self.folder / "mounted"
        self.log = self.data / "tplog" / f"sym{DATE}"
        self.data.mkdir()
        image = self.folder / "image"
        with open(image, "wb") as file:
            file.truncate(64 << 20)
        subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True)
        self.mount(image)
        options = ("--data", str(self.data), "--date", DATE, "--batch-ms", "1", "--fsync", "interval",
                   "--fsync-interval-ms", "5")
        port, process = self.start_process("tickerplant", *options)
        for number in range(CUTS):
            with self.subTest(number=number), kdb_ipc.connect_within(port) as tickerplant:
                self.rows_sent = self.logged(tickerplant)
                self.assertEqual(list(range(self.rows_sent)), self.rows_of_log())
                self.send(tickerplant, self.random.randrange(40, 120))
                shut_down(self.data)
            process.kill()
            process.wait()
            subprocess.run(["umount", str(self.data)], check=True)
            self.mount(image)
            _, process = self.start_process("tickerplant", *options, port=port)
        with kdb_ipc.connect_within(port) as tickerplant:
            self.assertEqual(list(range(self.logged(tickerplant))), self.rows_of_log())
        self.assertIn("the file system was mounted again", process.log_path.read_text(encoding="utf-8"))

    def mount(self, image):
        """Mounts a file system as the data directory, until the test has ended and its processes have."""
        mounted = subprocess.run(["mount", "-o", "loop", str(image), str(self.data)], capture_output=True, check=False)
        if mounted.returncode != 0:
            self.skipTest(f"no mount: {mounted.stderr}")
        self.addCleanup(subprocess.run, ["umount", "--lazy", str(self.data)], capture_output=True, check=False)

    def rows_of_log(self):
        """Returns the numbers of the logged rows."""
        dumped = self.run_program("log", "dump", "--values", "--json", "--table", "trade", str(self.log))
        self.assertEqual(0, dumped.returncode, dumped.stderr)
        return [row for line in dumped.stdout.splitlines() for row in json.loads(line)["values"][3]]


def shut_down(folder):
    """Makes an ext4 forget everything that its disk does not have, and refuse everything else."""
    shut_down_ioctl, no_flush = 0x8004587D, 2
    directory = os.open(folder, os.O_RDONLY)
    try:
        fcntl.ioctl(directory, shut_down_ioctl, struct.pack("I", no_flush))
    finally:
        os.close(directory)


if __name__ == "__main__":
    unittest.main(verbosity=2)

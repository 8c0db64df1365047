#!/usr/bin/env python3
"""An rdb with rows in a persistent tier: killed, restarted, given another log, and started on a tier in which a bit
was flipped.

TICKSTACK_TIER_FLIPS sets the number of flips, TICKSTACK_SEED the first seed. Each flip has its own seed, which a
failure prints."""

import bisect
import os
import pathlib
import random
import re
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import stack  # noqa: E402

CONFIG = """
[tickerplant]
batch_ms = 5
[[rdb]]
[rdb.tier.pmem]
kind = "persistent"
path = "{path}"
size = "{size}"
[rdb.placement]
default = "pmem"
[[rdb]]
name = "dram"
port = 5012
[feed]
rate = {rate}
rows = {rows}
batch_rows = 500
seed = {seed}
start = true
exit_when_done = true
"""
# Queries that two rdbs with the same rows in the same order answer equally.
QUESTIONS = (
    "(count trade;count quote)",
    "exec sum price from trade",
    "exec sum bid from quote",
    "select last price, n:count i by sym from trade",
    "select last bid, last ask by sym from quote",
    "select[-50] from quote",
)


class PersistentTest(stack.StackTest):
    def tier_folder(self, parent):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="tickstack-test-", dir=parent))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        return folder

    def config(self, folder, rows, rate=0, size="512MiB", seed=1):
        return CONFIG.format(path=folder, rows=rows, rate=rate, size=size, seed=seed)

    def wait_for_rows(self, running, rows, rdb="rdb"):
        stack.wait_until(lambda: running.count("quote", rdb) + running.count("trade", rdb) >= rows, 120,
                         f"{rows} rows in {rdb}")

    def wait_for_durable_rows(self, running, rows):
        # Rows can be queried before they are durable, on a slow disk long before.
        return stack.wait_until(
            lambda: (stats := running.ask("rdb", ".rdb.stats[]"))["rows_durable"] >= rows and stats["rows_durable"], 120,
            f"{rows} durable rows")

    def check_same(self, running):
        for question in QUESTIONS:
            with self.subTest(question=question):
                self.assertEqual(running.ask("dram", question), running.ask("rdb", question))

    def check_survives_kills(self, parent, rows, rate):
        running = self.start_stack(self.config(self.tier_folder(parent), rows, rate), name=f"kills-{pathlib.Path(parent).name}")
        for part in (0.2, 0.4, 0.7):
            durable = self.wait_for_durable_rows(running, int(rows * part))
            running.kill("rdb")
            stats = running.ask("rdb", ".rdb.stats[]")
            self.assertGreaterEqual(stats["rows_reopened"], durable, running.log_text())
        for rdb in ("rdb", "dram"):
            self.wait_for_rows(running, rows, rdb)
        self.check_same(running)
        stats = running.ask("rdb", ".rdb.stats[]")
        self.assertEqual(rows, stats["rows_reopened"] + stats["rows_replayed"] + stats["rows"])
        self.assertEqual(0, stats["starts_over"])
        self.assertEqual(0, stats["commits_refused"])
        # After a kill while it is idle, it restores everything without the log.
        self.wait_for_durable_rows(running, rows)
        running.kill("rdb")
        self.wait_for_rows(running, rows)
        stack.wait_until(lambda: running.ask("rdb", ".rdb.stats[]")["live"] == 1, what="live")
        stats = running.ask("rdb", ".rdb.stats[]")
        self.assertEqual((rows, 0), (stats["rows_reopened"], stats["rows_replayed"]))
        self.check_same(running)
        self.assertEqual(0, running.stop(), running.log_text())

    def test_tables_of_another_tier_are_whole_again_after_a_kill(self):
        rows = 40_000
        bars = ("trade_minute", "trade_daily", "quote_minute", "quote_daily")
        elsewhere = "".join(f'{table} = "dram"\n' for table in bars)
        config = self.config(self.tier_folder("/dev/shm"), rows, rate=20_000, size="128MiB").replace(
            'default = "pmem"\n', f'default = "pmem"\n{elsewhere}[aggengine]\n')
        running = self.start_stack(config)
        self.wait_for_durable_rows(running, rows // 2)
        running.kill("rdb")
        self.assertGreaterEqual(running.ask("rdb", ".rdb.stats[]")["rows_reopened"], rows // 2, running.log_text())
        for rdb in ("rdb", "dram"):
            self.wait_for_rows(running, rows, rdb)

        def same_bars():
            return all(running.ask("dram", f"(count {t};exec sum {c} from {t};exec max time from {t})")
                       == running.ask("rdb", f"(count {t};exec sum {c} from {t};exec max time from {t})")
                       for t, c in zip(bars, ("trades", "volume", "quotes", "quotes"))) and \
                running.ask("rdb", "exec sum trades from trade_daily") == running.count("trade", "rdb")

        stack.wait_until(same_bars, what="bars that are the same")
        self.check_same(running)
        stats = running.ask("rdb", ".rdb.stats[]")
        self.assertEqual((0, 0), (stats["starts_over"], stats["messages_missing"]))
        self.assertEqual(0, running.stop(), running.log_text())

    def test_killed_on_tmpfs_it_comes_back_with_every_row_once(self):
        self.check_survives_kills("/dev/shm", 400_000, 100_000)

    def test_killed_on_a_disk_it_comes_back_with_every_row_once(self):
        self.check_survives_kills(self.folder, 120_000, 30_000)

    def test_a_flipped_bit_neither_ends_the_stack_nor_changes_an_answer(self):
        # Goal: `tickstack up` starts on any tier file. Method: an eighth of the flips is anywhere in the file, an
        # eighth in the superblock and the slots, and the others are in bytes of pages that are not zero.
        rows, head_bytes = 20_000, 2 << 20
        flips, first_seed = (int(os.environ.get(name, given))
                             for name, given in (("TICKSTACK_TIER_FLIPS", 3), ("TICKSTACK_SEED", 1)))
        folder = self.tier_folder("/dev/shm")
        config, date = self.config(folder, rows, size="32MiB"), ("--date", "2013.10.07")
        running = self.start_stack(config, *date, name="flips")
        self.wait_for_durable_rows(running, rows)
        self.assertEqual(0, running.stop(), running.log_text())
        file = folder / "rdb.tier"
        image = file.read_bytes()
        written = [byte.start() for byte in re.finditer(rb"[^\0]", image)]
        heads, used = written[:bisect.bisect(written, head_bytes)], written[bisect.bisect(written, head_bytes):]
        damaged = reopened = 0
        for seed in range(first_seed, first_seed + flips):
            draw = random.Random(seed)
            choice = draw.randrange(8)
            at = draw.randrange(len(image)) if choice == 0 else draw.choice(heads if choice == 1 else used)
            bit = 1 << draw.randrange(8)
            with self.subTest(seed=seed, byte=at, xor=bit):
                file.write_bytes(image[:at] + bytes([image[at] ^ bit]) + image[at + 1:])
                running = self.start_stack(config, *date, name="flips")
                for rdb in ("rdb", "dram"):
                    self.wait_for_rows(running, rows, rdb)
                self.check_same(running)
                stats = running.ask("rdb", ".rdb.stats[]")
                damaged += stats["reopens_damaged"]
                reopened += stats["rows_reopened"] > 0
                self.assertEqual(0, running.stop(), running.log_text())
                self.assertNotIn("died name=", running.log_text())
        print(f"{flips} flips of {len(image)} bytes, {len(heads) + len(used)} used: {damaged} found in tables, "
              f"{reopened} restarts with rows of the tier, seeds {first_seed} to {first_seed + flips - 1}", file=sys.stderr)

    def test_another_log_is_not_taken_for_the_one_it_knows(self):
        folder = self.tier_folder("/dev/shm")
        running = self.start_stack(self.config(folder, 30_000), "--date", "2013.10.07", name="days")
        self.wait_for_rows(running, 30_000)
        self.assertEqual(0, running.stop(), running.log_text())
        # A log of the same day and path, longer than the position of the tables.
        shutil.rmtree(running.data)
        running = self.start_stack(self.config(folder, 50_000, seed=2), "--date", "2013.10.07", name="days")
        for rdb in ("rdb", "dram"):
            self.wait_for_rows(running, 50_000, rdb)
        self.check_same(running)
        stats = running.ask("rdb", ".rdb.stats[]")
        self.assertEqual((30_000, 1), (stats["rows_reopened"], stats["starts_over"]))
        self.assertEqual(0, running.stop(), running.log_text())

    def test_a_full_tier_refuses_and_a_larger_one_has_everything(self):
        folder = self.tier_folder("/dev/shm")
        running = self.start_stack(self.config(folder, 900_000, size="48MiB"), "--date", "2013.10.07", name="full")
        self.wait_for_rows(running, 900_000, "dram")
        # Before all rows have arrived and the refused ones are committed, a kill would test an earlier state.
        seen = []

        def is_at_rest():
            stats = running.ask("rdb", ".rdb.stats[]")
            come = stats["rows_refused"] + running.count("quote") + running.count("trade")
            seen.append((come, stats["commits"], stats["commits_refused"]))
            return come == 900_000 and len(seen) > 25 and len(set(seen[-25:])) == 1

        stack.wait_until(is_at_rest, 60, "a commit of what was refused")
        # A restart tries again from the log, and reports again what does not fit.
        running.kill("rdb")
        stack.wait_until(lambda: running.count("quote") > 100_000
                         and running.ask("rdb", ".rdb.stats[]")["incomplete"] == 1, 120, "a full tier again")
        stats = running.ask("rdb", ".rdb.stats[]")
        self.assertEqual((0, 0), (stats["rows_reopened"], stats["live"]))
        self.assertGreater(stats["rows_refused"], 0)
        self.assertIn("quote", running.ask("rdb", ".rdb.stale[]"))
        self.assertGreater(running.count("quote"), 100_000)
        self.assertEqual(0, running.stop(), running.log_text())
        running = self.start_stack(self.config(folder, 1, size="256MiB"), "--date", "2013.10.07", name="full")
        for rdb in ("rdb", "dram"):
            self.wait_for_rows(running, 900_000, rdb)
        self.check_same(running)
        self.assertEqual(0, running.stop(), running.log_text())


if __name__ == "__main__":
    stack.main()

#!/usr/bin/env python3
"""Memory that large queries and slow subscribers used is freed: usage returns to within 512 MiB of the start."""

import pathlib
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import stack  # noqa: E402
from tests.support.kdb_ipc import ASYNC, SYNC, Typed, encode, message  # noqa: E402

MIB = 1 << 20
QUERIES = "[tickerplant]\n[[rdb]]\n[hdb]\n"
# The tickerplant queues for a slow subscriber what it would read from the log.
SLOW = '[tickerplant]\nmax_queue_bytes = "1300MiB"\nlive_queue_bytes = "0B"\n'
# A list of short strings: 560 MB in blocks that no query can reuse unchanged.
HEAVY = b"count string til 6000000"
CLIENTS = 4
ROWS = 1_000  # Rows of an upd: several share a block of the tickerplant, as those of feeds do.


def status_bytes(pid, what):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith(what + ":"))


class MemoryTest(stack.StackTest):
    def comes_back(self, name, pid, before):
        """Waits until the process has freed the memory, and returns how long that took."""
        peak, after = status_bytes(pid, "VmHWM"), status_bytes(pid, "VmRSS")
        begun = time.monotonic()
        self.assertGreater(peak, before + 1024 * MIB, "it did not grow: the test shows nothing")
        stack.wait_until(lambda: status_bytes(pid, "VmRSS") < before + 512 * MIB, 60,
                         f"memory of {name}: {before // MIB} MiB before, {after // MIB} MiB after")
        print(f"{name}: {before // MIB} MiB before, {peak // MIB} at most, {after // MIB} after it, "
              f"{status_bytes(pid, 'VmRSS') // MIB} back in {time.monotonic() - begun:.1f} s", file=sys.stderr)

    def ask_at_once(self, running, name):
        def ask():
            with running.connect(name, timeout=120) as client:
                for _ in range(3):
                    client.call(HEAVY)
        threads = [threading.Thread(target=ask) for _ in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def test_large_queries(self):
        running = self.start_stack(QUERIES)
        for name in ("rdb", "hdb"):
            pid = running.pid(name)
            before = status_bytes(pid, "VmRSS")
            self.ask_at_once(running, name)
            self.comes_back(name, pid, before)
        self.assertEqual(0, running.stop(), running.log_text())

    def test_a_slow_subscriber_that_is_dropped(self):
        running = self.start_stack(SLOW)
        pid = running.pid("tickerplant")
        feed, slow = running.connect("tickerplant", timeout=120), running.connect("tickerplant")
        slow.socket.sendall(message(SYNC, encode([b".u.sub", "trade", ""])))
        before = status_bytes(pid, "VmRSS")
        columns = [Typed("p", [0] * ROWS), ["A"] * ROWS, [1.5] * ROWS, Typed("i", [100] * ROWS),
                   Typed("b", [False] * ROWS), b"@" * ROWS, b"N" * ROWS]
        upds = message(ASYNC, encode([b".u.upd", "trade", columns])) * 100
        dropped = 0
        for _ in range(10_000):
            feed.socket.sendall(upds)
            dropped = feed.call(b".u.stats[]")["subscribers_dropped"]
            if dropped:
                break
        self.assertEqual(1, dropped)
        self.comes_back("tickerplant", pid, before)
        feed.close()
        slow.close()
        self.assertEqual(0, running.stop(), running.log_text())


if __name__ == "__main__":
    stack.main()

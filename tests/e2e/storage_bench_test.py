#!/usr/bin/env python3
"""`tickstack hdb bench` on small data: its columns and sums, and that it removes what it wrote, however it ends."""

import collections
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import stack  # noqa: E402

# The smallest data, and repeated tests of a few ms.
SMALL = ["--size", "0.0001", "--seconds", "0.002"]
THROUGHPUT = ("numproc|threadnr|os|testtype|test|qexpression|accuracy|throughput|unit|iostat_read_throughput|"
              "iostat_write_throughput|iostat_readwrite_throughput")
LATENCY = "numproc|threadnr|os|testtype|test|qexpression|accuracy|avgLatency|maxLatency|unit"
DETAILED = "threadnr|os|testtype|testid|test|qexpression|repeat|length|starttime|endtime|result|unit"
# Tests of nano, one of each kind, by `testtype` and `test`.
EXPECTED = {
    ("cpu read cpu cache", "max int tiny"), ("cpu read mem", "max float large"), ("cpu write mem", "til int medium"),
    ("write disk", "open append tiny, sync once"), ("write disk", "write int huge"), ("write disk", "sync int huge"),
    ("write disk", "open append small, sync once"), ("write disk", "open replace random int small"),
    ("read disk write mem", "sequential read int huge"), ("read mem write mem", "sequential reread int huge"),
    ("cpu read mem", "aggregate int huge"), ("read disk", "sequential read binary"),
    ("read disk", "random read 4k"), ("read mem", "random read 4k"), ("read disk", "mmap, random read 1M"),
    ("read write disk", "disk sort"), ("read mem write disk", "add attribute"),
}
LATENCIES = {"close open", "lock", "size", "mmap", "append", "append to handle", "assign", "read1"}


def rows_of(text):
    lines = text.splitlines()
    names = lines[0].split("|")
    return [dict(zip(names, line.split("|"), strict=True)) for line in lines[1:]]


def children_of(pid):
    listed = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(child) for child in listed.split()]


class StorageBenchTest(stack.StackTest):
    def setUp(self):
        super().setUp()
        self.directory = self.folder / "disk"
        self.directory.mkdir()
        (self.directory / "precious").write_text("x")

    def bench(self, *arguments, drop="files", **options):
        """Runs the benchmark; `files` leaves the machine's page cache alone."""
        return self.run_program("hdb", "bench", str(self.directory), *SMALL, "--drop", drop, *arguments, **options)

    def assert_removed(self):
        self.assertEqual(["precious"], os.listdir(self.directory))

    def test_its_columns_are_nanos_and_rates_are_sums(self):
        results = self.folder / "results"
        done = self.bench("--processes", "2", "--results", str(results))
        self.assertEqual(0, done.returncode, done.stderr)
        self.assert_removed()
        throughput, latency = done.stdout.split("\n\n")
        self.assertEqual(THROUGHPUT + "|cached_pct|served_by", throughput.splitlines()[0])
        self.assertEqual(LATENCY, latency.splitlines()[0])
        rates, latencies = rows_of(throughput), rows_of(latency)
        self.assertLessEqual(EXPECTED, {(row["testtype"], row["test"]) for row in rates})
        self.assertEqual(LATENCIES, {row["test"] for row in latencies})
        self.assertEqual({("2", "1")}, {(row["numproc"], row["threadnr"]) for row in rates + latencies})
        self.assertTrue(all(float(row["throughput"]) > 0 for row in rates), throughput)
        sums = collections.Counter()
        for number in (1, 2):
            text = (results / f"detailed-{os.uname().nodename}-{number}.psv").read_text()
            self.assertEqual(DETAILED, text.splitlines()[0])
            for row in rows_of(text):
                sums[row["testtype"], row["test"]] += float(row["result"])
                self.assertRegex(row["starttime"], r"^0D\d\d:\d\d:\d\d\.\d{9}$")
        for row in rates:
            self.assertAlmostEqual(sums[row["testtype"], row["test"]], float(row["throughput"]), delta=0.02)
        for row in latencies:
            self.assertAlmostEqual(sums[row["testtype"], row["test"]], 2 * float(row["avgLatency"]), delta=5e-6)
        written = results / f"{os.uname().nodename}-throughput.psv"
        self.assertEqual(throughput, written.read_text().rstrip("\n"))
        self.assertIn('FLUSH: "files"', (results / "config.yaml").read_text())
        again = self.bench("--results", str(results))
        self.assertEqual(1, again.returncode)
        self.assertIn(f"{results}/config.yaml: has results of an earlier run", again.stderr)

    def test_it_says_when_the_page_cache_served_a_cold_read(self):
        done = self.bench("--scope", "diskonly", drop="none")
        self.assertEqual(0, done.returncode, done.stderr)
        served = {row["test"]: row for row in rows_of(done.stdout.split("\n\n")[0])}["sequential read int huge"]
        if served["served_by"] == "memory":
            self.skipTest(f"{self.directory} is in memory")
        self.assertEqual(("100.0", "page cache"), (served["cached_pct"], served["served_by"]))
        self.assertIn("warning: sequential read int huge: 100 % of its pages were in the page cache", done.stderr)
        done = self.bench("--scope", "diskonly", "--exclude", ".write.*", "--exclude", ".meta.*")
        self.assertEqual(0, done.returncode, done.stderr)
        rows = rows_of(done.stdout.split("\n\n")[0])
        self.assertNotIn("write int huge", {row["test"] for row in rows})
        served = {(row["testtype"], row["test"]): row["served_by"] for row in rows}
        self.assertEqual("storage", served["read disk write mem", "sequential read int huge"])
        self.assertEqual("page cache", served["read mem write mem", "sequential reread int huge"])
        self.assertEqual("storage", served["read disk", "random read 64k"])
        self.assertNotIn("warning", done.stderr)

    def test_a_directory_in_memory_is_called_so(self):
        if not os.access("/dev/shm", os.W_OK):
            self.skipTest("no /dev/shm")
        with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
            done = self.run_program("hdb", "bench", directory, *SMALL, "--scope", "diskonly", "--processes", "1,2",
                                    "--threads", "2")
            self.assertEqual(0, done.returncode, done.stderr)
            self.assertEqual([], os.listdir(directory))
        throughput = done.stdout.split("\n\n")[0]
        self.assertEqual({"1", "2"}, {row["numproc"] for row in rows_of(throughput)})
        self.assertEqual({"memory"}, {row["served_by"] for row in rows_of(throughput)})
        self.assertIn(f"warning: {directory} is in memory (tmpfs)", done.stderr)

    def start(self, *arguments, **options):
        """Starts a run that would take minutes, and waits until a worker has written a file."""
        process = subprocess.Popen(
            [stack.PROGRAM, "hdb", "bench", str(self.directory), "--size", "0.0001", "--seconds", "600", "--scope",
             "diskonly", "--drop", "files", *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **options)
        self.addCleanup(process.stderr.close)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        stack.wait_until(lambda: list(self.directory.glob("tickstack-bench.*/1/seqreadTiny")), what="a file")
        return process

    def test_a_signal_ends_it_and_its_processes_and_removes_its_files(self):
        for number, name in ((signal.SIGINT, "SIGINT"), (signal.SIGTERM, "SIGTERM")):
            with self.subTest(name):
                process = self.start("--processes", "2")
                workers = children_of(process.pid)
                self.assertEqual(2, len(workers))
                process.send_signal(number)
                self.assertIn(f"tickstack hdb bench: ended by {name}\n", process.stderr.read())
                self.assertEqual(1, process.wait(30))
                self.assert_removed()
                self.assertFalse(any(stack.is_alive(worker) for worker in workers))

    def test_a_killed_worker_is_named_and_the_files_are_removed(self):
        process = self.start()
        os.kill(children_of(process.pid)[0], signal.SIGKILL)
        self.assertIn("tickstack hdb bench: process 1 was killed by SIGKILL\n", process.stderr.read())
        self.assertEqual(1, process.wait(30))
        self.assert_removed()

    def test_workers_end_with_a_killed_parent(self):
        process = self.start()
        workers = children_of(process.pid)
        process.kill()
        process.wait()
        stack.wait_until(lambda: not any(stack.is_alive(worker) for worker in workers), what="the workers' end")

    def test_a_full_disk_is_named_with_the_file(self):
        limit = 100_000  # Bytes of a file, which a process cannot exceed: to it, that is a full disk.
        done = self.bench("--scope", "diskonly",
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        self.assertEqual(1, done.returncode)
        self.assertRegex(done.stderr, rf"hdb bench: {self.directory}/tickstack-bench\.\w+/1/\w+: write: No space left")
        self.assertEqual("", done.stdout)
        self.assert_removed()

    def test_what_cannot_work_is_refused_before_anything_is_written(self):
        for arguments, code, text in (
                (["--size", "100"], 1, "choose a smaller --size or fewer processes"),
                (["--size", "big"], 2, "size big: expected full, double, small, tiny, or a factor"),
                (["--scope", "readonly"], 2, "scope readonly: expected full, cpuonly or diskonly"),
                (["--drop", "all"], 2, "drop all: expected auto, machine, files or none"),
                (["--processes", "0"], 2, "--processes")):
            with self.subTest(arguments):
                done = self.run_program("hdb", "bench", str(self.directory), *arguments)
                self.assertEqual(code, done.returncode)
                self.assertIn(text, done.stderr)
                self.assert_removed()
        done = self.run_program("hdb", "bench", str(self.folder / "none"), *SMALL)
        self.assertEqual(1, done.returncode)
        self.assertIn(f"{self.folder}/none: statfs: No such file or directory", done.stderr)
        done = self.run_program("hdb", "bench", str(self.directory / "precious"), *SMALL)
        self.assertEqual(1, done.returncode)
        self.assertIn(f"{self.directory}/precious: create a directory in it: Not a directory", done.stderr)


if __name__ == "__main__":
    stack.main()

#!/usr/bin/env python3
"""Scans archived columns of a database, beside plain reads of the same bytes by curl.

    archive_scan.py PROGRAM GATEWAY     GATEWAY: the program versitygw, which serves a folder as an S3 service

Each run reads the columns by curl (8 ranges of 4 MiB at a time) and then by a query of an hdb whose cache is empty.
DAYS (10), QUOTES of each day (2,000,000) and RUNS (5) are environment variables."""

import os
import pathlib
import statistics
import subprocess
import sys
import time

PROGRAM, GATEWAY = sys.argv[1:3]
os.environ["TICKSTACK_BIN"], os.environ["TICKSTACK_S3_GATEWAY"] = PROGRAM, GATEWAY
DAYS, RUNS = (int(os.environ.get(name, default)) for name, default in (("DAYS", 10), ("RUNS", 5)))
os.environ["TICKSTACK_ARCHIVE_DAYS"] = str(DAYS)
os.environ["TICKSTACK_ARCHIVE_QUOTES"] = os.environ.get("QUOTES", "2000000")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tests.e2e import archive_test  # noqa: E402
from tests.support import s3_server  # noqa: E402

QUERY, COLUMNS = "select max bid, sum bsize from quote", ("bid", "bsize")
PIECE = 4 << 20
SHA256_OF_NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def ranges_of(markers, url):
    """Returns (URL, first byte, last byte) of the pieces of all objects of the columns."""
    ranges = []
    for marker in markers:
        lines = [line.split(" ") for line in marker.read_text(encoding="utf-8").splitlines()]
        objects = next(words[1] for words in lines if words[0] == "objects")
        for number, (_, size, _, name) in enumerate(words for words in lines if words[0] == "file"):
            if name not in COLUMNS:
                continue
            for begin in range(0, int(size), PIECE):
                end = min(int(size), begin + PIECE)
                ranges.append((f"{url}/{s3_server.BUCKET}/{objects}/{number}.0", begin, end - 1))
    return ranges


class Scan(archive_test.ArchiveTest):
    def runTest(self):
        self.configure(cache="4GiB", timeout="30s")
        self.expect_archived()
        _, connect = self.start_hdb("--query-nice", "0")
        ranges = ranges_of(self.database.rglob("quote/.archived"), self.store.url)
        size = sum(last - first + 1 for _, first, last in ranges)
        config = self.folder / "curl.cfg"
        config.write_text("\nnext\n".join(
            f'url = "{url}"\nrange = "{first}-{last}"\noutput = "/dev/null"\nsilent\nfail\n'
            f'aws-sigv4 = "aws:amz:us-east-1:s3"\nuser = "{s3_server.ACCESS_KEY}:{s3_server.SECRET_KEY}"\n'
            f'header = "x-amz-content-sha256: {SHA256_OF_NOTHING}"' for url, first, last in ranges), encoding="utf-8")

        def by_curl():
            subprocess.run(["curl", "-Z", "--parallel-max", "8", "-K", str(config)], check=True,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def seconds(work):
            begin = time.monotonic()
            work()
            return time.monotonic() - begin
        times = []
        with connect() as q:
            for _ in range(RUNS + 1):
                q.call("\\l .")  # Empties the cache.
                times.append((seconds(by_curl), seconds(lambda: q.call(QUERY)), seconds(lambda: q.call(QUERY))))
        print(f"{size / 1e6:.0f} MB, {RUNS} runs after one that warms the page cache: median (least to most)")
        for name, each in zip(("curl", "scan", "again"), zip(*times[1:])):
            median = statistics.median(each)
            print(f"{name:6} {median:.3f} s ({min(each):.3f} to {max(each):.3f}), {size / median / 1e6:,.0f} MB/s")


if __name__ == "__main__":
    sys.argv[1:] = []
    archive_test.unittest.TextTestRunner().run(archive_test.unittest.TestSuite([Scan()]))

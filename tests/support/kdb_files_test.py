#!/usr/bin/env python3
"""Tests the reader that other tests trust, on files that kdb+ wrote: all fixtures decode, and the index of every
parted column follows from its positions alone."""

import os
import pathlib
import struct
import sys
import unittest
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from tests.support import kdb_files  # noqa: E402

FIXTURES = pathlib.Path(os.environ.get("TICKSTACK_FIXTURES", ROOT / "../shared/fixtures")) / "kdb"


def domains_above(path):
    """Returns the domain in the nearest directory above; a column may be called sym as well."""
    for folder in path.parents:
        if folder == FIXTURES:
            return None
        if (folder / "sym").is_file():
            try:
                kdb_files.names_of(kdb_files.read_image(folder / "sym"))
                return kdb_files.Domains(folder)
            except kdb_files.Damaged:
                pass
    return None


# Its domain is older than its columns, so some positions are outside of it.
OUTSIDE = {f"AquaQAnalytics-TorQ-Air/hdb/2020.11.14/flights/{name}"
           for name in ("sym", "depAirport", "arivAirport", "aircraftType")}


class FixturesTest(unittest.TestCase):
    def setUp(self):
        if not FIXTURES.is_dir():
            if os.environ.get("TICKSTACK_REQUIRE_FIXTURES") == "1":
                self.fail(f"no fixtures in {FIXTURES}")
            self.skipTest(f"no fixtures in {FIXTURES}")

    def test_every_file_decodes(self):
        files = parted = equal = 0
        for path in sorted(FIXTURES.rglob("*")):
            if path.name in ("README.md", "par.txt") or path.name.endswith("#") or not path.is_file():
                continue
            with self.subTest(path=str(path.relative_to(FIXTURES))):
                files += 1
                domains = domains_above(path)
                with open(path, "rb") as file:
                    if file.read(2) == b"\xff\x01" or "marketData" in path.parts:
                        kdb_files.read_value(path, domains)  # The latter are flat tables, compressed.
                        continue
                column = kdb_files.read_column(path, domains)
                if str(path.relative_to(FIXTURES)) in OUTSIDE:
                    with self.assertRaises(kdb_files.Damaged):
                        self.assertTrue(column.values)
                elif column.domains is not None or column.kind != "enum":
                    self.assertEqual(len(column.values), column.rows)
                if column.attribute != 3:
                    continue
                parted += 1
                image = kdb_files.read_image(path)
                wide = image[:2] == b"\xfd\x20"
                built = kdb_files.parted_index(column.positions, wide)
                equal += image.endswith(built)
                self.assertEqual(len(image), (4096 if wide else 24) +
                                 len(column.positions) * (8 if wide else 4) + len(built))
                null = kdb_files.NULL64 if wide else kdb_files.NULL32
                keys, starts = kdb_files.groups_of([null if p is None else p for p in column.positions])
                self.assertEqual((keys, starts), (column.index.keys, column.index.starts))
                self.assertEqual(kdb_files.hash_slots(keys, len(column.index.slots) // 2), column.index.slots)
        self.assertGreater(files, 400)
        self.assertGreaterEqual(parted, 30)
        self.assertGreaterEqual(equal, 10)  # The others have undefined bytes.


class DecompressionTest(unittest.TestCase):
    def test_blocks_of_other_algorithms_by_hand(self):
        """Examples from the descriptions of the two formats: a literal, then a copy over itself."""
        self.assertEqual(kdb_files.EXPAND[4](b"\x1fa\x01\x00\x05\x00", 25), b"a" * 25)
        self.assertEqual(kdb_files.EXPAND[3](b"\x0a\x00a\x15\x01", 10), b"a" * 10)
        with self.assertRaises(kdb_files.Damaged):
            kdb_files.EXPAND[4](b"\x1fa\x02\x00\x05\x00", 25)  # From before the start.

    def test_a_file_of_two_blocks(self):
        image = bytes(range(256)) * 20
        blocks = [(2, zlib.compress(image[:4096])), (0, image[4096:])]
        raw = b"kxzipped" + b"".join(block for _, block in blocks)
        raw += struct.pack("<IBBHqqq", 3, 2, 6, 0, len(image), len(raw), 4096)
        raw += b"".join(struct.pack("<II", len(block), algorithm) for algorithm, block in blocks)
        raw += struct.pack("<q", len(blocks))
        file = kdb_files.CompressedFile(raw)
        self.assertEqual((file.image, file.algorithm, file.level), (image, 2, 6))
        with self.assertRaises(kdb_files.Damaged):
            kdb_files.CompressedFile(raw[:8] + raw[9:])


if __name__ == "__main__":
    unittest.main(verbosity=1 if len(sys.argv) == 1 else 2)

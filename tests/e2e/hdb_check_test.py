#!/usr/bin/env python3
"""Checks of databases from the command line: one that is written here byte by byte and damaged, and databases that
kdb+ wrote, for which the verdicts are compared with another reader's."""

import json
import os
import pathlib
import struct
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kdb_files, kdb_ipc, stack  # noqa: E402


def names(*texts):
    return b"\xff\x01\x0b\0" + struct.pack("<i", len(texts)) + b"".join(t.encode() + b"\0" for t in texts)


def longs(kind, *numbers):
    return b"\xfe\x20" + bytes([kind]) + bytes(5) + struct.pack(f"<q{len(numbers)}q", len(numbers), *numbers)


def parted(*positions):
    page = bytearray(4096)
    page[0:2], page[16:19] = b"\xfd\x20", b"sym"
    page[4080:4084] = b"\xfd\0\x14\x03"
    page[4088:4096] = struct.pack("<q", len(positions))
    return bytes(page) + struct.pack(f"<{len(positions)}q", *positions) + kdb_files.parted_index(positions)


def flip_bit(path, bit):
    """Changes a bit as a disk does: the time of the file's last change stays."""
    times = path.stat()
    with open(path, "r+b") as file:
        file.seek(bit // 8)
        byte = file.read(1)[0]
        file.seek(bit // 8)
        file.write(bytes([byte ^ 1 << bit % 8]))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


class HdbCheckTest(stack.StackTest):
    def setUp(self):
        super().setUp()
        self.database = self.folder / "db"
        self.table = self.database / "2024.01.02" / "trade"
        self.table.mkdir(parents=True)
        (self.database / "sym").write_bytes(names("AAPL", "IBM"))
        (self.table / ".d").write_bytes(names("sym", "time", "size"))
        (self.table / "sym").write_bytes(parted(1, 1, 0))
        (self.table / "time").write_bytes(longs(12, 5, 6, 1))
        (self.table / "size").write_bytes(longs(7, 100, 200, 300))

    def check(self, *arguments):
        return self.run_program("hdb", "check", *arguments)

    def test_a_sound_database(self):
        done = self.check(str(self.database))
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("1 partitions, 1 tables, 3 columns, 3 rows", done.stdout)
        self.assertTrue(done.stdout.rstrip().endswith("sound"), done.stdout)
        verdict = json.loads(self.check("--json", "--threads", "3", str(self.database)).stdout)
        self.assertEqual((True, [], 3), (verdict["sound"], verdict["findings"], verdict["rows"]))

    def test_damage_is_named_with_file_and_byte(self):
        with open(self.table / "sym", "r+b") as file:
            file.seek(4096 + 8)
            file.write(struct.pack("<q", 7))
        (self.table / "size").unlink()
        done = self.check(str(self.database))
        self.assertEqual(1, done.returncode)
        self.assertIn(f"{self.table}/sym: byte 4104: row 1 has position 7, domain sym has 2 names", done.stdout)
        self.assertIn(f"{self.table}/size: open: No such file", done.stdout)
        done = self.check("--json", str(self.database))
        self.assertEqual(1, done.returncode)
        verdict = json.loads(done.stdout)
        self.assertFalse(verdict["sound"])
        self.assertIn({"file": f"{self.table}/sym", "byte": 4104,
                       "what": "row 1 has position 7, domain sym has 2 names"}, verdict["findings"])

    def add_day(self, day, table="trade"):
        """Writes a partition beside the first one, with the same rows."""
        directory = self.database / day / table
        directory.mkdir(parents=True)
        for file in self.table.iterdir():
            (directory / file.name).write_bytes(file.read_bytes())
        return directory

    def test_every_flipped_bit_of_a_column_list_is_named(self):
        self.add_day("2024.01.03")
        path = self.table / ".d"
        whole = path.read_bytes()
        for bit in range(8 * len(whole)):
            changed = bytearray(whole)
            changed[bit // 8] ^= 1 << bit % 8
            path.write_bytes(changed)
            done = self.check("--strict", str(self.database))
            with self.subTest(bit=bit):
                self.assertEqual(1, done.returncode, done.stdout)
                self.assertIn(str(self.table), done.stdout)
        path.write_bytes(whole)
        self.assertEqual(0, self.check("--strict", str(self.database)).returncode)

    def test_tables_that_partitions_lack_and_the_hdb_names_them(self):
        for day in ("2024.01.03", "2024.01.04"):
            self.add_day(day)
        for day in ("2024.01.02", "2024.01.04"):
            self.add_day(day, "quote")
        self.add_day("2024.01.03", "bar")
        (self.table / ".d").write_bytes(names("sym", "time", "sizf"))
        expected = [f"{self.table}/sizf: ",
                    f"{self.table}/.d: does not name column size, whose file is there",
                    f"{self.database}/2024.01.03/quote: no such table, which an older partition has",
                    f"{self.database}/2024.01.04/bar: no such table in the newest partition"]
        done = self.check(str(self.database))
        self.assertEqual(1, done.returncode, done.stdout)
        for text in expected:
            self.assertIn(text, done.stdout)
        port, process = self.start_process("hdb", "--db", str(self.database))
        with kdb_ipc.connect_within(port) as hdb:
            problems = b"\n".join(hdb.call(".hdb.problems[]")).decode()
            self.assertEqual(len(expected) - 1, hdb.call(".hdb.stats[][`problems]"))
        for text in expected[1:]:  # Columns that a .d file leaves out are not checked.
            self.assertIn(text, problems)
        process.terminate()
        self.assertEqual(0, process.wait(30), process.log_path.read_text())

    def test_times_that_go_back_are_a_warning(self):
        (self.table / "time").write_bytes(longs(12, 6, 5, 1))
        done = self.check(str(self.database))
        self.assertEqual(0, done.returncode, done.stdout)
        self.assertIn(f"warning: {self.table}/time: byte 24: row 1 is earlier than the row before", done.stdout)
        verdict = json.loads(self.check("--json", str(self.database)).stdout)
        self.assertEqual((True, [], 1), (verdict["sound"], verdict["findings"], len(verdict["warnings"])))
        self.assertEqual(1, self.check("--strict", str(self.database)).returncode)

    def generate(self):
        """Writes a day with checksums, and returns the directory of its trades."""
        database = self.folder / "generated"
        done = self.run_program("hdb", "generate", str(database), "--days", "1", "--quotes", "20000", "--symbols", "20")
        self.assertEqual(0, done.returncode, done.stderr)
        return database, next(database.glob("2*")) / "quote"

    def test_a_flipped_bit_is_found_and_only_its_rows_are_lost(self):
        database, quote = self.generate()
        self.assertEqual(0, json.loads(self.check("--json", str(database)).stdout)["tables_without_checksums"])
        path = quote / "bid"
        flip_bit(path, 8 * 100_000)
        named = f"{path}: byte 65536: block 1 (rows 8190 to 16381, up to byte 131072) has CRC32C "
        done = self.check(str(database))
        self.assertEqual(1, done.returncode, done.stdout)
        self.assertIn(named, done.stdout)
        self.assertIn("nobody has written the file since its checksums", done.stdout)
        port, process = self.start_process("hdb", "--db", str(database))
        with kdb_ipc.connect_within(port) as hdb:
            self.assertEqual(20000, hdb.call("exec count ask from quote where ask>0"))
            self.assertEqual(8000, hdb.call("count select[8000] bid,ask from quote"))
            with self.assertRaises(kdb_ipc.QError) as caught:
                hdb.call("exec sum bid from quote")
            self.assertIn(named, str(caught.exception))
            # Its bytes as they were: the next load reads them again.
            flip_bit(path, 8 * 100_000)
            hdb.call("\\l .")
            self.assertLess(0, hdb.call("exec sum bid from quote"))
        process.terminate()
        self.assertEqual(0, process.wait(30), process.log_path.read_text())

    def test_checksums_are_written_anew_for_what_a_person_changed(self):
        database, quote = self.generate()
        path = quote / "bid"
        path.write_bytes(longs(9, *range(20000)))
        os.utime(path, (time.time() + 1, time.time() + 1))
        done = self.check(str(database))
        self.assertEqual(1, done.returncode, done.stdout)
        command = f"`tickstack hdb checksum {quote}` writes them anew"
        self.assertIn(f"{path}: ", done.stdout)
        self.assertIn("the file was changed or copied at 2", done.stdout)
        self.assertIn(command, done.stdout)
        done = self.run_program("hdb", "checksum", str(quote))
        self.assertEqual((0, f"{quote}: 1 checksum files written, 0 were right, 0 not written, "),
                         (done.returncode, done.stdout[:done.stdout.rfind(", ") + 2]), done.stderr)
        self.assertEqual(0, self.check(str(database)).returncode)
        os.utime(path, (time.time() - 1, time.time() - 1))  # It was written before its checksums.
        flip_bit(path, 8 * 5)
        done = self.run_program("hdb", "checksum", str(database))
        self.assertEqual(1, done.returncode, done.stdout)
        self.assertIn("2 were right, 1 not written", done.stdout)
        self.assertIn(f"{path}: byte 0: block 0 has CRC32C ", done.stderr)
        self.assertEqual(0, self.run_program("hdb", "checksum", "--accept-damage", str(database)).returncode)
        self.assertEqual(2, self.run_program("hdb", "checksum").returncode)

    def test_a_database_of_kdb_has_no_checksums_until_it_gets_some(self):
        done = self.check(str(self.database))
        self.assertIn("1 of 1 tables have no checksums", done.stdout)
        self.assertIn(f"`tickstack hdb checksum {self.database}` writes them", done.stdout)
        flip_bit(self.table / "size", 8 * 17)
        self.assertEqual(0, self.check(str(self.database)).returncode)
        done = self.run_program("hdb", "checksum", str(self.database))
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertTrue((self.table / ".checksums").exists() and (self.database / "sym.checksums$").exists())
        self.assertNotIn("no checksums", self.check(str(self.database)).stdout)
        for path in (self.table / "size", self.database / "sym"):
            flip_bit(path, 8 * 9)
            done = self.check(str(self.database))
            self.assertEqual(1, done.returncode, done.stdout)
            self.assertIn(f"{path}: byte 0: block 0 ", done.stdout)
            flip_bit(path, 8 * 9)

    def test_no_database_and_wrong_usage(self):
        done = self.check(str(self.folder / "nothing"))
        self.assertEqual((1, ""), (done.returncode, done.stdout))
        self.assertIn("nothing: there is no such directory", done.stderr)
        self.assertEqual(2, self.check().returncode)
        self.assertEqual(2, self.check("--threads", "0", str(self.database)).returncode)

    def test_rows_of_what_kdb_wrote_are_as_another_reader_counts_them(self):
        for name in ("SirCsimbok-kdb-tick/hdb", "McSqwurd-kdbT/tick/db", "DunnyDon-advancedKdb/hdb"):
            root = self.fixture("kdb") / name
            with self.subTest(root=name):
                tables = [kdb_files.read_table(str(table), kdb_files.Domains(root))
                          for _, directory in kdb_files.partitions(str(root))
                          for table in sorted(pathlib.Path(directory).iterdir())]
                verdict = json.loads(self.check("--json", str(root)).stdout)
                self.assertEqual(len(tables), verdict["tables"])
                self.assertEqual(sum(len(table) for table in tables), verdict["columns"])
                self.assertEqual(sum(table.rows for table in tables), verdict["rows"])


if __name__ == "__main__":
    stack.main()

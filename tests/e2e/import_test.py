#!/usr/bin/env python3
"""`tickstack hdb import`: CSV files become partitions that the hdb serves beside the older ones."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kdb_ipc, stack  # noqa: E402

MAPPING = """
table = "trade"
[[column]]
name = "time"
type = "p"
[[column]]
name = "sym"
type = "s"
from = "Symbol, as traded"
[[column]]
name = "price"
type = "f"
[[column]]
name = "size"
type = "i"
[[column]]
name = "stop"
type = "b"
[[column]]
name = "cond"
type = "c"
[[column]]
name = "ex"
type = "c"
"""
HEADER = '"Symbol, as traded",time,price,size,stop,cond,ex\n'


class ImportTest(stack.StackTest):
    def setUp(self):
        super().setUp()
        self.database = self.folder / "db"
        self.mapping = self.folder / "mapping.toml"
        self.mapping.write_text(MAPPING, encoding="utf-8")

    def do_import(self, text, *flags):
        path = self.folder / "trades.csv"
        path.write_text(text, encoding="utf-8")
        return self.run_program("hdb", "import", str(self.database), str(path), "--mapping", str(self.mapping), *flags)

    def test_rows_are_served_beside_older_days(self):
        made = self.run_program("hdb", "generate", str(self.database), "--quotes", "2000", "--symbols", "20", "--from",
                                "2024.01.04", "--days", "1")
        self.assertEqual(0, made.returncode, made.stderr)
        done = self.do_import(HEADER + "B,2024-01-05 09:30:01,2.5,20,true,@,N\n\"A\"\"1\",2024-01-05 09:30:00,,,0,,\n"
                              "B,2024-01-05 09:30:00,2.25,10,0,,Q\nC,2024-01-08 10:00:00,3,1,0,,Q\n", "--compression", "lz4")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("4 rows of 1 files read, 2 of 2 days written", done.stdout)
        checked = self.run_program("hdb", "check", str(self.database))
        self.assertEqual(0, checked.returncode, checked.stdout + checked.stderr)
        port, _ = self.start_process("hdb", "--db", str(self.database))
        with kdb_ipc.connect_within(port) as hdb:
            self.assertEqual([200, 3, 1], hdb.call("exec n from select n:count i by date from trade"))
            self.assertEqual(2000, hdb.call("count quote"), "the new days have no quotes")
            self.assertEqual(['A"1', "B", "B"], hdb.call("exec sym from trade where date=2024.01.05"))
            self.assertEqual([None, 2.25, 2.5], [price if price == price else None for price in hdb.call(
                "exec price from trade where date=2024.01.05")], "in order of symbol and time")
            self.assertEqual([None, 10, 20], hdb.call("exec size from trade where date=2024.01.05"))
            self.assertEqual(1, hdb.call("exec sum stop from trade where date=2024.01.05"))
        again = self.do_import(HEADER + "B,2024-01-09 09:30:01,2.5,20,1,@,N\nB,2024-01-08 09:30:01,2.5,20,1,@,N\n")
        self.assertEqual(1, again.returncode)
        self.assertIn("2024.01.08: is there already", again.stderr)
        self.assertFalse((self.database / "2024.01.09").exists(), "nothing is written before all days are checked")
        rest = self.do_import(HEADER + "B,2024-01-09 09:30:01,2.5,20,1,@,N\nB,2024-01-08 09:30:01,2.5,20,1,@,N\n",
                              "--skip-existing")
        self.assertEqual(0, rest.returncode, rest.stderr)
        self.assertTrue((self.database / "2024.01.09/quote/.d").exists())

    def test_a_file_in_another_format_is_named(self):
        for start, said in ((b"PAR1\x15\x04\x15", "a Parquet file; expected CSV or Arrow: write it as Arrow"),
                            (b"\x1f\x8b\x08\x00", "compressed by gzip; expected CSV or Arrow: decompress it: gunzip"),
                            (b"\x28\xb5\x2f\xfd\x04", "compressed by zstd"), (b"PK\x03\x04\x14", "a zip archive or a workbook"),
                            (b"Obj\x01\x04\x14", "an Avro file"), (b"ORC\x08\x03", "an ORC file"),
                            (b"\xff\xfet\x00", "text in UTF-16"), (b"\xff\x01\x0b\x00", "a file of kdb+"),
                            (b'[{"sym":1}]', "JSON"), (b'{"sym":1}', "JSON")):
            with self.subTest(start=start):
                path = self.folder / "x.parquet"
                path.write_bytes(start + bytes(100))
                done = self.run_program("hdb", "import", str(self.database), str(path), "--mapping", str(self.mapping))
                self.assertEqual(1, done.returncode)
                self.assertIn(f"x.parquet: it is {said}", done.stderr)
                self.assertFalse(self.database.exists())
        # A header may begin with the same letters.
        for name in ("PAR1", "ORCHARD", "Obj"):
            self.mapping.write_text(MAPPING.replace("Symbol, as traded", name), encoding="utf-8")
            done = self.do_import(f"{name},time,price,size,stop,cond,ex\nA,2024-01-05 09:30:00,1,1,0,,\n", "--skip-existing")
            self.assertEqual(0, done.returncode, done.stderr)

    def test_a_wrong_file_writes_nothing(self):
        for text, why in ((HEADER + "A,2024-01-05 09:30:00,x,1,0,,\n", "trades.csv:2: price: expected a value of type float, found"),
                          (HEADER + "A,2024-01-05 09:30:00\n", "trades.csv:2: 2 fields, expected 7"),
                          ("time\n", "trades.csv:1: the header has no columns"), ("", "expected a header")):
            done = self.do_import(text)
            self.assertEqual(1, done.returncode)
            self.assertIn(why, done.stderr)
        self.assertFalse(self.database.exists())
        self.mapping.write_text(MAPPING.replace('"f"', '"j"'), encoding="utf-8")
        self.run_program("hdb", "generate", str(self.database), "--quotes", "100", "--symbols", "5", "--days", "1", "--from",
                         "2024.01.04")
        done = self.do_import(HEADER + "A,2024-01-05 09:30:00,1,1,0,,\n")
        self.assertEqual(1, done.returncode)
        self.assertIn("trade.price: floats in the database, but longs in the mapping", done.stderr)
        self.mapping.write_text(MAPPING + "[[column]]\nname = 'more'\ntype = 'j'\n", encoding="utf-8")
        self.assertIn("the mapping has a column more", self.do_import(HEADER).stderr)
        self.mapping.write_text("table = 1", encoding="utf-8")
        self.assertEqual(2, self.do_import(HEADER).returncode)


if __name__ == "__main__":
    stack.main()

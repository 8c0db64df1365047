#!/usr/bin/env python3
"""`tickstack tables`: a q schema becomes a configuration that `tickstack check` accepts. A day that is captured with it gives
the same tables when its database is read."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import kdb_ipc, stack  # noqa: E402
from tests.support.kdb_ipc import Typed  # noqa: E402

SCRIPT = """/ tables of a desk
quote:([]time:`timespan$();sym:`g#`symbol$();bid:`float$();ask:`float$();bsize:`long$();asize:`long$();ex:`char$())
trade:([]
  time:`timespan$();     / local time
  sym:`g#`symbol$();
  price:`float$();
  size:`int$();
  note:())
last_trade:([sym:`symbol$()]price:`float$())
\\d .ref
venues:([]name:`symbol$())
"""
QUOTE = 'quote = "time n, sym s, bid f, ask f, bsize j, asize j, ex c"\n'
TRADE = 'trade = "time n, sym s, price f, size i, note *"\n'
LAST_TRADE = 'last_trade = "sym s | price f"\n'
STACK = """
[tickerplant]
batch_ms = 5
[[rdb]]
[eod]
[hdb]
"""
DAY = "2020.03.09"


def without_comments(text):
    return "".join(line + "\n" for line in text.splitlines() if not line.startswith("#"))


class TablesTest(stack.StackTest):
    def tables(self, source):
        return self.run_program("tables", str(source), cwd=self.folder)

    def write(self, text):
        (self.folder / "sym.q").write_text(text, encoding="utf-8")
        return "sym.q"

    def test_a_script_and_the_day_that_is_captured_with_it_have_the_same_tables(self):
        done = self.tables(self.write(SCRIPT))
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertEqual("[tables]\n# line 10: what follows `\\d .ref` is left out: a tickerplant publishes the tables of the "
                         "root namespace\n" + QUOTE + TRADE + LAST_TRADE, done.stdout)

        config = self.folder / "stack.toml"
        config.write_text(done.stdout + STACK, encoding="utf-8")
        checked = self.run_program("check", str(config), cwd=self.folder)
        self.assertEqual((0, ""), (checked.returncode, checked.stderr), checked.stdout)

        running = self.start_stack(done.stdout + STACK, "--date", DAY)
        with running.connect("tickerplant") as feed:
            feed.call([b".u.upd", "trade", [Typed("n", [1]), ["IBM"], [1.5], Typed("i", [7]), [b"late"]]])
            feed.call([b".u.upd", "quote", [Typed("n", [1]), ["IBM"], [1.0], [2.0], [3], [4], b"N"]])
            feed.call([b".u.upd", "last_trade", [["IBM"], [1.5]]])
            stack.wait_until(lambda: running.count("quote") == 1, 60, "the rows")
            feed.call(".u.endofday[]")
        partition = running.folder / "data/hdb" / DAY
        stack.wait_until(lambda: (partition / "trade/.d").exists(), 60, "the partition")
        stored = self.tables(running.folder / "data/hdb")
        self.assertEqual((0, ""), (stored.returncode, stored.stderr))
        self.assertLessEqual({*(QUOTE + TRADE).splitlines()}, {*without_comments(stored.stdout).splitlines()})

    def test_a_generated_database(self):
        generated = self.run_program("hdb", "generate", "db", "--days", "2", "--quotes", "100", "--symbols", "5",
                                     cwd=self.folder)
        self.assertEqual(0, generated.returncode, generated.stderr)
        done = self.tables("db")
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        newest = max(path.name for path in (self.folder / "db").glob("2*"))
        self.assertTrue(done.stdout.startswith(f"[tables]\n# from db/{newest}; a partition has sym first: "), done.stdout)
        self.assertEqual('[tables]\nquote = "time p, sym s, bid f, ask f, bsize j, asize j, mode c, ex c"\n'
                         'trade = "time p, sym s, price f, size i, stop b, cond c, ex c"\n', without_comments(done.stdout))
        (self.folder / "db" / newest / "trade/price").unlink()
        done = self.tables("db")
        self.assertEqual((1, ""), (done.returncode, done.stdout))
        self.assertIn(f"db/{newest}/trade/price", done.stderr)

    def test_errors_name_the_place(self):
        for script, error in (("\ntrade:([]time:`timespan$();sym:`symbl$())\n", "sym.q:2:"),
                              ("trade:([]time:`timespan$()\n", "sym.q:1:7: found `([]time:`timespan$()`"),
                              ("\\l other.q\n", "sym.q:1:1: found the system command"),
                              ("x:1\n", "sym.q: found no table")):
            with self.subTest(script):
                done = self.tables(self.write(script))
                self.assertEqual((1, ""), (done.returncode, done.stdout))
                self.assertTrue(done.stderr.startswith(error), done.stderr)
                self.assertIn("expected", done.stderr)
        (self.folder / "empty").mkdir()
        for source in ("nothing.q", "empty"):
            done = self.tables(source)
            self.assertEqual((1, ""), (done.returncode, done.stdout))
            self.assertIn(source, done.stderr)


if __name__ == "__main__":
    stack.main()

#!/usr/bin/env python3
"""Requests as Java drivers send them: big-endian bytes, a statement's text and its parameters as arguments of a function that is
itself text, answers in blocks of rows, and lists of tables, columns and types made by q."""

import pathlib
import re
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import stack  # noqa: E402
from tests.support.kdb_ipc import LETTERS, NUMBERS, RESPONSE, SYNC, QError, Table, Typed, decode  # noqa: E402

CONFIG = "[tickerplant]\nbatch_ms = 10\n[[rdb]]\n[hdb]\n"
ALL = 2**31 - 1
SQL = "nyi: SQL; write q with q) in front: q)select from trade"


def big(value):
    """The big-endian bytes of a value: bytes are text, str a symbol, Typed an atom, other lists general ones."""
    if isinstance(value, bytes):
        return struct.pack(">bBi", 10, 0, len(value)) + value
    if isinstance(value, str):
        return b"\xf5" + value.encode() + b"\0"
    if isinstance(value, Typed):
        code = LETTERS[value.letter]
        form, null = NUMBERS[code]
        return struct.pack(">b" + form, -code, null if value.value is None else value.value)
    if value and all(isinstance(item, str) for item in value):
        return struct.pack(">bBi", 11, 0, len(value)) + b"".join(name.encode() + b"\0" for name in value)
    return struct.pack(">bBi", 0, 0, len(value)) + b"".join(map(big, value))


def message(value):
    body = big(value)
    return struct.pack(">BBBBI", 0, SYNC, 0, 0, 8 + len(body)) + body


def runner(most=ALL, block=ALL):
    """Runs a function on its argument; a table comes back in blocks of rows, anything else as `::`."""
    return (b"{[most;block;f;x]$[not .Q.qt t:value[f]x;::;count t:select[most]from 0!t;{neg[.z.w]@/:-1_x;last x}(0N;block)#t;t]}"
            b"[%d;%d]" % (most, block))


class DriversTest(stack.StackTest):
    def setUp(self):
        super().setUp()
        self.stack = self.start_stack(CONFIG, "--date", "2020.03.09")
        done = self.run_program("hdb", "generate", str(self.stack.data / "hdb"), "--quotes", "2000", "--days", "2",
                                "--from", "2020.03.05")
        self.assertEqual(0, done.returncode, done.stderr)
        self.stack.ask("hdb", ".hdb.reload[]")
        self.stack.ask("tickerplant", ".u.upd[`trade;(2#2020.03.09D09:30;`aig`bac;1.5 0n;100 0Ni;01b;\"x \";\"NQ\")]")
        stack.wait_until(lambda: self.stack.count("trade") == 2, what="two trades in the rdb")

    def connect(self, name="rdb"):
        connection = self.stack.connect(name, capability=1)
        self.addCleanup(connection.close)
        return connection

    def blocks(self, client, value):
        """The messages that a request brings, its answer last."""
        client.socket.sendall(message(value))
        values = []
        while True:
            kind, body = client.receive()
            values.append(decode(body))
            if kind == RESPONSE:
                return values

    def answer(self, client, value):
        values = self.blocks(client, value)
        self.assertEqual(1, len(values))
        return values[0]

    def test_the_bytes_of_a_request(self):
        client = self.connect()
        request = bytes.fromhex("00 01 00 00 00 00 00 20"     # big-endian, synchronous, 32 bytes:
                                "00 00 00 00 00 02"           # a list of two,
                                "0a 00 00 00 00 03 6e 65 67"  # "neg"
                                "f9 00 00 00 00 00 00 00 2a")  # and 42
        self.assertEqual(request, message([b"neg", Typed("j", 42)]))
        client.socket.sendall(request)
        kind, body = client.receive()
        self.assertEqual((RESPONSE, -42), (kind, decode(body)))

    def test_statements(self):
        for name, rows in (("tickerplant", 0), ("rdb", 2), ("hdb", 400)):
            client = self.connect(name)
            run = lambda text: self.answer(client, [runner(), b".o.ex", text])
            self.assertEqual(Table(n=[rows]), run(b"q)select n:count i from trade"))
            self.assertEqual(rows, len(run(b"q)trade")["sym"]))
            self.assertEqual(["sym", "n"], list(run(b"q)select n:count i by sym from quote")), "keys are columns")
            self.assertIsNone(run(b"q)1+1"))
            self.assertIsNone(run(b"q)"))
            for text, error in ((b"q)1+`a", "type"), (b"q)nosuch", "nosuch"), (b"SELECT * FROM trade", SQL), (b"", SQL)):
                with self.assertRaises(QError) as raised:
                    run(text)
                self.assertEqual(error, raised.exception.args[0])
            self.assertEqual(Table(a=[1, 2]), run(b"q)select\n from ([]a:1 2)"))

    def test_parameters(self):
        client = self.connect()
        run = lambda text, *parameters: self.answer(client, [runner(), text, list(parameters)])
        atoms = [Typed("b", True), Typed("x", 7), Typed("h", -5), Typed("i", 6), Typed("j", 7), Typed("e", 8.5), Typed("f", 9.5),
                 "aig", Typed("p", 1), Typed("d", 7373), Typed("z", 0.5), Typed("t", 34200000), Typed("i", None),
                 Typed("p", None)]
        self.assertEqual([-1, -4, -5, -6, -7, -8, -9, -11, -12, -14, -15, -19, -6, -12],
                         run(b"q){([]t:type each x)}", *atoms)["t"])
        self.assertEqual([100], run(b"q){select size from trade where sym=x 0,size>x 1}", "aig", Typed("i", 50))["size"])
        self.assertEqual([100], run(b"q){[s;n]select size from trade where sym=s,size>n}.", "aig", Typed("i", 50))["size"])
        self.assertEqual(["a", "b"], self.answer(client, [runner(), b"{([]v:x)}", ["a", "b"]])["v"])

    def test_blocks_of_rows(self):
        client = self.connect()
        for most, block, expected in ((ALL, 3, [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]]), (5, 3, [[0, 1, 2], [3, 4]]),
                                      (4, ALL, [[0, 1, 2, 3]]), (ALL, 10, [list(range(10))]), (ALL, 5, [[*range(5)], [*range(5, 10)]])):
            values = self.blocks(client, [runner(most, block), b".o.ex", b"q)([]a:til 10)"])
            self.assertEqual(expected, [table["a"] for table in values])
        self.assertEqual([Table(a=[])], self.blocks(client, [runner(5, 3), b".o.ex", b"q)([]a:til 0)"]))
        days = self.blocks(self.connect("hdb"), [runner(ALL, 90), b".o.ex", b"q)select from trade"])
        self.assertEqual([90, 90, 90, 90, 40], [len(table["sym"]) for table in days])

    def test_tables_columns_and_types(self):
        tables = b"raze{([]CATALOG:`;NAME:system string`a`b x=`VIEW;KIND:x)}each"
        columns = b"select TABLE:n,COLUMN:c,CODE:0i,TYPE:`int$t,NULLS:1i,PLACE:`int$1+til count n,NULLS:`YES from .Q.nct`"
        kinds = b"`CODE xasc([]NAME:`boolean`byte`long`date;CODE:16 -2 -5 91i;WIDTH:11i;PREFIX:`;NULLS:1h;SIGNED:0b)"
        for name in ("tickerplant", "rdb", "hdb"):
            client = self.connect(name)
            self.assertEqual(Table(CATALOG=[""] * 2, NAME=["quote", "trade"], KIND=["TABLE"] * 2),
                             self.answer(client, [tables, ["TABLE", "VIEW"]]))
            self.assertEqual(Table(CATALOG=[], NAME=[], KIND=[]), self.answer(client, [tables, ["VIEW"]]))
            trade = self.answer(client, columns + b"trade")
            self.assertEqual(["TABLE", "COLUMN", "CODE", "TYPE", "NULLS", "PLACE", "NULLS1"], list(trade), "NULLS twice")
            self.assertEqual(self.stack.ask(name, "cols trade"), trade["COLUMN"])
            self.assertEqual(list(self.stack.ask(name, "exec t from meta trade")), trade["TYPE"])
            self.assertEqual({"quote", "trade"}, set(self.answer(client, columns)["TABLE"]))
            self.assertEqual([-5, -2, 16, 91], self.answer(client, kinds)["CODE"])
            self.assertEqual(Table(CATALOG=[]), self.answer(client, b"([]CATALOG:`symbol$())"))
            with self.assertRaisesRegex(QError, "^nosuch$"):
                self.answer(client, columns + b"nosuch")

    def test_views_are_listed_as_such(self):
        client = self.connect()
        self.answer(client, b"big::select from trade where size>50;mine:([]a:1 2);")
        views = self.answer(client, [b"raze{([]NAME:system string`a`b x=`VIEW;KIND:x)}each", ["VIEW"]])
        self.assertEqual(["big"], views["NAME"])

    def test_a_function_has_parameters(self):
        """Trees of editors show the second item of the value of each function of type 100h."""
        with self.stack.connect("tickerplant") as tickerplant:
            self.assertEqual(["table", "symbols"], tickerplant.call("(value .u.sub)1"))
            self.assertEqual(b".u.sub", tickerplant.call("last value .u.sub"))
        all_of_them = "{n:` sv'x,'key[get x]except`;n where{$[100h=type f:get x;not 11h=type(value f)1;0b]}each n}each"
        for name, space in (("tickerplant", "`.u"), ("rdb", "`.rdb"), ("hdb", "`.hdb")):
            with self.stack.connect(name) as client:
                self.assertEqual([[], [], []], client.call(f"{all_of_them}({space};`.Q;`.j)"))

    def test_editors_complete_names(self):
        """Editors find the namespaces by comparing the value of every name with `.q`."""
        spaces = b"{raze x,.z.s'[{x where{@[{1#get x};x;`]~1#.q}'[x]}` sv'x,'key x]}`"
        names = b"{([]space:x),'{`tables`functions`variables!system each\"afv\",\\:\" \",string x}each x}" + spaces
        for name in ("tickerplant", "rdb", "hdb", "tickerplant"):
            found = self.answer(self.connect(name), names)
            row = found["space"].index
            self.assertIn("sublist", found["functions"][row(".q")])
            self.assertIn("ty", found["variables"][row(".h")])
            self.assertEqual({".Q", ".h", ".j", ".o", ".q"}, set(found["space"]) & {".Q", ".h", ".j", ".o", ".q"})


class AsyncRequestsTest(stack.StackTest):
    def test_what_one_did_wrong_is_logged(self):
        """It has no answer, so the client learns of it in no other way."""
        running = self.start_stack("[tickerplant]\n[[rdb]]\n[aggengine]\n")
        for name in ("rdb", "aggengine"):
            client = running.connect(name)
            self.addCleanup(client.close)
            client.send(b"`of_%s+1" % name.encode())

        def logged(name, rest):
            return re.search(rf"{name} async request failed host=\S+ user=\S* error=\"type[^\n]*{rest}", running.log_text())
        stack.wait_until(lambda: logged("rdb", re.escape('text="`of_rdb+1"')), what="the rdb's line")
        stack.wait_until(lambda: logged("aggengine", "withheld=0"), what="the engine's line")


if __name__ == "__main__":
    stack.main()

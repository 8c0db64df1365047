#!/usr/bin/env python3
"""qPython, a widely used client: it subscribes, publishes and queries as with kdb+. Run by run_qpython_test.sh, which
installs it."""

import pathlib
import re
import ssl
import sys

import numpy
from qpython.qcollection import QKeyedTable, QList, QTable, qlist
from qpython.qconnection import MessageType, QAuthenticationException, QConnection
from qpython.qtype import (QBOOL_LIST, QDOUBLE_LIST, QException, QINT_LIST, QSTRING, QSYMBOL, QSYMBOL_LIST,
                           QTIMESTAMP_LIST)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import stack  # noqa: E402
from tests.support.secured import PASSWORD, SecuredTest  # noqa: E402

CONFIG = "[tickerplant]\nbatch_ms = 10\n[[rdb]]\n"
DATE = "2020.03.09"
TIME = numpy.datetime64("2020-03-09T14:30:00.123456789", "ns")


def trade_columns(symbols):
    """Returns columns of at least two rows: qPython sends a string of one character as an atom."""
    n = len(symbols)
    return [qlist(numpy.array([TIME] * n, "M8[ns]"), qtype=QTIMESTAMP_LIST),
            qlist(numpy.array(symbols, "S"), qtype=QSYMBOL_LIST),
            qlist(numpy.array([101.5] * n, "f8"), qtype=QDOUBLE_LIST),
            qlist(numpy.array([100] * n, "i4"), qtype=QINT_LIST),
            qlist(numpy.array([False] * n, "?"), qtype=QBOOL_LIST),
            qlist(numpy.array(list(b"@" * n), "i1"), qtype=QSTRING),
            qlist(numpy.array(list(b"N" * n), "i1"), qtype=QSTRING)]


class QPythonCase(stack.StackTest):
    CONFIG = CONFIG

    def setUp(self):
        super().setUp()
        self.stack = self.start_stack(self.CONFIG, "--date", DATE)

    def open(self, name, **options):
        connection = QConnection(host="127.0.0.1", port=self.stack.port(name), timeout=20, **options)
        connection.open()
        self.addCleanup(connection.close)
        return connection


class QPythonTest(QPythonCase):
    def test_it_subscribes_publishes_and_receives(self):
        subscriber, publisher = self.open("tickerplant"), self.open("tickerplant")
        name, schema = subscriber.sendSync(".u.sub", numpy.string_("trade"), numpy.string_(""))
        self.assertEqual(b"trade", name)
        self.assertEqual((b"time", b"sym"), tuple(n.encode() for n in schema.dtype.names[:2]))
        publisher.sendAsync(".u.upd", numpy.string_("trade"), trade_columns(["AIG", "BAC"]))

        message = subscriber.receive(data_only=False)
        self.assertEqual(MessageType.ASYNC, message.type)
        function, table, rows = message.data[:3]
        self.assertEqual((b"upd", b"trade"), (function, table))
        self.assertEqual([b"AIG", b"BAC"], list(rows["sym"]))
        self.assertEqual([101.5, 101.5], list(rows["price"]))
        self.assertEqual((TIME - numpy.datetime64("2000-01-01", "ns")).astype("i8"),
                         rows["time"].astype("M8[ns]").astype("i8")[0]
                         if rows["time"].dtype.kind == "M" else rows["time"][0])

    def test_it_queries_the_rdb_with_sync_calls(self):
        publisher = self.open("tickerplant")
        publisher.sendSync(".u.upd", numpy.string_("trade"), trade_columns(["AIG", "BAC", "AIG"]))
        stack.wait_until(lambda: self.stack.count("trade") == 3, 60, "three trades")
        rdb = self.open("rdb")
        self.assertEqual(3, rdb.sendSync("count trade"))
        self.assertEqual({b"quote", b"trade"}, set(rdb.sendSync("tables[]")))
        rows = rdb.sendSync("select sym,price,size from trade where sym=`AIG")
        self.assertEqual(2, len(rows))
        self.assertEqual([100, 100], list(rows["size"]))
        self.assertEqual(101.5, rdb.sendSync("exec max price from trade"))

    def test_it_reads_times_as_numpy_has_them(self):
        publisher = self.open("tickerplant")
        publisher.sendSync(".u.upd", numpy.string_("trade"), trade_columns(["AIG", "BAC"]))
        stack.wait_until(lambda: self.stack.count("trade") == 2, 60, "two trades")
        rdb = self.open("rdb", numpy_temporals=True)
        self.assertEqual(TIME, rdb.sendSync("exec time from trade")[0])

    def test_it_hears_of_errors(self):
        rdb = self.open("rdb")
        with self.assertRaises(QException):
            rdb.sendSync("select nothing from trade")
        with self.assertRaises(QException):
            self.open("tickerplant").sendSync(".u.sub", numpy.string_("nobody"), numpy.string_(""))


def tls_connection():
    """Returns the class TlsConnection of docs/tools.md: qPython itself has no TLS."""
    text = (stack.ROOT / "docs/tools.md").read_text(encoding="utf-8")
    names = {}
    exec(re.search(r"^```python\n(import ssl.*?)^```", text, re.DOTALL | re.MULTILINE)[1], names)
    return names["TlsConnection"]


class SecuredQPythonTest(SecuredTest):
    """Users and TLS; what is refused, and rows that pass from a publisher to a subscriber and to the RDB."""

    def check_client(self, connect):
        """`connect(process, user, password)` returns an open connection."""
        with self.assertRaises(QAuthenticationException):
            connect("rdb", "client", "wrong")
        with self.assertRaises(QAuthenticationException):
            connect("rdb", None, None)
        subscriber = connect("tickerplant", "client", PASSWORD)
        subscriber.sendSync(".u.sub", numpy.string_("trade"), numpy.string_(""))
        connect("tickerplant", "client", PASSWORD).sendSync(".u.upd", numpy.string_("trade"), trade_columns(["AIG", "BAC"]))
        self.assertEqual([b"AIG", b"BAC"], list(subscriber.receive(data_only=True)[2]["sym"]))
        rdb = connect("rdb", "client", PASSWORD)
        stack.wait_until(lambda: rdb.sendSync("count trade") == 2, 60, "two trades")
        reader = connect("rdb", "reader", PASSWORD)
        self.assertEqual(0, reader.sendSync("count quote"))
        with self.assertRaisesRegex(QException, "access: reader may not query trade"):
            reader.sendSync("count trade")

    def connector(self, running, kind):
        def connect(process, user, password):
            connection = kind(host="127.0.0.1", port=running.port(process), username=user, password=password, timeout=20)
            connection.open()
            self.addCleanup(connection.close)
            return connection
        return connect

    def test_it_logs_in(self):
        running = self.start_secured(CONFIG, users=True, tls=False)
        self.check_client(self.connector(running, QConnection))

    def test_it_logs_in_over_tls(self):
        running = self.start_secured(CONFIG, users=True, tls=True)
        tls = tls_connection()
        tls.context = self.certificates.context()
        self.check_client(self.connector(running, tls))
        # Without TLS, the first call has the reason: q clients show no text for a connection that is refused.
        with self.assertRaisesRegex(QException, "handshake refused: the port requires TLS"):
            self.connector(running, QConnection)("rdb", "client", PASSWORD).sendSync("count trade")
        tls.context = ssl.create_default_context()
        with self.assertRaisesRegex(ssl.SSLError, "CERTIFICATE_VERIFY_FAILED"):
            self.connector(running, tls)("rdb", "client", PASSWORD)


def readme_examples():
    """Returns (expression, the lines that the README shows below it) of every q expression that the README sends to an
    rdb; it shows no results of commands and of q clients' calls."""
    text = (stack.ROOT / "README.md").read_text(encoding="utf-8")
    for block in re.findall(r"^```q\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        for example in re.split(r"^q\)", block, flags=re.MULTILINE)[1:]:
            expression, *shown = example.rstrip("\n").split("\n")
            yield expression, shown
    for expression in re.findall(r"tickstack query :5011 '([^']*)'", text) + re.findall(r'h"([^"]*)"', text):
        yield expression, []


def cells(value):
    """Returns a client's answer by row: keys first, as in the README."""
    if isinstance(value, QKeyedTable):
        return [[*key, *row] for key, row in zip(value.keys, value.values)]
    if isinstance(value, QTable):
        return [list(row) for row in value]
    return [[item] for item in (value if isinstance(value, QList) else [value])]


def shown_cells(lines):
    """Returns the cells of what is shown, without a table's head and the rule below it."""
    rules = [number for number, line in enumerate(lines) if set(line) <= set("-| ") and "-" in line]
    return [line.replace("|", " ").split() for line in lines[rules[0] + 1 if rules else 0:]]


class ReadmeTest(QPythonCase):
    """The README's first queries, to the stack that it starts; read from it, so that it stays correct. It shows the first
    rows of a day that is the same for everyone."""
    CONFIG = (stack.ROOT / "examples/stack.toml").read_text(encoding="utf-8")
    TRADES = 1_000  # Examples with a result use no more of them.

    def test_the_examples_of_the_readme_give_what_it_shows(self):
        # Published ten quotes to a trade, in windows: when these have arrived, a second window is pending.
        stack.wait_until(lambda: self.stack.count("trade") > 2 * self.TRADES, 60, "some trades")
        rdb = self.open("rdb")
        examples = list(readme_examples())
        self.assertGreaterEqual(len([shown for _, shown in examples if shown]), 5)
        self.assertGreaterEqual(len([shown for _, shown in examples if not shown]), 3)
        for expression, shown in examples:
            with self.subTest(expression=expression):
                answer = rdb.sendSync(expression)
                if shown:
                    printed = self.run_program("query", f":{self.stack.port('rdb')}", expression)
                    self.assertEqual(shown, printed.stdout.rstrip("\n").split("\n"), printed.stderr)
                    self.compare(cells(answer), shown_cells(shown))

    def compare(self, found, shown):
        self.assertEqual(len(shown), len(found))
        for have, want in zip(found, shown):
            self.assertEqual(len(want), len(have), f"{have} and {want}")
            for value, text in zip(have, want):
                if isinstance(value, bytes):
                    self.assertEqual(text, value.decode())
                else:
                    self.assertAlmostEqual(float(text), float(value), places=9)


if __name__ == "__main__":
    stack.main()

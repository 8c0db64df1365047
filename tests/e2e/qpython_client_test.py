#!/usr/bin/env python3
"""qPython, a client that many already have: it subscribes, publishes and queries as with kdb+. Run by
run_qpython_test.sh, which installs it."""

import pathlib
import sys

import numpy
from qpython.qcollection import qlist
from qpython.qconnection import MessageType, QConnection
from qpython.qtype import (QBOOL_LIST, QDOUBLE_LIST, QException, QINT_LIST, QSTRING, QSYMBOL, QSYMBOL_LIST,
                           QTIMESTAMP_LIST)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import stack  # noqa: E402

CONFIG = "[tickerplant]\nbatch_ms = 10\n[[rdb]]\n"
DATE = "2020.03.09"
TIME = numpy.datetime64("2020-03-09T14:30:00.123456789", "ns")


def trade_columns(symbols):
    """Two rows and more: qPython sends a string of one character as an atom."""
    n = len(symbols)
    return [qlist(numpy.array([TIME] * n, "M8[ns]"), qtype=QTIMESTAMP_LIST),
            qlist(numpy.array(symbols, "S"), qtype=QSYMBOL_LIST),
            qlist(numpy.array([101.5] * n, "f8"), qtype=QDOUBLE_LIST),
            qlist(numpy.array([100] * n, "i4"), qtype=QINT_LIST),
            qlist(numpy.array([False] * n, "?"), qtype=QBOOL_LIST),
            qlist(numpy.array(list(b"@" * n), "i1"), qtype=QSTRING),
            qlist(numpy.array(list(b"N" * n), "i1"), qtype=QSTRING)]


class QPythonTest(stack.StackTest):
    def setUp(self):
        super().setUp()
        self.stack = self.start_stack(CONFIG, "--date", DATE)

    def open(self, name, **options):
        connection = QConnection(host="127.0.0.1", port=self.stack.port(name), timeout=20, **options)
        connection.open()
        self.addCleanup(connection.close)
        return connection

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
        stack.wait_until(lambda: self.stack.count("trade") == 3, 20, "three trades")
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
        stack.wait_until(lambda: self.stack.count("trade") == 2, 20, "two trades")
        rdb = self.open("rdb", numpy_temporals=True)
        self.assertEqual(TIME, rdb.sendSync("exec time from trade")[0])

    def test_it_hears_of_errors(self):
        rdb = self.open("rdb")
        with self.assertRaises(QException):
            rdb.sendSync("select nothing from trade")
        with self.assertRaises(QException):
            self.open("tickerplant").sendSync(".u.sub", numpy.string_("nobody"), numpy.string_(""))


if __name__ == "__main__":
    stack.main()

"""LEAN tick archives in DuckDB, which reads them without our code: a stack's capture is compared with it."""

import zipfile

import numpy as np

from bench.peers import decode
from tests.support import kdb_ipc

NS_PER_MS = 1_000_000
# A time and a row's number as one number, so that the last of equal times is the greatest.
ROWS_MAX = 10_000_000

RAW = {
    "trade": "ms bigint, price double, size bigint, ex varchar, cond varchar, suspicious int",
    "quote": "ms bigint, bid double, bid_size bigint, ask double, ask_size bigint, ex varchar, cond varchar, "
    "suspicious int",
}

# An archive's row updates one side of its exchange's quote; the other side is 0,0 there and keeps its value.
QUOTES = f"""
create or replace table quote as
select sym, row, ms, ex, ms * {ROWS_MAX} + row as place,
  last_value(case when bid_size > 0 or bid > 0 then bid / 10000 end ignore nulls) over by_exchange as bid,
  last_value(case when ask_size > 0 or ask > 0 then ask / 10000 end ignore nulls) over by_exchange as ask,
  last_value(case when bid_size > 0 or bid > 0 then bid_size end ignore nulls) over by_exchange as bsize,
  last_value(case when ask_size > 0 or ask > 0 then ask_size end ignore nulls) over by_exchange as asize
from raw_quote window by_exchange as (partition by sym, ex order by row)
"""
TRADES = f"""
create or replace table trade as
select sym, row, ms, ex, ms * {ROWS_MAX} + {ROWS_MAX - 1} as place, price / 10000 as price, size from raw_trade
"""

# Letters of sale conditions by the bit of QuantConnect.Data.Auxiliary.TradeConditionFlags; the first bit that is set
# counts. The letters are those of the CTA and UTP plans.
SALE_CONDITIONS = (
    "Q26 M24 O6 67 58 Z14 L11 P25 49 W20 V18 112 C1 N2 R3 S15 A16 B17 D19 X21 H22 K23 T13 T10 I31 F5 Y4 E28 @0".split()
)
# The day as in a database: rows numbered by arrival, those of the same millisecond by symbol.
TICKS = """
create schema ticks;
create table ticks.trade as
select row_number() over (order by ms, sym, row) as row, {time} as time, sym, price / 10000 as price, size,
  suspicious = 1 as stop, case {conditions} else ' ' end as cond, ex
from (select *, ('0x' || cond)::ubigint as flags from raw_trade);
create table ticks.quote as
select row_number() over (order by ms, sym, row) as row, {time} as time, sym, bid, ask, bsize, asize, ex from quote;
create table ticks.prevailing as
from ticks.quote qualify row_number() over (partition by sym, ex, time order by row desc) = 1;
use ticks;
"""


def load(database, path, date, symbols, folder):
    """Creates tables trade and quote of that day: sym, row (from 1, in the archive's order), ms since midnight, ex, and
    prices, sizes. Unpacks files into `folder`."""
    for table, names in RAW.items():
        database.execute(f"create or replace table raw_{table} (sym varchar, row bigint, {names})")
        for symbol in symbols:
            with zipfile.ZipFile(path / symbol.lower() / f"{date.replace('.', '')}_{table}.zip") as archive:
                csv = archive.extract(archive.namelist()[0], folder)
            types = ", ".join("'{}': '{}'".format(*name.split()) for name in names.split(", "))
            database.execute(
                f"insert into raw_{table} select '{symbol}', row_number() over (), * from "
                f"read_csv('{csv}', header=false, parallel=false, columns={{{types}}})"
            )
    database.execute(QUOTES)
    database.execute(TRADES)


def use_ticks(database, date):
    """Creates tables trade, quote and prevailing from what load() loaded, and makes them the default schema: with times,
    sale conditions and rows in the order of the whole day. `prevailing` has the last quote of a symbol and exchange at
    each of its times."""
    conditions = " ".join(f"when flags & (1::ubigint << {known[1:]}) <> 0 then '{known[0]}'" for known in SALE_CONDITIONS)
    time = f"timestamp '{date.replace('.', '-')}' + ms * interval '1 millisecond'"
    database.execute(TICKS.format(time=time, conditions=conditions))


def ask(connection, q):
    """Returns the answer as numpy arrays by name."""
    connection.socket.sendall(kdb_ipc.message(kdb_ipc.SYNC, kdb_ipc.encode(q.encode())))
    _, body = connection.receive()
    return decode.decode(body)


def compare(case, connection, q, database, sql, exact, close=(), rtol=1e-12):
    """Compares both answers row by row; columns in `close`, whose terms are added in another order, within `rtol`."""
    found, expected = ask(connection, q), database.execute(sql).fetchnumpy()
    for name in (*exact, *close):
        have, want = found[name], expected[name]
        if have.dtype.kind == "S":
            have = have.astype("U")
        if isinstance(want, np.ma.MaskedArray):
            want = want.filled(np.nan) if want.dtype.kind == "f" else want.data
        case.assertEqual(len(want), len(have), f"{name} of {q}")
        if name in close:
            np.testing.assert_allclose(have, want, rtol=rtol, err_msg=f"{name} of {q}")
        else:
            np.testing.assert_array_equal(have, want if want.dtype.kind != "O" else want.astype("U"), f"{name} of {q}")
    case.assertGreater(len(found[exact[0]]), 0, q)

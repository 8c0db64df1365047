#!/usr/bin/env python3
"""Asks an RDB or HDB a query in q and prints the answer as a data frame: of Polars, by kola, or of pandas, by PyKX.

    dataframe.py 'select last price, sum size by sym from trade' --port 5011
    dataframe.py 'select from trade where sym=`IBM' --client pykx
    dataframe.py '{aj[`sym`time; x; select time,sym,bid,ask from quote]}' --rows orders.csv

With --rows, the query is a function, and its argument a table with the rows of a CSV file: here, the
quotes that prevailed at the times of one's own orders.
"""

import argparse
import os

os.environ.setdefault("PYKX_UNLICENSED", "true")  # A connection needs no licence of kdb+.
os.environ.setdefault("PYKX_SUPPRESS_WARNINGS", "true")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("query")
    parser.add_argument("--rows", help="CSV file; the query is a function of its rows")
    parser.add_argument("--client", choices=["kola", "pykx"], default="kola")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=5011, help="the RDB's or HDB's port")
    parser.add_argument("--user", default="reader")
    parser.add_argument("--password", default="")
    parser.add_argument("--tls", action="store_true")
    return parser.parse_args()


def polars_frame(args):
    import kola
    import polars as pl

    server = kola.Q(args.host, args.port, args.user, args.password, enable_tls=args.tls)
    if args.rows is None:
        return server.sync(args.query)
    rows = pl.read_csv(args.rows, try_parse_dates=True)
    # Polars has read times with microseconds. It reads them again as text, with all of their digits.
    times = [name for name, kind in rows.schema.items() if isinstance(kind, pl.Datetime)]
    texts = pl.read_csv(args.rows, columns=times, infer_schema=False) if times else rows.select([])
    rows = rows.with_columns(texts.select(pl.all().str.to_datetime(time_unit="ns")))
    # Strings become symbols.
    return server.sync(args.query, rows.cast({pl.String: kola.QType.Symbol, pl.Datetime: kola.QType.Timestamp}))


def pandas_frame(args):
    import pandas as pd
    import pykx

    with pykx.SyncQConnection(args.host, args.port, username=args.user, password=args.password, tls=args.tls,
                              no_ctx=True) as server:
        if args.rows is None:
            return server(args.query).pd()
        rows = pd.read_csv(args.rows, parse_dates=["time"])
        return server(args.query, rows.astype({"time": "datetime64[ns]"})).pd()


def main():
    args = arguments()
    print(polars_frame(args) if args.client == "kola" else pandas_frame(args))


if __name__ == "__main__":
    main()

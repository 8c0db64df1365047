#!/usr/bin/env python3
"""Subscribes to a table and prints the last price and the volume of each symbol, as rows arrive.

    subscriber.py --port 5010 --symbols IBM,AIG

It receives rows from now on. Earlier rows of the day are in the RDB (dataframe.py).
"""

import argparse
import sys
import time

import kola
import polars as pl

RETRY_S = 0.2
LOGIN_FAILURES_MAX = 5


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", default="trade")
    parser.add_argument("--symbols", default="", help="comma-separated; none: all")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=5010, help="the tickerplant's port")
    parser.add_argument("--user", default="subscriber")
    parser.add_argument("--password", default="")
    parser.add_argument("--tls", action="store_true")
    parser.add_argument("--rows", type=int, help="ends after this number of rows")
    return parser.parse_args()


def subscribe(args):
    """Returns a connection on which updates arrive. It must send no other request: kola would take the next update for
    the answer."""
    tickerplant = kola.Q(args.host, args.port, args.user, args.password, enable_tls=args.tls)
    symbols = pl.Series("", args.symbols.split(","), kola.QType.Symbol) if args.symbols else ""
    table, empty = tickerplant.sync(".u.sub", args.table, symbols)
    print(f"subscribed to {table}: {', '.join(empty.columns)}", flush=True)
    return tickerplant


def add(totals, rows):
    """Adds an update to {symbol: (last price, volume)}."""
    by_symbol = rows.group_by("sym", maintain_order=True).agg(pl.col("price").last(), pl.col("size").sum())
    for symbol, price, size in by_symbol.iter_rows():
        totals[symbol] = (price, totals.get(symbol, (None, 0))[1] + size)
        print(f"{symbol} last={price} volume={totals[symbol][1]}", flush=True)


def main():
    args = arguments()
    totals, received, login_failures = {}, 0, 0
    while True:
        try:
            tickerplant = subscribe(args)
            login_failures = 0
            while args.rows is None or received < args.rows:
                message, *values = tickerplant.receive()
                if message == "upd":  # ("upd", table, rows)
                    received += len(values[1])
                    add(totals, values[1])
                elif message == ".u.end":  # (".u.end", date)
                    print(f"{values[0]} has ended", flush=True)
                    totals.clear()
            return 0
        except kola.KolaIOError as error:  # The tickerplant is not there, or was lost.
            print(f"retrying: {error}", file=sys.stderr, flush=True)
        except kola.KolaAuthError as error:  # kola's error also for a connection that ended during the login.
            login_failures += 1
            if login_failures > LOGIN_FAILURES_MAX:
                raise
            print(f"retrying: {error}", file=sys.stderr, flush=True)
        time.sleep(RETRY_S)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Draws today's prices of a few symbols, minute by minute, from an RDB: the volume-weighted average price as a line, and
lowest to highest price as a band.

    plot.py IBM AIG --port 5011 --output prices.png
"""

import argparse
import os

os.environ.setdefault("PYKX_UNLICENSED", "true")  # A connection needs no licence of kdb+.
os.environ.setdefault("PYKX_SUPPRESS_WARNINGS", "true")

import matplotlib  # noqa: E402

matplotlib.use("Agg")  # Writes files, and needs no display.

import matplotlib.pyplot as plt  # noqa: E402
from matplotlib import dates  # noqa: E402
import pykx  # noqa: E402

BARS = """{[symbols]
  0!select vwap:size wavg price, low:min price, high:max price by sym, minute:0D00:01 xbar time
  from trade where sym in symbols}"""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("symbols", nargs="+")
    parser.add_argument("--output", default="prices.png", help="its ending decides the format")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=5011, help="the RDB's port")
    parser.add_argument("--user", default="reader")
    parser.add_argument("--password", default="")
    parser.add_argument("--tls", action="store_true")
    return parser.parse_args()


def bars(args):
    with pykx.SyncQConnection(args.host, args.port, username=args.user, password=args.password, tls=args.tls,
                              no_ctx=True) as rdb:
        return rdb(BARS, pykx.SymbolVector(args.symbols)).pd()


def draw(frame, output):
    figure, axes = plt.subplots(figsize=(10, 5), layout="constrained")
    for symbol, rows in frame.groupby("sym"):
        axes.plot(rows["minute"], rows["vwap"], marker=".", label=symbol)
        axes.fill_between(rows["minute"], rows["low"], rows["high"], alpha=0.2)
    axes.xaxis.set_major_formatter(dates.DateFormatter("%H:%M"))
    axes.set_xlabel(f"{frame['minute'].iloc[0]:%Y-%m-%d}")
    axes.set_ylabel("price")
    axes.legend(loc="upper left")
    figure.savefig(output, dpi=120)


def main():
    args = arguments()
    frame = bars(args)
    if frame.empty:
        raise SystemExit(f"no trades of {', '.join(args.symbols)} today")
    draw(frame, args.output)
    print(f"{args.output}: {len(frame)} bars of {frame['sym'].nunique()} symbols")


if __name__ == "__main__":
    main()

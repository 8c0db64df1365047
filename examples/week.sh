#!/usr/bin/env bash
# A week in a minute: generates four past days, captures today with its bars, ends the day, and queries all of it.
# After `make build`:
#
#   examples/week.sh [FOLDER]
#
# FOLDER (default: a temporary one, removed at the end) receives the data; it must not exist yet. TICKSTACK names the
# program, WEEK_QUOTES the quotes of a past day, WEEK_SECONDS the length of today.
set -euo pipefail
repository=$(realpath "$(dirname "$0")/..")
seconds=${WEEK_SECONDS:-10}
tickstack=$(realpath "${TICKSTACK:-$repository/build/release/cli/tickstack}")
if [[ $# -gt 0 ]]; then
  mkdir "$1"
  folder=$(realpath "$1")
else
  folder=$(mktemp -d)
fi
stack=
finish() {
  [[ -z $stack ]] || { kill "$stack" 2>/dev/null && wait "$stack"; } || true
  [[ ${keep:-0} == 1 ]] || rm -rf "$folder"
}
[[ $# -eq 0 ]] || keep=1
trap finish EXIT
trap 'exit 130' INT TERM

say() { printf '\n== %s\n' "$*"; }
port() { grep -o "\"name\":\"$1\"[^}]*\"port\":[0-9]*" "$folder/ready.json" | grep -o '[0-9]*$'; }
ask() {
  printf 'q)%s\n' "$2"
  printf '%s\n' "$("$tickstack" query ":$(port "$1")" "$2")"
}

# The fourth weekday before today, in UTC like the tickerplant's days.
first=$(date -u +%s)
for ((weekdays = 0; weekdays < 4;)); do
  first=$((first - 86400))
  [[ $(date -u -d "@$first" +%u) -gt 5 ]] || weekdays=$((weekdays + 1))
done

say "generate: four weekdays before today"
"$tickstack" hdb generate "$folder/data/hdb" --days 4 --from "$(date -u -d "@$first" +%Y.%m.%d)" --symbols 1000 \
  --quotes "${WEEK_QUOTES:-500000}" 2>&1

say "capture: today, $seconds s of it at 48,000 updates/s"
"$tickstack" up "$repository/examples/week.toml" --data "$folder/data" --ports 0 --ready-file "$folder/ready.json" \
  >"$folder/up.log" 2>&1 &
stack=$!
until [[ -f $folder/ready.json ]]; do
  kill -0 "$stack" 2>/dev/null || { cat "$folder/up.log" >&2; exit 1; }
  sleep 0.1
done
"$tickstack" feed --tickerplant "127.0.0.1:$(port tickerplant)" --rate 48000 --seconds "$seconds" --symbols 1000 \
  --start --exit-when-done --log-level warn
ask rdb 'select trades:count i,volume:sum size,vwap:size wavg price from trade'
ask rdb '3#select from trade_daily'

say "roll: today becomes a partition, and the rdb is free for tomorrow"
"$tickstack" eod --tickerplant "127.0.0.1:$(port tickerplant)" --rdb "127.0.0.1:$(port rdb)"
ask rdb 'count trade'
"$tickstack" hdb check "$folder/data/hdb"

say "query: across days"
ask hdb 'select trades:count i,volume:sum size,high:max price,low:min price by date from trade where sym=`SPY'
ask hdb 'select vwap:size wavg price,dev:dev price by sym from trade where sym in `SPY`AAPL`BAC'
ask hdb 'select spread:avg ask-bid by date from quote where sym=`SPY,bid>0'
ask hdb '3#aj[`sym`time;select from trade where date=first date,sym=`SPY;select from quote where date=first date,sym=`SPY]'
ask hdb 'select sym,open,high,low,close,vwap from trade_daily where date=last date,sym in `SPY`AAPL`BAC'
[[ ${keep:-0} != 1 ]] || say "the data is in $folder"

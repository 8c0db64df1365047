# Sourced by the guests that have a DAX mount. Goal: an RDB with rows in a persistent tier survives two kills, one
# in the middle of the day and one after it. Each time it restores the rows that it had committed, reads only the
# rest from the log, and in the end has every row once.

TICKSTACK=${TICKSTACK:-/dax/tickstack}
ROWS=60000

ask() {
  "$TICKSTACK" query :5011 "$1" 2>/dev/null
}
# Prints the number of rows of both tables, 0 while the rdb does not answer.
rows() {
  ask '(count trade)+count quote' | grep '^[0-9][0-9]*$' || echo 0
}
stat_of() {
  ask ".rdb.stats[][\`$1]"
}
start_rdb() {
  "$TICKSTACK" rdb --config stack.toml >> rdb.log 2>&1 &
  rdb=$!
}
kill_rdb() {
  kill -9 $rdb
  wait $rdb
}
fail() {
  echo "FAILED: $1"
  tail -n 20 rdb.log tickerplant.log feed.log
  return 1
}
wait_for_rows() {
  tries=0
  until [ "$(rows)" -ge "$1" ]; do
    tries=$((tries + 1))
    [ $tries -le 300 ] || { fail "$1 rows did not come, $(rows) did"; return 1; }
    usleep 50000
  done
}
# Checks how many of the rdb's rows were restored, and how many were read from the log.
check_reopened() {
  reopened=$(stat_of rows_reopened)
  echo "$1: reopened $reopened rows in $(stat_of reopen_us) us, replayed $(stat_of rows_replayed); has $(rows)"
  [ "$reopened" -ge "$2" ] || fail "$reopened rows reopened, expected $2 at least"
}

# persistent_rdb_survives_kill FOLDER
persistent_rdb_survives_kill() {
  work=$(mktemp -d)
  cd "$work" || return 1
  cat > stack.toml << EOF
[tier.pmem]
kind = "persistent"
path = "$1"
size = "128MiB"
commit_ms = 20
[placement]
default = "pmem"
[tickerplant]
batch_ms = 20
[[rdb]]
[feed]
rate = 12000
rows = $ROWS
symbols = 500
batch_rows = 500
start = true
exit_when_done = true
EOF
  "$TICKSTACK" tickerplant --config stack.toml > tickerplant.log 2>&1 &
  tickerplant=$!
  start_rdb
  "$TICKSTACK" feed --config stack.toml > feed.log 2>&1 &
  feed=$!
  run_kills
  result=$?
  kill $feed $rdb $tickerplant 2> /dev/null
  wait $feed $rdb $tickerplant
  grep -hE ' [WE] ' rdb.log
  cd / && rm -r "$work"
  return $result
}

run_kills() {
  wait_for_rows 10000 || return 1
  kill_rdb
  start_rdb
  wait_for_rows $ROWS || return 1
  check_reopened "killed in the middle" 5000 || return 1
  sleep 1  # Twice the time in which an idle rdb commits its last rows.
  kill_rdb
  start_rdb
  wait_for_rows $ROWS || return 1
  check_reopened "killed after the day" $ROWS || return 1
  [ "$(rows)" = $ROWS ] || fail "$(rows) rows, $ROWS were logged"
}

#!/usr/bin/env bash
# run_all.sh BUILD SECONDS: runs every fuzzer of a build of the preset `asan` for SECONDS, as many at once
# as there are processors. New inputs stay in BUILD/corpus; those in fuzz/corpus are only read. A fuzzer's
# output is in BUILD/fuzz/NAME.log and is printed if it fails. Fails if one of them does.
set -euo pipefail
cd "$(dirname "$0")/.."
export build=$1 seconds=$2
run_fuzzer() {
  local fuzzer=$1 name
  name=$(basename "$fuzzer" er)
  mkdir -p "$build/corpus/$name" "$build/crashes"
  local seeds=() dictionary=()
  [[ -d fuzz/corpus/$name ]] && seeds=("fuzz/corpus/$name")
  [[ -f fuzz/$name.dict ]] && dictionary=("-dict=fuzz/$name.dict")
  if "$fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$build/crashes/$name-" "${dictionary[@]}" "$build/corpus/$name" "${seeds[@]}" \
    >"$build/fuzz/$name.log" 2>&1; then
    echo "$name: $seconds s, $(sed -n 's/^stat::number_of_executed_units: *//p' "$build/fuzz/$name.log") inputs, no failure"
  else
    cat "$build/fuzz/$name.log"
    return 1
  fi
}
export -f run_fuzzer
printf '%s\0' "$build"/fuzz/*_fuzzer | xargs -0 -P "$(nproc)" -n 1 bash -c 'run_fuzzer "$0"'

#!/usr/bin/env bash
# run_all.sh BUILD SECONDS: runs every fuzzer of a build of the preset `fuzz`, one after the other. New
# inputs stay in BUILD/corpus; those in fuzz/corpus are only read. Stops at the first crash.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
seconds=$2
for fuzzer in "$build"/fuzz/*_fuzz; do
  name=$(basename "$fuzzer")
  mkdir -p "$build/corpus/$name" "$build/crashes"
  seeds=()
  [[ -d fuzz/corpus/$name ]] && seeds=("fuzz/corpus/$name")
  dictionary=()
  [[ -f fuzz/$name.dict ]] && dictionary=("-dict=fuzz/$name.dict")
  echo "== $name, $seconds s"
  "$fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$build/crashes/$name-" "${dictionary[@]}" "$build/corpus/$name" "${seeds[@]}"
done

#!/usr/bin/env bash
# run_all.sh BUILD: runs every benchmark of a release build: the kernels, then the whole stack.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
for benchmark in "$build"/bench/*_bench; do
  [[ $(basename "$benchmark") == stack_bench ]] && continue
  echo "== $(basename "$benchmark")"
  "$benchmark"
done
if [[ -x $build/bench/stack_bench ]]; then
  echo "== stack_bench"
  "$build/bench/stack_bench"
fi

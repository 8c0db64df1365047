#!/usr/bin/env bash
# Runs duckdb_test.py, duckdb_days_test.py, queries_page_test.py, parquet_test.py and export_test.py in a throw-away
# environment with the versions of bench/peers/requirements.txt, which want Python 3.11 or newer; PYTHON names one. With --write-page only the
# page, which then writes docs/queries.md.
# TICKSTACK_REQUIRE_DUCKDB=1: a machine where that cannot be installed fails instead of being skipped.
#
#   run_duckdb_test.sh --program build/release/cli/tickstack --peers-day build/release/bench/peers_day \
#     --peers-tables build/release/bench/peers_tables
set -euo pipefail
cd "$(dirname "$0")/../.."

write_page=0
while [[ $# -gt 0 ]]; do
  case $1 in
    --write-page) write_page=1; shift; continue ;;
    --program) program=$2 ;;
    --peers-day) peers_day=$2 ;;
    --peers-tables) peers_tables=$2 ;;
    *) echo "$1: expected --program, --peers-day, --peers-tables and --write-page" >&2; exit 2 ;;
  esac
  shift 2
done

skip() {
  echo "duckdb: $1" >&2
  [[ ${TICKSTACK_REQUIRE_DUCKDB:-0} == 1 ]] && exit 1
  exit 77
}

python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || skip "$python is older than Python 3.11"

environment=$(mktemp -d)
trap 'rm -rf "$environment"' EXIT
"$python" -m venv "$environment" 2>/dev/null || skip "$python cannot make an environment (python3-venv)"
"$environment/bin/pip" install --quiet --disable-pip-version-check --retries 1 --timeout 20 --no-compile \
  --constraint bench/peers/requirements.txt duckdb numpy pandas polars pyarrow || skip "DuckDB could not be installed"
if [[ $write_page == 1 ]]; then
  "$environment/bin/python" tests/e2e/queries_page_test.py --write --program "$program"
  exit
fi
failed=0
"$environment/bin/python" tests/e2e/duckdb_test.py --program "$program" --peers-day "$peers_day" \
  --peers-tables "$peers_tables" || failed=1
"$environment/bin/python" tests/e2e/duckdb_days_test.py --program "$program" || failed=1
"$environment/bin/python" tests/e2e/queries_page_test.py --program "$program" || failed=1
"$environment/bin/python" tests/e2e/parquet_test.py --program "$program" || failed=1
"$environment/bin/python" tests/e2e/export_test.py --program "$program" || failed=1
exit "$failed"

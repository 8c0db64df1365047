#!/usr/bin/env bash
# Runs export_test.py and spark_suite_test.py with Spark in a throw-away environment: 400 MB to install, and Java 17 or
# newer (`make test-spark`). TICKSTACK_REQUIRE_SPARK=1: a machine without it fails instead of being skipped.
#
#   run_spark_test.sh --program build/release/cli/tickstack
set -euo pipefail
cd "$(dirname "$0")/../.."

skip() {
  echo "spark: $1" >&2
  [[ ${TICKSTACK_REQUIRE_SPARK:-0} == 1 ]] && exit 1
  exit 77
}

command -v java >/dev/null || skip "no java; install a JDK"
environment=$(mktemp -d)
trap 'rm -rf "$environment"' EXIT
python3 -m venv "$environment" 2>/dev/null || skip "python3 cannot make an environment (python3-venv)"
"$environment/bin/pip" install --quiet --disable-pip-version-check --retries 1 --timeout 20 \
  --requirement examples/spark/requirements.txt || skip "Spark could not be installed"
export PYSPARK_PYTHON="$environment/bin/python"
"$PYSPARK_PYTHON" tests/e2e/export_test.py --spark "$@"
"$PYSPARK_PYTHON" tests/e2e/spark_suite_test.py "$@"

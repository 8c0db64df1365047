#!/usr/bin/env bash
# Runs export_test.py and spark_suite_test.py with the newest Spark, and iceberg_test.py with the newest one that Iceberg
# supports, each in a throw-away environment of 400 MB (`make test-spark`). Needs Java 17 or newer, and Maven for
# Iceberg's jar of 48 MB; TICKSTACK_ICEBERG_JAR=FILE uses that file instead.
# TICKSTACK_REQUIRE_SPARK=1: a machine without them fails instead of being skipped.
#
#   run_spark_test.sh --program build/release/cli/tickstack
set -euo pipefail
cd "$(dirname "$0")/../.."

skip() {
  echo "spark: $1" >&2
  [[ ${TICKSTACK_REQUIRE_SPARK:-0} == 1 ]] && exit 1
  exit 77
}

# Installs the Spark of a requirements file, instead of the one before.
install() {
  rm -rf "$environment/python"
  python3 -m venv "$environment/python" 2>/dev/null || skip "python3 cannot make an environment (python3-venv)"
  "$environment/python/bin/pip" install --quiet --disable-pip-version-check --retries 1 --timeout 20 \
    --requirement "$1" || skip "Spark could not be installed: $1"
}

command -v java >/dev/null || skip "no java; install a JDK"
environment=$(mktemp -d)
trap 'rm -rf "$environment"' EXIT
export PYSPARK_PYTHON="$environment/python/bin/python"
install examples/spark/requirements.txt
"$PYSPARK_PYTHON" tests/e2e/export_test.py --spark "$@"
"$PYSPARK_PYTHON" tests/e2e/spark_suite_test.py "$@"

if [[ -z ${TICKSTACK_ICEBERG_JAR:-} ]]; then
  command -v mvn >/dev/null || skip "iceberg_test.py: no mvn; install Maven, or set TICKSTACK_ICEBERG_JAR"
  artifact=$(sed -n 's/^ICEBERG = "\(.*\)"$/\1/p' examples/spark/history_queries.py)
  mvn --quiet --batch-mode dependency:copy -Dartifact="$artifact" -DoutputDirectory="$environment" ||
    skip "iceberg_test.py: $artifact could not be fetched"
  export TICKSTACK_ICEBERG_JAR
  TICKSTACK_ICEBERG_JAR=$(echo "$environment"/iceberg-*.jar)
fi
install examples/spark/iceberg-requirements.txt
"$PYSPARK_PYTHON" tests/e2e/iceberg_test.py "$@"

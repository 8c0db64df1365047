#!/usr/bin/env bash
# Runs kafka_bridge_test.py and kafka_log_test.py with real Kafka brokers, whose jars Maven fetches into a throw-away
# folder: 120 MB, and Java 17 or newer (`make test-kafka`). TICKSTACK_KAFKA_JARS=DIR: uses the jars in that folder instead.
# A Kafka client and a reader of Avro for Python are installed there, too, unless python3 has them.
# TICKSTACK_KAFKA_TESTS: which of the two. TICKSTACK_REQUIRE_KAFKA=1: a machine without them fails instead of being skipped.
#
#   run_kafka_test.sh --program build/release/cli/tickstack [TEST...]
set -euo pipefail
cd "$(dirname "$0")/../.."

skip() {
  echo "kafka: $1" >&2
  [[ ${TICKSTACK_REQUIRE_KAFKA:-0} == 1 ]] && exit 1
  exit 77
}

command -v java >/dev/null || skip "no java; install a JDK"
environment=$(mktemp -d)
trap 'rm -rf "$environment"' EXIT
python=python3
if ! python3 -c "import confluent_kafka, fastavro" 2>/dev/null; then
  python3 -m venv "$environment/python" 2>/dev/null || skip "python3 cannot make an environment (python3-venv)"
  python=$environment/python/bin/python
  "$python" -m pip install --quiet --disable-pip-version-check --retries 1 --timeout 20 \
    --requirement tests/e2e/kafka_requirements.txt || skip "the clients for Python could not be installed"
fi
if [[ -z ${TICKSTACK_KAFKA_JARS:-} ]]; then
  command -v mvn >/dev/null || skip "no mvn; install Maven, or set TICKSTACK_KAFKA_JARS"
  mvn --quiet --batch-mode --file tests/e2e/kafka_pom.xml dependency:copy-dependencies \
    -DincludeScope=runtime -DoutputDirectory="$environment/jars" || skip "Kafka could not be fetched"
  export TICKSTACK_KAFKA_JARS="$environment/jars"
fi
for test in ${TICKSTACK_KAFKA_TESTS:-kafka_bridge_test kafka_log_test}; do
  "$python" "tests/e2e/$test.py" "$@"
done

#!/usr/bin/env bash
# Runs dbn_peer_test.py in a throw-away environment with databento-dbn 0.72.0, which has wheels from Python 3.10 on; PYTHON
# names one. TICKSTACK_REQUIRE_DBN=1: a machine where that cannot be installed fails instead of being skipped.
set -euo pipefail
cd "$(dirname "$0")/../.."

skip() {
  echo "databento-dbn: $1" >&2
  [[ ${TICKSTACK_REQUIRE_DBN:-0} == 1 ]] && exit 1
  exit 77
}

python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info[:2] < (3, 10))' 2>/dev/null || skip "no Python from 3.10 on found"
environment=$(mktemp -d)
trap 'rm -rf "$environment"' EXIT
"$python" -m venv "$environment" 2>/dev/null || skip "$python cannot make an environment (python3-venv)"
"$environment/bin/pip" install --quiet --disable-pip-version-check --retries 1 --timeout 20 databento-dbn==0.72.0 ||
  skip "it could not be installed"
"$environment/bin/python" tests/e2e/dbn_peer_test.py "$@"

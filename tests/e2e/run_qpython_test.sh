#!/usr/bin/env bash
# Runs qpython_client_test.py and same_table_test.py in a throw-away environment with qPython 2.0.0 and numpy 1.23.5, the last
# that it works with. numpy 1.23.5 has wheels for Python 3.8 to 3.11; PYTHON names one.
# TICKSTACK_REQUIRE_QPYTHON=1: a machine where that cannot be installed fails instead of being skipped.
set -euo pipefail
cd "$(dirname "$0")/../.."

skip() {
  echo "qpython: $1" >&2
  [[ ${TICKSTACK_REQUIRE_QPYTHON:-0} == 1 ]] && exit 1
  exit 77
}

python=${PYTHON:-}
if [[ -z $python ]]; then
  for candidate in python3.11 python3.10 python3.9 python3.8 python3; do
    if "$candidate" -c 'import sys; sys.exit(not (3, 8) <= sys.version_info[:2] <= (3, 11))' 2>/dev/null; then
      python=$candidate
      break
    fi
  done
fi
[[ -n $python ]] || skip "no Python 3.8 to 3.11 found"

environment=$(mktemp -d)
trap 'rm -rf "$environment"' EXIT
"$python" -m venv "$environment" 2>/dev/null || skip "$python cannot make an environment (python3-venv)"
"$environment/bin/pip" install --quiet --disable-pip-version-check --retries 1 --timeout 20 \
  numpy==1.23.5 qPython==2.0.0 || skip "qPython could not be installed"
failed=0
"$environment/bin/python" tests/e2e/qpython_client_test.py "$@" || failed=1
"$environment/bin/python" tests/e2e/same_table_test.py "$@" || failed=1
exit "$failed"

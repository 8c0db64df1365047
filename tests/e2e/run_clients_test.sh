#!/usr/bin/env bash
# Runs pykx_client_test.py with PyKX 4.2.0 and node_client_test.py with node-q 2.7.0, each in a throw-away environment. What is
# not installed, Node.js or a Python that PyKX has a wheel for, or cannot be fetched is named and skipped: exit 77 if that is all.
# TICKSTACK_REQUIRE_CLIENTS=1: then it fails.
set -euo pipefail
cd "$(dirname "$0")/../.."

ran=0 failed=0
missing() {
  echo "clients: $1" >&2
  [[ ${TICKSTACK_REQUIRE_CLIENTS:-0} == 1 ]] && failed=1
  return 0
}

environment=$(mktemp -d)
trap 'rm -rf "$environment"' EXIT

if python3 -m venv "$environment/python" 2>/dev/null &&
  "$environment/python/bin/pip" install --quiet --disable-pip-version-check --retries 1 --timeout 20 pykx==4.2.0; then
  ran=1
  PYKX_UNLICENSED=true PYKX_SUPPRESS_WARNINGS=1 "$environment/python/bin/python" tests/e2e/pykx_client_test.py "$@" || failed=1
else
  missing "PyKX could not be installed"
fi

if command -v npm >/dev/null && npm install --silent --prefix "$environment/node" node-q@2.7.0 >/dev/null 2>&1; then
  ran=1
  NODE_PATH="$environment/node/node_modules" python3 tests/e2e/node_client_test.py "$@" || failed=1
else
  missing "node-q could not be installed (npm)"
fi

[[ $failed == 1 ]] && exit 1
[[ $ran == 1 ]] || exit 77

#!/usr/bin/env bash
# Runs the tests of the Python clients (PyKX, kola) and of examples/python with the versions in its requirements.txt,
# node_client_test.py with node-q 2.7.0 and jdbc_client_test.py with KX's JDBC driver, each in a throw-away environment. Clients
# that cannot be fetched or built are named and skipped; exit 77 if that is all of them.
# TICKSTACK_REQUIRE_CLIENTS=1: it fails instead.
# TICKSTACK_JDBC_SOURCE=DIR: a folder with the sources of the JDBC driver, which no package registry has:
#   git clone https://github.com/KxSystems/jdbc DIR/jdbc && git -C DIR/jdbc checkout 6ca64a3
#   git clone --branch 1.0 https://github.com/KxSystems/javakdb DIR/javakdb
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
  "$environment/python/bin/pip" install --quiet --disable-pip-version-check --retries 1 --timeout 20 \
    --requirement examples/python/requirements.txt; then
  ran=1
  export PYKX_UNLICENSED=true PYKX_SUPPRESS_WARNINGS=1
  for name in pykx_client kola_client python_examples; do
    "$environment/python/bin/python" "tests/e2e/${name}_test.py" "$@" || failed=1
  done
else
  missing "PyKX and kola could not be installed (examples/python/requirements.txt)"
fi

if command -v npm >/dev/null && npm install --silent --prefix "$environment/node" node-q@2.7.0 >/dev/null 2>&1; then
  ran=1
  NODE_PATH="$environment/node/node_modules" python3 tests/e2e/node_client_test.py "$@" || failed=1
else
  missing "node-q could not be installed (npm)"
fi

# The driver is one file and needs one more, version 1 of KX's client of the protocol.
# Prints the path of the file of this name and SHA-256 digest in $TICKSTACK_JDBC_SOURCE.
pinned() {
  find -L "$TICKSTACK_JDBC_SOURCE" -name "$1" -type f -exec sha256sum {} + | sed -n "s/^$2  //p" | head -n 1
}
driver="" protocol=""
if [[ -d ${TICKSTACK_JDBC_SOURCE:-} ]]; then
  driver=$(pinned jdbc.java bab00934c507273484f6bffd0ff8e29e05927603bce8022631533dabf27c408b)
  protocol=$(pinned c.java a0c04ffbde52e737c58dc06815c09d11abb5a8c922b0f3fdaff61838d3327f30)
fi
if ! command -v javac >/dev/null; then
  missing "the JDBC driver could not be built (no javac; install a JDK)"
elif [[ -z $driver || -z $protocol ]]; then
  missing "the JDBC driver could not be built (TICKSTACK_JDBC_SOURCE must name a folder with its sources; see $0)"
else
  ran=1
  mkdir "$environment/jdbc"
  if javac -nowarn -XDsuppressNotes -encoding UTF-8 -d "$environment/jdbc" "$driver" "$protocol" tests/e2e/JdbcClient.java; then
    CLASSPATH="$environment/jdbc" python3 tests/e2e/jdbc_client_test.py "$@" || failed=1
  else
    failed=1
  fi
fi

[[ $failed == 1 ]] && exit 1
[[ $ran == 1 ]] || exit 77

#!/usr/bin/env bash
# Runs archive_test.py with a real S3 service: versitygw, which serves a folder. It is built by Go, from the module proxy, into a
# throw-away folder (`make test-s3`). TICKSTACK_S3_GATEWAY: a program that is there already.
# TICKSTACK_REQUIRE_S3=1: a machine without Go fails instead of being skipped.
#
#   run_s3_test.sh --program build/release/cli/tickstack
set -euo pipefail
cd "$(dirname "$0")/../.."

skip() {
  echo "s3: $1" >&2
  [[ ${TICKSTACK_REQUIRE_S3:-0} == 1 ]] && exit 1
  exit 77
}

if [[ -z ${TICKSTACK_S3_GATEWAY:-} ]]; then
  go=$(command -v go || echo /usr/local/go/bin/go)
  [[ -x $go ]] || skip "no go; install it, or set TICKSTACK_S3_GATEWAY"
  folder=$(mktemp -d)
  trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
  (cd "$folder" && GOBIN=$folder GOFLAGS= "$go" install github.com/versity/versitygw/cmd/versitygw@v1.8.0) ||
    skip "versitygw could not be installed"
  export TICKSTACK_S3_GATEWAY=$folder/versitygw
fi
tests/e2e/archive_test.py "$@"

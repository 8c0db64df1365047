#!/usr/bin/env bash
# Runs standby_test.py, standby_etcd_test.py and standby_machines_test.py with a real etcd, Debian's etcd-server, which
# is fetched by apt into a throw-away folder and not installed: 8 MB (`make test-standby`).
# TICKSTACK_ETCD=PROGRAM: uses that etcd instead.
# TICKSTACK_REQUIRE_ETCD=1: a machine without it fails instead of being skipped.
#
#   run_standby_test.sh --program build/release/cli/tickstack [TEST...]
set -euo pipefail
cd "$(dirname "$0")/../.."

skip() {
  echo "standby: $1" >&2
  [[ ${TICKSTACK_REQUIRE_ETCD:-0} == 1 ]] && exit 1
  exit 77
}

if [[ -z ${TICKSTACK_ETCD:-} ]]; then
  if ! TICKSTACK_ETCD=$(command -v etcd); then
    command -v apt-get >/dev/null || skip "no etcd and no apt-get; set TICKSTACK_ETCD"
    environment=$(mktemp -d)
    trap 'rm -rf "$environment"' EXIT
    (cd "$environment" && apt-get download etcd-server >/dev/null 2>&1) || skip "etcd-server could not be fetched"
    dpkg -x "$environment"/etcd-server_*.deb "$environment"
    TICKSTACK_ETCD=$environment/usr/bin/etcd
  fi
fi
export TICKSTACK_ETCD
for test in standby_test standby_etcd_test standby_machines_test; do
  python3 "tests/e2e/$test.py" "$@"
done

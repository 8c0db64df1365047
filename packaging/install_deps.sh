#!/usr/bin/env bash
# install_deps.sh [LIST]: installs the missing Debian packages of LIST (debian-packages.txt) and prints their names.
# Does nothing if none is missing. On other systems it prints what is needed, and continues if the tools are
# found.
set -euo pipefail
cd "$(dirname "$0")"
list=${1:-debian-packages.txt}

mapfile -t packages < <(sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$list")

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "deps: not a Debian system, so nothing is installed. tickstack needs what these packages hold:" >&2
  sed -e '/^#/d' -e '/^$/d' -e 's/^/  /' "$list" >&2
  missing=()
  for tool in cmake ninja pkg-config python3; do
    command -v "$tool" >/dev/null || missing+=("$tool")
  done
  command -v "${CXX:-c++}" >/dev/null || missing+=("${CXX:-c++}")
  if ((${#missing[@]} > 0)); then
    echo "deps: not found: ${missing[*]}" >&2
    exit 1
  fi
  echo "deps: the tools are there; CMake will name a library that is not" >&2
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $status == installed ]] || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "deps: not root and no sudo; as root run: apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "deps: installing ${missing[*]}" >&2
# Without an update, a machine that was set up long ago would request versions that no longer exist.
"${as_root[@]}" apt-get update -qq >&2
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2

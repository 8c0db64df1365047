#!/usr/bin/env bash
# aarch64_sysroot.sh FOLDER: fetches the aarch64 libraries that tickstack is built with from Debian and unpacks
# them in FOLDER, for cross-compilation. The machine's own packages and package lists stay as they are.
set -euo pipefail
folder=$(realpath -m "$1")
list=$(dirname "$(realpath "$0")")/debian-packages.txt
if [[ -e $folder/complete && $folder/complete -nt $list ]]; then
  exit 0
fi
rm -rf "$folder"
mkdir -p "$folder"/apt/state/lists/partial "$folder"/apt/cache/archives/partial
: >"$folder/apt/status"  # Nothing is installed there, so all dependencies are fetched.

apt=(apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64
  -o Dir::State="$folder/apt/state" -o Dir::State::status="$folder/apt/status" -o Dir::Cache="$folder/apt/cache"
  -o APT::Sandbox::User="$(id -un)" -o Debug::NoLocking=1 -o APT::Install-Recommends=0)
mapfile -t packages < <(sed -e 's/#.*//' "$list" | grep -oE '^[a-z][^ ]*-dev')
"${apt[@]}" update >&2
"${apt[@]}" install -y --download-only libc6-dev libstdc++-12-dev "${packages[@]}" >&2
for package in "$folder"/apt/cache/archives/*.deb; do
  dpkg-deb -x "$package" "$folder"
done
# CMake files of some packages name /usr.
find "$folder/usr/lib" -name '*.cmake' -exec sed -i "s#\"/usr\([\"/]\)#\"$folder/usr\1#g" {} +
rm -rf "$folder/apt"
touch "$folder/complete"

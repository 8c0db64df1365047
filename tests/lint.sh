#!/usr/bin/env bash
# lint.sh all|changed BASE [SECONDS]: checks the format of all sources and the prose of lines that differ from
# BASE, then runs clang-tidy over all sources or those that differ (and those beside a header that does). After
# SECONDS it starts no further source and says how many are left; their order is random for each commit.
set -euo pipefail
cd "$(dirname "$0")/.."
scope=${1:-changed}
base=${2:-origin/main}
seconds=${3:-0}

git ls-files -z '*.h' '*.cc' | xargs -0 clang-format-19 --dry-run -Werror
git ls-files -z '*.py' | xargs -0 -r python3 -c '
import ast, sys
for path in sys.argv[1:]:
    ast.parse(open(path, encoding="utf-8").read(), path)'
git ls-files -z '*.sh' .ci/run | xargs -0 -r -n1 bash -n

if git rev-parse -q --verify "$base^{commit}" >/dev/null; then
  python3 tests/prose_lint.py "$(git merge-base "$base" HEAD)"
fi

if [[ $scope == all ]] || ! git rev-parse -q --verify "$base^{commit}" >/dev/null; then
  mapfile -t changed < <(git ls-files '*.h' '*.cc')
else
  mapfile -t changed < <(git diff --name-only --diff-filter=d "$(git merge-base "$base" HEAD)" -- '*.h' '*.cc')
fi
sources=()
for path in "${changed[@]}"; do
  case $path in
    *.cc) sources+=("$path") ;;
    *.h) for beside in "${path%.h}.cc" "${path%.h}_test.cc"; do
           [[ -e $beside ]] && sources+=("$beside")
         done ;;
  esac
done
if ((${#sources[@]} == 0)); then
  echo "lint: format is right; no source differs from $base"
  exit 0
fi
mapfile -t sources < <(printf '%s\n' "${sources[@]}" | sort -u | shuf --random-source=<(yes "$(git rev-parse HEAD)"))
left=$(mktemp)
trap 'rm -f "$left"' EXIT
export left deadline=$((seconds > 0 ? $(date +%s) + seconds : 0))
tidy() {
  if ((deadline > 0 && $(date +%s) >= deadline)); then
    echo "$1" >>"$left"
  else
    clang-tidy-19 -p build/dev-clang --quiet --warnings-as-errors='*' "$1"
  fi
}
export -f tidy
printf '%s\0' "${sources[@]}" | xargs -0 -P "$(nproc)" -n 1 bash -c 'tidy "$0"'
echo "lint: format and clang-tidy found nothing in $((${#sources[@]} - $(wc -l <"$left"))) sources; $(wc -l <"$left") not looked at, for want of time"

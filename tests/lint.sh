#!/usr/bin/env bash
# lint.sh all|changed BASE [SECONDS]: checks the format of all sources and the prose of lines that differ from
# BASE, then runs clang-tidy over all sources or those that differ (and those beside a header whose code does, not only
# its comments, which clang-tidy does not look at).
#
# Where nothing differs from BASE, as on a clone of the commit that is checked, the commit RECENT commits before
# takes its place, or the empty tree if the history is shorter.
# SECONDS, if not 0, bounds clang-tidy: then no further source is started, and the rest is counted. The order of
# sources is random for each commit. If there is a bound and no source differs, all sources are candidates.
# Exit status 1 also if clang-tidy was to run and did not look at a single source.
set -euo pipefail
cd "$(dirname "$0")/.."
scope=${1:-changed}
base=${2:-origin/main}
seconds=${3:-0}
RECENT=20

# Prints the commit or tree that sources are compared with.
comparison_base() {
  local common
  if common=$(git merge-base "$base" HEAD 2>/dev/null) && ! git diff --quiet "$common" --; then
    echo "$common"
  elif ! git rev-parse -q --verify "HEAD~$RECENT^{commit}"; then
    git hash-object -t tree /dev/null
  fi
}

git ls-files -z '*.h' '*.cc' | xargs -0 clang-format-19 --dry-run -Werror
git ls-files -z '*.py' | xargs -0 -r python3 -c '
import ast, sys
for path in sys.argv[1:]:
    ast.parse(open(path, encoding="utf-8").read(), path)'
git ls-files -z '*.sh' .ci/run | xargs -0 -r -n1 bash -n

from=$(comparison_base)
named=$(git log -1 --format='%h, %ci: %s' "$from" --)
echo "lint: compares with ${named:-the empty tree}"
python3 tests/prose_lint.py "$from"

if [[ $scope == all ]]; then
  mapfile -t changed < <(git ls-files '*.h' '*.cc')
else
  mapfile -t changed < <(
    git diff --name-only --diff-filter=d "$from" -- '*.cc'
    git diff --name-only --diff-filter=d -z "$from" -- '*.h' | xargs -0 -r python3 tests/code_differs.py "$from"
  )
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
if ((${#sources[@]} == 0 && seconds > 0)); then
  echo "lint: no source differs; all sources are candidates"
  mapfile -t sources < <(git ls-files '*.cc')
fi
if ((${#sources[@]} == 0)); then
  echo "lint: format is right; no source differs, so clang-tidy has nothing to check"
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
    clang-tidy-19 -p build/lint --quiet --warnings-as-errors='*' "$1"
  fi
}
export -f tidy
printf '%s\0' "${sources[@]}" | xargs -0 -P "$(nproc)" -n 1 bash -c 'tidy "$0"'
rest=$(wc -l <"$left")
checked=$((${#sources[@]} - rest))
echo "lint: format and clang-tidy found nothing in $checked sources; $rest not looked at, for want of time"
((checked > 0))

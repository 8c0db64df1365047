#!/usr/bin/env bash
# lint.sh all|changed BASE: checks the format of all sources and the prose of lines that differ from
# BASE, then runs clang-tidy over all sources or those that differ (and those beside a header that does).
set -euo pipefail
cd "$(dirname "$0")/.."
scope=${1:-changed}
base=${2:-origin/main}

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
printf '%s\n' "${sources[@]}" | sort -u |
  xargs -P "$(nproc)" -n 1 clang-tidy-19 -p build/dev-clang --quiet --warnings-as-errors='*'
echo "lint: format and clang-tidy are content with $(printf '%s\n' "${sources[@]}" | sort -u | wc -l) sources"

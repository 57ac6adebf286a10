#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs every fuzz target of the repository, one after another: fuzz.sh [TIME]   (10m)
set -euo pipefail
cd "$(dirname "$0")/.."

time=${1:-10m}
failed=()
while IFS=: read -r file target; do
  package=./$(dirname "$file") # entered, since the plugins have modules of their own
  printf '== %s %s for %s\n' "$package" "$target" "$time"
  go -C "$package" test -run '^$' -fuzz "^$target\$" -fuzztime "$time" . ||
    failed+=("$package $target")
done < <(git grep -oE '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' | sed 's/func //' | sort)

[ "${#failed[@]}" -eq 0 ] || { printf 'failed: %s\n' "${failed[@]}" >&2; exit 1; }

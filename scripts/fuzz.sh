#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs the repository's fuzz targets, one after another: fuzz.sh [TIME [WORD…]] (10m, all; else
# those whose package or name has a word)
set -euo pipefail
cd "$(dirname "$0")/.."

time=${1:-10m}
words=("${@:2}")

wanted() { # NAME
  local word
  [ "${#words[@]}" -gt 0 ] || return 0
  for word in "${words[@]}"; do
    case $1 in *"$word"*) return 0 ;; esac
  done
  return 1
}

failed=() ran=0
while IFS=: read -r file target; do
  package=./$(dirname "$file") # entered, since the plugins have modules of their own
  wanted "$package $target" || continue
  ran=$((ran + 1))
  printf '== %s %s for %s\n' "$package" "$target" "$time"
  go -C "$package" test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 1s . || # else it may spend all of a minute on one input
    failed+=("$package $target")
done < <(git grep -oE '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' | sed 's/func //' | sort)

[ "$ran" -gt 0 ] || { printf 'no fuzz target has one of these in its package or name: %s\n' "${words[*]}" >&2; exit 2; }
[ "${#failed[@]}" -eq 0 ] || { printf 'failed: %s\n' "${failed[@]}" >&2; exit 1; }

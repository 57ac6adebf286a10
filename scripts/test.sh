#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What `make test` runs once all is built: the tests, step by step.
#
#   test.sh            all steps
#   test.sh FROM       this step and those after it, to go on after a failure
#
# Steps run one at a time: two that compute share the processors badly, since the threads of a
# forward pass wait for each other. It stops at the first step that fails, and ends with a table
# of the steps and their seconds.
set -euo pipefail
cd "$(dirname "$0")/.."

# Each step is `make test-NAME`. The seconds are those of two quiet cores (docs/development.md).
steps=(
  'plugins 112 the SDKs, the example plugins, and from an empty folder to a plugin'
  'go 571 all Go packages, and whole hosts over HTTP'
  'race 288 what goroutines share, with the race detector'
  'web 413 the page, in a browser'
  'clients 46 official clients of other APIs'
  'gaps 56 how long streams wait for others'
)

# The processor time of all that this script has run so far, in seconds, but for browsers, which no
# test waits for: on a busy machine it tells more than the clock does.
processor_time() { awk -v clock="$(getconf CLK_TCK)" '{ printf "%d", ($16 + $17) / clock }' "/proc/$$/stat"; }

name() { cut -d ' ' -f 1 <<<"$1"; }
seconds() { cut -d ' ' -f 2 <<<"$1"; }
what() { cut -d ' ' -f 3- <<<"$1"; }

from=${1:-$(name "${steps[0]}")}
chosen=() total=0
for step in "${steps[@]}"; do
  [ "${#chosen[@]}" -gt 0 ] || [ "$(name "$step")" = "$from" ] || continue
  chosen+=("$step")
  total=$((total + $(seconds "$step")))
done
if [ "${#chosen[@]}" -eq 0 ]; then
  printf 'make test: there is no step %s; FROM is one of: %s\n' "$from" "$(for step in "${steps[@]}"; do name "$step"; done | xargs)" >&2
  exit 1
fi

printf 'make test: %d steps, about %d minutes on two quiet cores:\n' "${#chosen[@]}" $(((total + 59) / 60))
for step in "${chosen[@]}"; do printf '  %-10s %4d s  %s\n' "$(name "$step")" "$(seconds "$step")" "$(what "$step")"; done

rows=() failed=0
for step in "${chosen[@]}"; do
  printf '\n== %s (%d of %d): %s\n' "$(name "$step")" $((${#rows[@]} + 1)) "${#chosen[@]}" "$(what "$step")"
  start=$SECONDS used=$(processor_time) result=passed
  "${MAKE:-make}" --no-print-directory -j1 "test-$(name "$step")" || { result=FAILED failed=1; }
  rows+=("$(printf '  %-10s %4d s %4d s  %s' "$(name "$step")" $((SECONDS - start)) $(($(processor_time) - used)) "$result")")
  [ "$failed" = 0 ] || break
done

printf '\nmake test: %d s, %d s of processor time\n' "$SECONDS" "$(processor_time)"
printf '%s\n' "${rows[@]}"
[ "$failed" = 0 ] || printf 'once that is fixed, make test FROM=%s continues from this step\n' "$(name "$step")"
printf 'steps: %d passed, %d failed\n' $((${#rows[@]} - failed)) "$failed"
exit "$failed"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs the tests that draw by the day's seed with those of the days to come, so that no day brings
# a failure that nobody has caused:
#
#     days.sh DAYS [PACKAGE...]
set -euo pipefail

days=${1:?usage: days.sh DAYS [PACKAGE...]}
shift
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT

status=0
drawing='steadytest\.(Seed|Rand|Some)'
for package in $(go list -f '{{.Dir}}' "${@:-./...}"); do
  mapfile -t files < <(grep -lE "$drawing" "$package"/*_test.go 2>/dev/null)
  ((${#files[@]})) || continue
  tests=$(sed -nE 's/^func (Test[A-Za-z0-9_]+)\(.*/\1/p' "${files[@]}" | paste -sd'|')
  go test -c -vet=off -o "$here/package.test" "$package"
  for ((day = 0; day < days; day++)); do
    seed=$(date -u -d "+$day days" +%Y%m%d)000000
    if (cd "$package" && PENSTOCK_TEST_SEED=$seed "$here/package.test" -test.timeout 30m -test.run "^($tests)\$") >"$here/said" 2>&1; then
      echo "ok	$seed	$package"
    else
      status=1
      echo "FAIL	$seed	$package"
      cat "$here/said"
    fi
  done
done
exit $status

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs a command beside processes that only compute:
#
#     busy.sh PROCESSES COMMAND...
#
# They end with the command. Where this script is killed they see it within seconds, and after
# twelve hours they end in any case.
set -euo pipefail

n=${1:?usage: busy.sh PROCESSES COMMAND...}
shift

busy=()
trap 'kill "${busy[@]}" 2>/dev/null || true' EXIT
trap 'exit 130' INT TERM HUP
for ((i = 0; i < n; i++)); do
  # shellcheck disable=SC2016 # $1 is the inner shell's
  timeout 12h bash -c 'while kill -0 "$1" 2>/dev/null; do for ((j = 0; j < 1000000; j++)); do :; done; done' busy $$ &
  busy+=($!)
done
"$@"

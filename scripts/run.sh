#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Starts the server at once, and builds the plugins that come with it meanwhile, with what processor
# time the server leaves: they need compilers of their own, which take minutes the first time. A
# server finds them when they are there. The build ends with the server.
#
#   run.sh PROGRAM [ARGUMENT...]
set -euo pipefail
cd "$(dirname "$0")/.."

# It runs in a session of its own, so that it can end all that it has started and nothing else. Its
# standard input ends when the server does, however that ends.
bundle() {
  log=build/bundled.log
  (nice -n 19 make --no-print-directory bundled </dev/null >"$log" 2>&1 ||
    echo "The plugins that come with the server could not be built, so it runs without them; $log says why." >&2) &
  cat >/dev/null
  kill 0
}
export -f bundle

exec 3> >(exec setsid bash -c bundle)
exec "$@"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Has schemathesis send what docs/openapi.yaml describes, and what it does not, to a server with the
# built-in model: schemathesis.sh [EXAMPLES], which are for each operation.
# No answer may be a server's error, or one that the document does not describe. What is sent
# depends on PENSTOCK_TEST_SEED, which is the day's where it is not set.
set -euo pipefail
cd "$(dirname "$0")/.."

root=$PWD examples=${1:-50} seed=${PENSTOCK_TEST_SEED:-$(date -u +%Y%m%d)}
lock=tests/schemathesis/requirements.lock program=build/schemathesis

if ! cmp -s "$lock" "$program/installed"; then
  rm -rf "$program"
  python3 -m venv "$program"
  "$program/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: --require-hashes -r "$lock"
  cp "$lock" "$program/installed"
fi

# The server has an admin key, plugins and a folder of slots, so that no route is off.
folder=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; wait; rm -rf "$folder"' EXIT
mkdir "$folder/plugins" "$folder/slots"
cp build/plugins/min-p.wasm build/plugins/banned-phrases.wasm "$folder/plugins"
export XDG_CACHE_HOME=$folder/cache PENSTOCK_SERVER_ADMIN_KEY=key-of-schemathesis SCHEMATHESIS_HOOKS=$root/tests/schemathesis/hooks.py
coproc SERVER { exec bin/penstock serve --listen 127.0.0.1:0 --plugin-dir "$folder/plugins" --slot-save-path "$folder/slots" 2>"$folder/log"; }
server=$SERVER_PID
read -r url <&"${SERVER[0]}" || { cat "$folder/log" >&2; exit 1; } # the first thing it prints
url=${url%/}
curl -s --retry 60 --retry-connrefused --retry-delay 1 -o /dev/null --fail "$url/readyz"

# Profiles and traces take as many seconds as are asked for. A pull asks the hub, and the model
# folder is the user's.
printf 'PENSTOCK_TEST_SEED=%s draws the same again\n' "$seed"
cd "$folder" # it keeps its own files where it runs
if ! "$root/$program/bin/schemathesis" --config-file "$root/tests/schemathesis/schemathesis.toml" run "$root/docs/openapi.yaml" --url "$url" \
  --header "Authorization: Bearer $PENSTOCK_SERVER_ADMIN_KEY" --exclude-path-regex '^/(debug/pprof/(profile|trace)|api/(pull|delete))$' \
  --seed "$seed" --max-examples "$examples" --generation-database none --continue-on-failure --request-timeout 300 --warnings off --no-color; then
  grep -E '"level":"(ERROR|WARN)"|^panic|^goroutine' "$folder/log" | tail -n 40 >&2 || true
  exit 1
fi
kill -0 "$server" # it still runs

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Lists tools as people use them in build/tools-in-use.jsonl: those of bfcl-eval's data, and those
# that MCP's own servers say they have. All comes from PyPI and npm, by hash; none of it is ours to
# pass on. Instant where the list is there already.
set -euo pipefail
cd "$(dirname "$0")/.."

from=tests/toolsinuse into=build/tools-in-use.jsonl
stamp=$(cat "$from"/* "$0" | sha256sum)
if [ "$(cat "$into.stamp" 2>/dev/null)" = "$stamp" ]; then exit; fi

mkdir -p build
work=$(mktemp -d build/tools-in-use.XXXXXX)
trap 'rm -rf "$work"' EXIT
pip() { "$work/venv/bin/pip" "$@" --quiet --disable-pip-version-check --only-binary :all: --require-hashes; }

python3 -m venv "$work/venv"
pip install -r "$from/requirements.lock"
pip download --no-deps -r "$from/bfcl.lock" -d "$work"
python3 -m zipfile -e "$work"/bfcl_eval-*.whl "$work/bfcl"
cp "$from/package.json" "$from/package-lock.json" "$work"
npm --prefix "$work" ci --ignore-scripts --no-audit --no-fund --silent
export PATH=$PWD/$work/node_modules/.bin:$PATH # with a Node.js as new as the servers need, on Linux

python3 "$from/list.py" "$work/bfcl/bfcl_eval/data" "$work/node_modules" "$work/venv/bin" >"$work/list"
mv "$work/list" "$into"
printf '%s' "$stamp" >"$into.stamp"

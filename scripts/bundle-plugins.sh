#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Puts the plugins that a server comes with into a folder, with their index. They are the examples,
# as `make plugins` has built them, but for those that do in Rust what another does in Go.
#
#   bundle-plugins.sh PROGRAM FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."
program=${1:?usage: bundle-plugins.sh PROGRAM FOLDER} out=${2:?usage: bundle-plugins.sh PROGRAM FOLDER}

new=$out.new
rm -rf "$new"
mkdir -p "$new"
for example in plugins/examples/*/; do
  name=$(basename "$example")
  [ -f "$example/main.go" ] || [ -f "$example/Cargo.toml" ] || continue
  [ ! -d "plugins/examples/${name%-rust}" ] || [ "${name%-rust}" = "$name" ] || continue
  install -m 644 "build/plugins/$name.wasm" "$new/"
done

# A server may be using the folder, and making the index takes seconds: nothing is done where
# nothing has changed.
if [ "$out/index.json" -nt "$program" ] && diff -rq -x index.json "$new" "$out" >/dev/null; then
  rm -r "$new"
  exit 0
fi
"$program" plugin index "$new" --license MIT --source 'https://github.com/penstock/penstock/tree/main/plugins/examples/{name}' >/dev/null
chmod 644 "$new/index.json"
rm -rf "$out"
mv "$new" "$out"

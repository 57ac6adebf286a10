#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds the examples that are written in Rust as build/plugins/NAME.wasm, and installs Debian's
# Rust before if need be.
#
#   rust-plugins.sh         build
#   rust-plugins.sh test    run the native tests of the SDK and of the examples
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh rust
out=$PWD/build/plugins
cd plugins # its .cargo/config.toml has the flags

if [ "${1:-}" = test ]; then
  exec /usr/bin/cargo test --quiet --locked --offline --workspace
fi
# Paths of this machine stay out of the modules, which are the same wherever they are built.
/usr/bin/cargo build --quiet --config "target.wasm32-unknown-unknown.rustflags=['--remap-path-prefix=$PWD=plugins']" --release --locked --offline --target wasm32-unknown-unknown
mkdir -p "$out"
for built in "$out"/*-rust.wasm; do # tests take what is there for the examples of today
  [ -d "examples/$(basename "$built" .wasm)" ] || rm -f "$built"
done
for manifest in examples/*/Cargo.toml; do
  name=$(basename "$(dirname "$manifest")")
  built=../build/rust/wasm32-unknown-unknown/release/${name//-/_}.wasm
  cmp -s "$built" "$out/$name.wasm" || cp "$built" "$out/$name.wasm" # a host that watches the folder sees no change
done

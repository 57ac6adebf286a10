#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs the Rust that builds plugins: Debian's own packages (rustc 1.63 in bookworm, with the
# standard library for wasm32 and the linker). It is instant, and touches no network, where they
# are there. Any other rustc on PATH is left alone: the build asks for /usr/bin/rustc by name.
set -euo pipefail

packages=(rustc cargo libstd-rust-dev-wasm32 lld-14 gcc libc6-dev)

say() { printf 'rust: %s\n' "$*" >&2; }
fail() { say "$@"; exit 1; }

ready() {
  [ -x /usr/bin/rustc ] && [ -x /usr/bin/cargo ] && command -v rust-lld wasm-ld-14 wasm-ld >/dev/null &&
    [ -d "$(/usr/bin/rustc --print target-libdir --target wasm32-unknown-unknown)" ]
}

ready && exit 0
command -v apt-get >/dev/null ||
  fail "install rustc and cargo 1.63 or newer under /usr/bin, with the target wasm32-unknown-unknown (Debian's names: ${packages[*]})"
as=()
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || fail "run this as root, or install sudo, or install these yourself: ${packages[*]}"
  as=(sudo)
fi
say "installing ${packages[*]}"
"${as[@]}" apt-get update -qq </dev/null || fail "apt-get update failed; check the network and run the same command again"
"${as[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" </dev/null >/dev/null ||
  fail "apt-get could not install ${packages[*]}, see above; fix that and run the same command again"
ready || fail "still missing after installing: rustc or cargo in /usr/bin, the target wasm32-unknown-unknown, or wasm-ld"

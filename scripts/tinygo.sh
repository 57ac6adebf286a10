#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Puts TinyGo into build/tools/tinygo and prints the path of its command. Instant where it is there
# already.
#
# It is built from its Go module, which is pinned by sum, against Debian's LLVM. The module comes
# without TinyGo's git submodules; of those a plugin needs only two small C libraries, and they are
# taken from Debian too.
set -euo pipefail
cd "$(dirname "$0")/.."

version=v0.41.1
sum='h1:Hp1Frc4zQALL88t49XraSZEwkIYEjMOmmurlmsTigzE='
llvm=19 # setup.sh installs its packages
prefix=$PWD/build/tools/tinygo

say() { printf 'tinygo: %s\n' "$*" >&2; }
fail() { say "$@"; exit 1; }
has() { command -v "$1" >/dev/null 2>&1; }

# The stamp says from what the folder was made, so a change of this script's pins makes it anew.
stamp="$version $sum llvm$llvm 1"
if [ "$(cat "$prefix/stamp" 2>/dev/null)" = "$stamp" ] && has "wasm-ld-$llvm"; then
  printf '%s\n' "$prefix/bin/tinygo"
  exit 0
fi

# A module's sum is what Go itself would compare in a go.sum.
fetch() {
  local found json
  json=$(cd / && GOFLAGS='' GOWORK=off go mod download -json "github.com/tinygo-org/tinygo@$version") ||
    fail "could not fetch the module: $json"
  found=$(sed -n 's/.*"Sum": "\(.*\)",/\1/p' <<<"$json")
  [ "$found" = "$sum" ] || fail "$version has the sum $found, not $sum: do not use it"
  sed -n 's/.*"Dir": "\(.*\)",/\1/p' <<<"$json"
}

# The target of the Go SDK names these two under TinyGo's own root.
link_libraries() {
  mkdir -p "$1/lib/wasm32"
  ln -s "/usr/lib/llvm-$llvm/lib/clang/$llvm/lib/wasi/libclang_rt.builtins-wasm32.a" "$1/lib/wasm32/builtins.a"
  ln -s /usr/lib/wasm32-wasi/libc.a "$1/lib/wasm32/libc.a"
  if [ ! -e "$1/lib/wasm32/builtins.a" ] || [ ! -e "$1/lib/wasm32/libc.a" ]; then fail 'the C libraries are not where Debian has them'; fi
}

has dpkg-query || fail "needs Debian or Ubuntu; elsewhere install TinyGo $version from its own site and build with TINYGO=tinygo"
scripts/setup.sh tinygo
source=$(fetch)
mkdir -p "${prefix%/*}"
work=$(mktemp -d "${prefix%/*}/tinygo.XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
cp -r "$source/." "$work/"
chmod -R u+w "$work"
mkdir -p "$work/src/net" # a git submodule; TinyGo wants the folder to exist
link_libraries "$work"
say "building $version (about two minutes of CPU time)"
(cd "$work" && GOFLAGS='' GOWORK=off CGO_ENABLED=1 go build -tags "llvm$llvm" -ldflags='-s -w' -o bin/tinygo .) >&2
printf '%s\n' "$stamp" >"$work/stamp"
rm -rf "$prefix"
mv "$work" "$prefix"
say "$("$prefix/bin/tinygo" version)"
printf '%s\n' "$prefix/bin/tinygo"

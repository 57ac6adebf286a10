#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs what building and testing need and this machine lacks.
#
#   setup.sh          what `make build` and `make run` need
#   setup.sh test     that and what `make test` and `make check` need
#   setup.sh tinygo   what building TinyGo and plugins with it needs
#   setup.sh rust     what building plugins in Rust needs: Debian's own packages (rustc 1.63 in
#                     bookworm, with the standard library for wasm32 and the linker). Any other
#                     rustc on PATH is left alone: the build asks for /usr/bin/rustc by name
#   setup.sh dist     what `make build` and `make dist-test` need
#   setup.sh arm64    what `make build` and `make arm64-test` need
#   setup.sh compilers  what `make build` needs, and for `make compilers` those of GCC 11 to 14 and
#                       clang 14 to 19 that apt offers
#   setup.sh vulkan   what `make build` needs, and for BACKEND=vulkan, with a device in software
#                     where there is no driver
#
# Debian and Ubuntu: with apt, as root or through sudo. Elsewhere it lists what to install and
# stops. It is instant, and touches no network, where nothing is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

# Go's own installer puts it here, and login shells alone have that on PATH.
export PATH=$PATH:/usr/local/go/bin
min_go=1.26 min_node=18.19

say() { printf 'setup: %s\n' "$*" >&2; }
fail() { say "$@"; exit 1; }
has() { command -v "$1" >/dev/null 2>&1; }
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# `go version` inside a module already downloads the toolchain go.mod asks for, where GOTOOLCHAIN
# allows it.
go_ok() {
  has go || return 1
  local found
  found=$(go version 2>/dev/null | sed -n 's/^go version go\([0-9.]*\).*/\1/p')
  [ -n "$found" ] && at_least "$found" "$min_go"
}
node_ok() { has node && has npm && at_least "$(node --version | tr -d v)" "$min_node"; }
browser_ok() { [ -n "${CHROMIUM:-}" ] || [ -x /usr/lib/chromium/chromium-headless-shell ] || has chromium || has chromium-browser || has google-chrome; }

there() { # whether any of them is
  local path
  for path in "$@"; do [ ! -e "$path" ] || return 0; done
  return 1
}

missing=()
need() { has "$1" || missing+=("$2"); }

# Debian's lies where only root's PATH looks.
need_haproxy() { has haproxy || [ -x /usr/sbin/haproxy ] || missing+=(haproxy); }

# Libraries, of which no command tells whether they are there.
need_packages() {
  local package
  if ! has dpkg-query; then missing+=("$@"); return; fi
  for package in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
}

rust_ok() {
  [ -x /usr/bin/rustc ] && [ -x /usr/bin/cargo ] && { has rust-lld || has wasm-ld-14 || has wasm-ld; } &&
    [ -d "$(/usr/bin/rustc --print target-libdir --target wasm32-unknown-unknown)" ]
}

# Version 19 of LLVM, as scripts/tinygo.sh links it.
find_missing_tinygo() { need_packages llvm-19-dev libclang-19-dev clang-19 lld-19 binaryen wasi-libc libclang-rt-19-dev-wasm32; }
find_missing_script() {
  need cargo cargo
  need patch patch
  need_packages clang-19 lld-19 wasi-libc libclang-rt-19-dev-wasm32
}
find_missing_rust() { rust_ok || missing+=(rustc cargo libstd-rust-dev-wasm32 lld-14 gcc libc6-dev); }

# By the whole name, since apt takes one that it does not know for a pattern.
offered() { apt-cache policy "$1" 2>/dev/null | grep -A 2 -Fx "$1:" | grep -q 'Candidate: [0-9]'; }

# Versions of a compiler, as far as apt offers them.
need_versions() { # COMMAND PACKAGE VERSION...
  local command=$1 package=$2 version
  shift 2
  for version in "$@"; do
    has "$command-$version" || ! offered "$package-$version" || missing+=("$package-$version")
  done
}

find_missing() {
  missing=()
  case $1 in tinygo | rust | script) "find_missing_$1"; return ;; esac
  need make make
  need git git
  need gcc gcc
  need c++ g++
  need ar binutils
  need cmake cmake
  need ninja ninja-build
  need openssl openssl
  need curl curl
  go_ok || missing+=(golang-go)
  node_ok || missing+=(nodejs npm)
  if [ "$1" = vulkan ]; then
    need glslc glslc
    [ -n "${VULKAN_SDK:-}" ] || there /usr/include/vulkan/vulkan.hpp || missing+=(libvulkan-dev)
    [ -n "${VULKAN_SDK:-}" ] || there /usr/share/cmake/SPIRV-Headers || missing+=(spirv-headers)
    there /usr/share/vulkan/icd.d/*.json /etc/vulkan/icd.d/*.json || missing+=(mesa-vulkan-drivers)
  fi
  [ "$1" != dist ] || need qemu-x86_64 qemu-user
  if [ "$1" = arm64 ]; then
    need aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
    need aarch64-linux-gnu-g++ g++-aarch64-linux-gnu
    need qemu-aarch64 qemu-user
  fi
  if [ "$1" = compilers ]; then
    need_versions g++ g++ 11 12 13 14
    need_versions clang++ clang 14 15 16 17 18 19
  fi
  if [ "$1" = test ]; then
    browser_ok || missing+=(chromium-headless-shell)
    need shellcheck shellcheck
    need jq jq # docs/plugins/scripts.md
    /usr/bin/python3 -c 'import jinja2' 2>/dev/null || python3 -c 'import jinja2' 2>/dev/null || missing+=(python3-jinja2) # host/jinja is compared with it
    python3 -m pip --version >/dev/null 2>&1 || missing+=(python3-pip) # scripts/models.sh fetches with it
    python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv) # scripts/schemathesis.sh runs in one
    ! has dpkg-query || find_missing_tinygo # elsewhere TINYGO names one
    find_missing_rust
    [ "$(uname)" != Linux ] || { need systemd-analyze systemd; need_haproxy; }
  fi
}

# A distribution's Go or Node.js may be too old to be of use; then it must not be installed for
# nothing.
refuse_old() {
  local package=$1 min=$2 name=$3 offered
  offered=$(apt-cache policy "$package" 2>/dev/null | sed -n 's/^ *Candidate: \([0-9]*:\)\{0,1\}\([0-9.]*\).*/\2/p')
  at_least "${offered:-0}" "$min" ||
    fail "$name $min or newer is needed and this distribution has ${offered:-none}; install $name from its own site, put it on PATH and run the same command again"
}

install_with_apt() {
  local as=()
  if [ "$(id -u)" != 0 ]; then
    has sudo || fail "run this as root, or install sudo, or install these yourself: ${missing[*]}"
    as=(sudo)
  fi
  say "installing ${missing[*]}"
  "${as[@]}" apt-get update -qq </dev/null || fail "apt-get update failed; check the network and run the same command again"
  case " ${missing[*]} " in *" golang-go "*) refuse_old golang-go 1.21 Go ;; esac # 1.21 fetches a newer one by itself
  case " ${missing[*]} " in *" nodejs "*) refuse_old nodejs "$min_node" Node.js ;; esac
  "${as[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" </dev/null >/dev/null ||
    fail "apt-get could not install ${missing[*]}, see above; fix that and run the same command again"
}

goal=${1:-build}
find_missing "$goal"
[ "${#missing[@]}" -gt 0 ] || exit 0

# Two goals of make may ask at once, and apt-get refuses a second run of itself.
if has flock; then
  exec 9>"${TMPDIR:-/tmp}/penstock-setup-$(id -u).lock"
  flock 9
  find_missing "$goal"
  [ "${#missing[@]}" -gt 0 ] || exit 0
fi

has apt-get || fail "install these with this system's package manager (names are Debian's; Go $min_go, Node.js $min_node or newer; rustc and cargo in /usr/bin): ${missing[*]}"
install_with_apt
find_missing "$goal"
[ "${#missing[@]}" -eq 0 ] || fail "still missing or too old after installing: ${missing[*]} (Go $min_go and Node.js $min_node or newer are needed)"

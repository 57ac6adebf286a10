#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Compiles what Penstock adds to llama.cpp with other compilers, where every warning is an error,
# and has each one's kernels checked: those for this CPU, and those for lesser ones. Those for
# AVX-512 and for any x86-64 are only compiled. The rest of what they are linked with is what `make
# build` has built, which stays as it is.
#
#   compilers.sh [COMPILER...]     g++-11 clang++-14 ...; without any, GCC 11 to 14 and clang 14 to
#                                  19 as far as apt offers them, which it installs, and what else
#                                  of this kind lies in /usr/bin
set -euo pipefail
cd "$(dirname "$0")/.."
shopt -s nullglob

fail() { printf 'compilers: %s\n' "$*" >&2; exit 1; }
[ "$(uname -s -m)" = "Linux x86_64" ] || fail "this is for x86-64 Linux; for 64-bit ARM there is scripts/arm64.sh"
grep -qw avx2 /proc/cpuinfo || fail "this CPU has no AVX2, and so cannot run the kernels for it"

compilers=("$@")
if [ "${#compilers[@]}" = 0 ]; then
  scripts/setup.sh compilers
  for path in /usr/bin/g++-[0-9]* /usr/bin/clang++-[0-9]*; do compilers+=("${path##*/}"); done
fi
[ "${#compilers[@]}" -gt 0 ] || fail "there is no /usr/bin/g++-N and no /usr/bin/clang++-N: install some, or name one"
for compiler in "${compilers[@]}"; do
  command -v "$compiler" >/dev/null || fail "$compiler is not installed (Debian: apt-get install ${compiler/#clang++/clang})"
done

BACKEND=cpu native/llama.cpp/build.sh build/llama.cpp
work=$(cd -P build/llama.cpp/out/.. && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The flags of each of our files, and its name. llama.cpp's headers are the system's here: what
# compilers say of them is not asked. What is compiled together counts one by one.
ninja -C "$work" -t commands penstock_shim | awk -v here="$PWD/native/llama.cpp" '
  function ours(file) {
    for (i = 1; i < NF; i++) {
      if ($i == "-o") $i = $(i + 1) = ""
      if ($i ~ /^-I/ && index($i, "-I" here) != 1) sub(/^-I/, "-isystem ", $i)
    }
    $NF = file
    print substr($0, index($0, " -") + 1)
  }
  index($NF, here "/") == 1 { ours($NF) }
  /penstock_shim\.dir\/Unity\/[^ ]*$/ {
    unity = $NF
    while ((getline line < unity) > 0) if (split(line, part, "\"") == 3) ours(part[2])
  }' | sed 's/ -M[DTF] *[^ ]*\.[^ ]*\| -M[DTF]//g; s/ -c / /' >"$scratch/flags"
for file in kernels/products shim/model; do
  grep -q "/$file\.cpp\$" "$scratch/flags" || fail "ninja in $work has no command for $file.cpp"
done

# compile FOLDER MORE PATTERN: the files that match, into a folder, as many at a time as there are
# processors.
compile() {
  mkdir "$1"
  # shellcheck disable=SC2016  # the inner shell's
  grep -E "$3" "$scratch/flags" | (cd "$work" && xargs -d '\n' -n 1 -P "$(nproc)" sh -c '
    out=$0/$(basename "${4##* }" .cpp).o
    exec $1 $4 -Wall -Wextra -Wno-unused-parameter -Werror $2 $3 -c -o "$out"' "$1" "$compiler" "$own" "$2")
}

check() { # NAME MORE
  compile "$scratch/$1" "$2" '/kernels/[^/]*\.cpp$'
  "$compiler" -O2 -I native/llama.cpp -I native/llama.cpp/shim -o "$scratch/$1/check" native/testdata/kernelcheck.cpp "$scratch/$1"/*.o \
    build/llama.cpp/out/lib/libpenstock_llama.a -lm -lpthread -ldl
  "$scratch/$1/check" | sed "s/^/$compiler, $1: /"
}

for compiler in "${compilers[@]}"; do
  own=
  case "$("$compiler" --version)" in
    *clang*) own="-Wno-unknown-warning-option -Wno-deprecated-declarations" ;; # libstdc++ 12's sorting calls what it deprecates
  esac
  printf '== %s\n' "$("$compiler" --version | sed 1q)"
  compile "$scratch/shim" -fsyntax-only '/(shim|sampling|rpc)/[^/]*\.cpp$'
  check native ""
  check narrow -DPENSTOCK_NARROW
  check haswell -march=haswell
  check nehalem -march=nehalem
  for cpu in x86-64 x86-64-v4 cascadelake; do # as `make check` does: this CPU may be unable to run them
    compile "$scratch/$cpu" "-march=$cpu" '/kernels/[^/]*\.cpp$'
  done
  rm -r "${scratch:?}"/*/
done

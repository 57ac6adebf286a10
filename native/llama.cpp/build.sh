#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds llama.cpp and what Penstock adds to it. A stamp makes a second run instant.
#
#   build.sh DEST              the library Go links, in DEST/out: headers, one static library,
#                              what Go must know of it
#   build.sh DEST levels       the same in DEST/levels, with the CPU's kernels for each level of
#                              levels.txt, one of which is chosen at start
#   build.sh DEST tools        llama-bench, llama-batched-bench, llama-quantize, llama-server of
#                              the same configuration
#   build.sh DEST server       of these llama-server alone, with which tests compare answers
#   build.sh DEST archs        llama.cpp's test-llama-archs, which writes a random model of each
#                              architecture
#
# Each configuration (backend, flags, compilers, the CPU where it is built for this one) has a
# folder of its own in DEST. So no build uses leftovers of another, and going back to one is quick.
# DEST/out is a link to the one asked for last.
#
# Environment: BACKEND=cpu|cuda|vulkan|metal|auto (auto), NATIVE=ON|OFF (ON: use all this CPU
# offers), OPENMP=ON|OFF (OFF: see docs/rationale.md), PENSTOCK_KERNELS=ON|OFF (ON: our kernels for
# the CPU), CMAKE_ARGS (more, passed on), PENSTOCK_SANITIZED=ON|OFF (OFF: our part with the
# sanitizers, for `go test -asan`), LLAMA_CPP_DIR (a source tree of your own), CC, CXX, AR, JOBS.
# PENSTOCK_AUTO is set by this script for itself.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:?usage: build.sh DEST [levels|tools|server|archs]}"
dest=$(cd "$1" && pwd)
goal=${2:-library}
export CC=${CC:-cc} CXX=${CXX:-c++} AR=${AR:-ar}

has() { command -v "$1" >/dev/null; }
say() { printf 'llama.cpp: %s\n' "$*" >&2; }
fail() {
  # What `auto` failed to build is not tried again until something changes.
  if [ -n "${PENSTOCK_AUTO:-}" ] && [ -n "${stamp:-}" ]; then printf '%s\n' "$stamp" >"$work.failed"; fi
  say "$@"
  exit 1
}

if [ "${BACKEND:-auto}" = auto ]; then
  if [ "$(uname -s)" = Darwin ]; then
    BACKEND=metal
  elif ! has nvcc; then
    BACKEND=cpu
  elif PENSTOCK_AUTO=1 BACKEND=cuda "$0" "$@"; then
    exit 0
  else
    say "the CUDA toolkit of $(command -v nvcc) is there but does not work here, so this is a build for the CPU; 'BACKEND=cuda make build' shows what is wrong"
    BACKEND=cpu
  fi
fi

backend=$BACKEND
case "$backend" in
  cuda) has nvcc || fail "BACKEND=cuda needs nvcc of the CUDA toolkit on PATH"; flags="-DGGML_CUDA=ON" ;;
  vulkan) has glslc || fail "BACKEND=vulkan needs glslc and headers (Debian: glslc libvulkan-dev spirv-headers)"; flags="-DGGML_VULKAN=ON" ;;
  metal) [ "$(uname -s)" = Darwin ] || fail "BACKEND=metal is for macOS only"; flags="-DGGML_METAL=ON -DGGML_METAL_EMBED_LIBRARY=ON" ;;
  cpu) flags="-DGGML_METAL=OFF -DGGML_BLAS=OFF -DGGML_ACCELERATE=OFF" ;;
  *) fail "BACKEND=$backend is not known; use cpu, cuda, vulkan, metal or auto" ;;
esac

if [ "$goal" = levels ]; then
  [ "$(uname -s -m) $backend" = "Linux x86_64 cpu" ] || fail "levels are for x86-64 Linux and BACKEND=cpu; this is $(uname -s -m) and BACKEND=$backend"
  NATIVE=OFF
  flags="$flags -DPENSTOCK_LEVELS=ON"
  for feature in SSE42 AVX AVX2 BMI2 FMA F16C; do flags="$flags -DGGML_$feature=OFF"; done
fi
[ "${PENSTOCK_SANITIZED:-OFF}" = OFF ] || flags="$flags -DPENSTOCK_SANITIZED=ON"

for tool in cmake ninja "${CXX%% *}" "$AR"; do
  has "$tool" || fail "$tool is not installed; run 'make setup'"
done

source_dir=$("$here/fetch.sh" "$dest")
flags="$flags -DGGML_NATIVE=${NATIVE:-ON} -DGGML_OPENMP=${OPENMP:-OFF} -DPENSTOCK_KERNELS=${PENSTOCK_KERNELS:-ON} ${CMAKE_ARGS:-}"

# What "native" means here: such code may not run on another machine, even from this very folder.
this_machine() {
  [ "${NATIVE:-ON}" != OFF ] || return 0
  uname -m
  $CXX -march=native -dM -E -x c++ - </dev/null 2>/dev/null || $CXX -mcpu=native -dM -E -x c++ - </dev/null 2>/dev/null || true
  [ "$backend" != cuda ] || nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null || true
}

configuration() {
  printf '%s\n' "$backend" "$flags" "$dest" "$source_dir" "$CC" "$CXX" "${CFLAGS:-}" "${CXXFLAGS:-}" "${LDFLAGS:-}" \
    "${CUDACXX:-}" "${CUDAFLAGS:-}" "${CUDAARCHS:-}" "${VULKAN_SDK:-}" "${CMAKE_PREFIX_PATH:-}"
  $CC --version
  $CXX --version
  [ "$backend" != cuda ] || { command -v nvcc; nvcc --version || true; }
  this_machine
}

digest() { openssl dgst -sha256 | awk '{print $NF}' | cut -c1-"$1"; }

id=$(configuration | digest 8)
name=$backend-$id
work=$dest/$name
out=$work/out

# What the library is made of: its configuration, the pin (or the head of the user's own tree) and
# our part.
stamp=$({
  printf '%s\n' "$name"
  if [ -n "${LLAMA_CPP_DIR:-}" ]; then
    git -C "$source_dir" rev-parse HEAD 2>/dev/null || true
    git -C "$source_dir" diff HEAD 2>/dev/null | cksum
  fi
  find "$here" -type f | sort | xargs cat
} | digest 16)

if [ -n "${PENSTOCK_AUTO:-}" ] && [ "$(cat "$work.failed" 2>/dev/null)" = "$stamp" ]; then exit 1; fi

# Points DEST/out to this configuration; DEST/levels is a link of its own, so that `make dist`
# leaves alone what `make build` has built. Go does not notice changed archives: a changed file of
# package native makes it link and test again.
choose() {
  if [ "$goal" = levels ]; then
    ln -sfn "$name/out" "$dest/levels"
    return
  fi
  if [ "$(readlink "$dest/out")" != "$name/out" ]; then
    rm -rf "$dest/out"
    ln -s "$name/out" "$dest/out"
    touch "$out/stamp" # make goes by the time
  fi
  if [ "$dest" -ef "$here/../../build/llama.cpp" ]; then
    cmp -s "$out/zz_stamp.go" "$here/../zz_stamp.go" || cp "$out/zz_stamp.go" "$here/../zz_stamp.go"
  fi
}

if [[ $goal =~ ^(library|levels)$ ]] && [ "$(cat "$out/stamp" 2>/dev/null)" = "$stamp" ]; then choose; exit 0; fi

say "building for $backend (a first build takes some minutes; it goes on where it stopped)"
# shellcheck disable=SC2086  # the flags are words
cmake -S "$here" -B "$work" -G Ninja -DCMAKE_BUILD_TYPE=Release -DLLAMA_SOURCE="$source_dir" $flags >"$work.log" 2>&1 || {
  [ -n "${PENSTOCK_AUTO:-}" ] || tail -n 30 "$work.log" >&2
  fail "cmake could not configure the build (whole log: $work.log); fix what it names and run the same command again"
}

build() { cmake --build "$work" ${JOBS:+-j "$JOBS"} --target "$@" >&2 || fail "the build failed, see above; run the same command again to go on from there ($work)"; }

programs() { # into DEST/tools
  build "$@"
  mkdir -p "$dest/tools"
  for program in "$@"; do
    cp "$(find "$work" -type f -name "$program" -perm -u+x | sed 1q)" "$dest/tools/"
  done
}

case "$goal" in
  tools) programs llama-bench llama-batched-bench llama-quantize llama-server; exit 0 ;;
  server) programs llama-server; exit 0 ;;
  archs) programs test-llama-archs; exit 0 ;;
esac

build penstock_shim penstock_probe
[ "$goal" != levels ] || build penstock_levels
if [ -n "${PENSTOCK_AUTO:-}" ]; then
  "$work/penstock_probe" >>"$work.log" 2>&1 || fail "what was built for $backend does not start (log: $work.log); a driver may be missing"
fi

# The words of CMake's own command for linking a program with the shim: our archives, and what else
# the backend needs.
link_words() {
  ninja -C "$work" -t commands penstock_probe | tail -n 1 | sed 's/ && :$//' | xargs -n 1 printf '%s\n' |
    awk 'after > 1 { print } after { after++ } $0 == "-o" { after = 1 }'
}

archives() { link_words | grep '^[^-/].*\.a$' | sort -u | sed "s|^|$work/|"; }

# Stubs of a driver are for linking only.
link_flags() {
  link_words | grep -v '^[^-/].*\.a$' | awk '
    BEGIN { rpath = "-Wl,-rpath," }
    index($0, rpath) == 1 {
      n = split(substr($0, length(rpath) + 1), folders, ":"); kept = ""
      for (i = 1; i <= n; i++) if (folders[i] != "" && folders[i] !~ /\/stubs$/) kept = kept (kept == "" ? "" : ":") folders[i]
      $0 = kept == "" ? "" : rpath kept
    }
    $0 != "" { print / / ? "\"" $0 "\"" : $0 }' | paste -s -d ' ' -
}

scratch=$(mktemp -d "$work/out.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/lib"
if [ "$(uname -s)" = Darwin ]; then
  # shellcheck disable=SC2046
  libtool -static -o "$scratch/lib/libpenstock_llama.a" $(archives) 2>/dev/null
else
  mapfile -t merged < <(archives)
  if [ "$goal" = levels ]; then # which have ggml-cpu several times
    "$here/levels.sh" "$work" "${merged[@]}"
    mapfile -t merged < <(printf '%s\n' "${merged[@]}" | grep -v '/libggml-cpu\.a$'; ls "$work"/levels/*.o)
  fi
  {
    echo "create $scratch/lib/libpenstock_llama.a"
    for part in "${merged[@]}"; do case "$part" in *.a) echo "addlib $part" ;; *) echo "addmod $part" ;; esac done
    echo save
    echo end
  } | "$AR" -M
fi
cp -r "$source_dir/include" "$scratch/include"
cp "$source_dir"/ggml/include/*.h "$scratch/include/"
printf '%s\n' "$stamp" >"$scratch/stamp"
cat >"$scratch/zz_stamp.go" <<GO
// Code generated by native/llama.cpp/build.sh. DO NOT EDIT.

package native

// #cgo LDFLAGS: $(link_flags)
import "C"

func init() { buildStamp, buildBackend = "$stamp", "$backend" }
GO
rm -rf "$out"
mv "$scratch" "$out"
choose
rm -f "$work.failed"

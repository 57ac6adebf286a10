#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds Penstock for 64-bit ARM with a cross compiler, and has QEMU run the kernels' tests, the
# built-in model's golden answers and the program itself. What `make build` has built stays as it
# is. It installs what it needs.
#
#   arm64.sh [ARCH CPU]    one of GCC's architectures and a CPU of QEMU that has it; without them,
#   those of the two lines below
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { printf 'arm64: %s\n' "$*" >&2; exit 1; }
[ "$(uname -s -m)" != "Linux aarch64" ] || fail "this machine is one of 64-bit ARM: make test tests it"
[ "$(uname -s)" = Linux ] || fail "QEMU runs programs of Linux on Linux only; this is $(uname -s)"
if [ $# = 0 ]; then
  "$0" armv8.2-a+dotprod+fp16 neoverse-n1 # servers and phones since 2018: with our products
  "$0" armv8-a cortex-a57                 # what every CPU has: with ggml's
  exit
fi
arch=${1:?} cpu=${2:?usage: arm64.sh [ARCH CPU]}

scripts/setup.sh arm64
LLAMA_CPP_DIR=$(native/llama.cpp/fetch.sh build/llama.cpp)
LLAMA_CPP_DIR=$(cd "$LLAMA_CPP_DIR" && pwd)
export LLAMA_CPP_DIR CC=aarch64-linux-gnu-gcc CXX=aarch64-linux-gnu-g++ AR=aarch64-linux-gnu-ar
root=$PWD out=$PWD/build/arm64/out
NATIVE=OFF BACKEND=cpu CMAKE_ARGS="-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DGGML_CPU_ARM_ARCH=$arch" \
  native/llama.cpp/build.sh build/arm64

export QEMU_CPU=$cpu QEMU_LD_PREFIX=/usr/aarch64-linux-gnu
export GOARCH=arm64 CGO_ENABLED=1 CGO_CFLAGS="-O2 -I$out/include" CGO_LDFLAGS="-L$out/lib"
printf '{"Replace": {"%s/native/zz_stamp.go": "%s/zz_stamp.go"}}\n' "$root" "$out" >build/arm64/overlay.json
overlay=(-overlay "$root/build/arm64/overlay.json")

printf '== %s on %s\n' "$arch" "$cpu"
$CXX -O2 -I native/llama.cpp -I native/llama.cpp/shim -o build/arm64/kernelcheck native/testdata/kernelcheck.cpp "$out/lib/libpenstock_llama.a" -lm -lpthread -ldl
qemu-aarch64 build/arm64/kernelcheck
tests='Products_|Attention_(Guarded|Any|Odd)|CheckKernel|BuiltInModelGreedy|OwnKernels_Layout'
go test "${overlay[@]}" -exec qemu-aarch64 -count 1 -timeout 30m -v -run "$tests" ./native | grep --line-buffered -E '^(--- |ok|FAIL|panic)|SKIPPED|_test.go'

go build "${overlay[@]}" -trimpath -o build/arm64/penstock.elf ./cmd/penstock
qemu-aarch64 build/arm64/penstock.elf version

# The program starts itself to try a model, and the kernel cannot start what is for ARM. So the
# children's name has to be that of a script that has QEMU run them. The parent takes its own name
# from QEMU, which follows the open file to where the script lies now, in this name space.
program=$root/build/arm64/penstock
rm -f "$program"
ln "$program.elf" "$program"
printf '#!/bin/sh\nexec qemu-aarch64 "%s.elf" "$@"\n' "$program" >"$program.sh"
chmod +x "$program.sh"
emulated() {
  # shellcheck disable=SC2016  # the inner shell's
  unshare --user --map-root-user --mount bash -ec 'exec 200<"$1"; mount --bind "$1.sh" "$1"; shift; exec qemu-aarch64 /proc/self/fd/200 "$@"' bash "$program" "$@"
}
answer=$(emulated run --temperature 0 --max-tokens 48 "Tell me a story about a frog.")
printf '%s\n' "$answer"
case "$answer" in "Once upon a time there was a frog named Ivy."*) ;; *) fail "that is not what the built-in model says elsewhere" ;; esac

# What scripts did on the machine that recorded them they do here, bit for bit.
for recording in plugins/script/testdata/gallery/*.json.gz; do
  emulated plugin test script --replay "$recording" || fail "$recording does not come out the same"
done

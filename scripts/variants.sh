#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds llama.cpp in ways that few use, and tries that Go links what comes out and that it
# computes. In the end Go links the usual library again.
set -euo pipefail
cd "$(dirname "$0")/.."

trap 'native/llama.cpp/build.sh build/llama.cpp' EXIT
try() { # NAME=VALUE... with which tests
  local tests=$1
  shift
  printf '== %s\n' "$*"
  env "$@" native/llama.cpp/build.sh build/llama.cpp
  go test -count 1 -v -run "$tests" ./native | grep -E '^(--- |ok|FAIL|panic)|SKIPPED'
}

export BACKEND=cpu
try 'TestContext_|TestOwnKernels_AsExactAsGGML' OPENMP=ON
try 'TestContext_|Kernel|TestModel_' PENSTOCK_KERNELS=OFF
try 'TestContext_|TestOwnKernels_AsExactAsGGML' NATIVE=OFF

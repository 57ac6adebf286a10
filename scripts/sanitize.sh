#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs the tests of package native with the address and undefined behaviour sanitizers in its C++
# (shim, sampling, kernels): sanitize.sh [go test's flags]
set -euo pipefail
cd "$(dirname "$0")/.."

trap 'native/llama.cpp/build.sh build/llama.cpp' EXIT # Go links the usual library again
PENSTOCK_SANITIZED=ON BACKEND=cpu native/llama.cpp/build.sh build/llama.cpp
go test -asan -count 1 -timeout 2h "$@" ./native/...

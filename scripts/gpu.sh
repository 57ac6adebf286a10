#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds for CUDA, tests and measures on a machine with a GPU that is lent for minutes: it has nvcc,
# CMake, ninja and Python, but no Go and no network. scripts/gpu-pack.sh has made .gpu/pack.tar.xz
# before. docs/development.md says how to run it.
#
#   gpu.sh [SECONDS]    in at most so many (580); a second call goes on with the steps that are left
#
# Each step has a time limit of its own, and what it found is in $OUT as soon as it ends:
# summary.txt (a line a step), results.txt (tables), runs.json (all figures), log.txt (the rest).
#
# Environment: BACKEND=cuda|cpu (cuda; cpu is for rehearsals, with small models and short runs),
# OUT (build/gpu/out).
set -uo pipefail
cd "$(dirname "$0")/.." || exit
export BACKEND=${BACKEND:-cuda} OUT=${OUT:-$PWD/build/gpu/out}
work=$PWD/build/gpu
mkdir -p "$work/done" "$work/bin" "$OUT"
export PATH="$work/bin:$PATH" XDG_CACHE_HOME=$work/cache

say() { printf '%s\n' "$*" | tee -a "$OUT/summary.txt"; }
fail() { say "$*"; exit 1; }

if [ "$BACKEND" = cpu ]; then
  small=135m large=135m seconds=2 layers=0 clients="1 8" slots=16 context=32768
  export CMAKE_ARGS=
else
  small=1b large=8b seconds=4 layers=999 clients="1 8 32 64" slots=64 context=131072
  # The GPU's own code only, and flash attention for cells of f16: half of what would be compiled.
  export CMAKE_ARGS="-DCMAKE_CUDA_ARCHITECTURES=90a-real -DGGML_CUDA_FA_QUANTS=f16-f16 -DGGML_CUDA_NCCL=OFF"
fi

# --- the steps; each runs in a process of its own ---

# What is missing ends it all at once: the machine is lent by the minute.
machine() {
  uname -rm
  nproc
  for tool in cmake ninja g++ ar python3; do command -v "$tool" || fail "$tool is missing"; done
  cmake --version | head -1
  g++ --version | head -1
  # build.sh takes its digests from openssl, which an image may lack.
  command -v openssl || { printf '#!/bin/sh\nexec sha256sum\n' >"$work/bin/openssl" && chmod +x "$work/bin/openssl"; }
  [ "$BACKEND" = cuda ] || return 0
  nvidia-smi || fail "there is no GPU"
  nvcc --version | tail -2 || fail "nvcc is missing"
  local cuda
  cuda=$(dirname "$(dirname "$(readlink -f "$(command -v nvcc)")")")
  find "$cuda" / -maxdepth 6 -name cublas_v2.h -print -quit 2>/dev/null | grep . || fail "the headers of cuBLAS are missing below $cuda"
  find "$cuda" /usr/lib /usr/local -name 'libcuda.so*' -print -quit 2>/dev/null | grep . || fail "there is no libcuda.so to link with"
}

unpack() {
  tar -C "$work" -xJf .gpu/pack.tar.xz || python3 -m tarfile -e .gpu/pack.tar.xz "$work" || return 1 # tar needs xz
  mkdir -p build/llama.cpp
  rm -rf build/llama.cpp/source-*
  mv "$work"/source-* build/llama.cpp/ # where fetch.sh would put it
}

models() {
  for shape in $(printf '%s\n' "$small" "$large" | sort -u); do
    [ -f "$work/$shape.gguf" ] || nice "$work/synthgguf" -shape "$shape" -vocab "$work/ggml-vocab-llama-bpe.gguf" -o "$work/$shape.gguf" || return 1
  done
}

library() { native/llama.cpp/build.sh build/llama.cpp; }

peer() { native/llama.cpp/build.sh build/llama.cpp server; }

# The flags are those with which build.sh has Go link.
relink() {
  local flags program
  eval "flags=($(sed -n 's|^// #cgo LDFLAGS: ||p' native/zz_stamp.go))"
  mkdir -p bin
  for program in penstock native.test engine.test; do
    g++ -m64 -no-pie -rdynamic -o "bin/$program" "$work/$program"/*.o -Lbuild/llama.cpp/out/lib -lpenstock_llama \
      -lstdc++ -lm -lpthread -ldl -lresolv "${flags[@]}" || return 1
  done
}

doctor() {
  bin/penstock version
  bin/penstock doctor --listen 127.0.0.1:9000
}

# tests PACKAGE PATTERN: says what failed. A test that compares bits may: that is a result, and no
# reason to run all again.
tests() {
  local log
  log=$(mktemp)
  (cd "$1" && PENSTOCK_TEST_GPU_LAYERS=$layers "$OLDPWD/bin/$(basename "$1").test" -test.v -test.timeout 300s -test.run "$2") >"$log" 2>&1
  cat "$log"
  say "tests of $1: $(grep -c '^--- PASS' "$log") passed, $(grep -c '^--- FAIL' "$log") failed"
  { printf '== tests of %s\n' "$1"; grep -E '^ *--- FAIL|near ties|panic:' "$log"; } >>"$OUT/results.txt"
  grep -q '^\(PASS\|FAIL\)$' "$log"
}

greedy() { tests native '^TestDevice_'; }
natively() { tests native '^Test(Context|State|Checkpoint|Adapter|Memory|Share|Copy|HiddenState)'; }
engines() { tests host/engine 'Fork|Share|Speculat|Padding|Pending|Perceive|Program|Backend|Busy'; }

pids=()
stop() { [ ${#pids[@]} -eq 0 ] || { kill "${pids[@]}"; wait "${pids[@]}"; } 2>/dev/null; pids=(); }

# serve NAME PORT MODEL SLOTS CONTEXT [FLAG...]: starts a server, which is asked later whether it is
# ready
serve() {
  local name=$1 port=$2 common=(--model "$work/$3.gguf" --parallel "$4" --ctx-size "$5" --gpu-layers "$layers")
  shift 5
  if [ "$name" = llama-server ]; then
    build/llama.cpp/tools/llama-server "${common[@]}" --offline --no-ui --log-verbosity 1 --host 127.0.0.1 --port "$port" "$@" &
  else
    bin/penstock serve "${common[@]}" --log-level warn --listen "127.0.0.1:$port" "$@" &
  fi
  pids+=($!)
}

ready() { # PORT...
  local port pid
  for port in "$@"; do
    until (exec 3<>"/dev/tcp/127.0.0.1/$port" && printf 'GET /health HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n' >&3 && head -1 <&3 | grep -q ' 200 ') 2>/dev/null; do
      for pid in "${pids[@]}"; do # kill succeeds if any of several does
        kill -0 "$pid" 2>/dev/null || { printf 'a server has ended\n'; return 1; }
      done
      sleep 0.2
    done
  done
}

# measure TITLE PORT FLAG...
measure() {
  local title=$1 port=$2
  shift 2
  printf '== %s\n' "$title" >>"$OUT/results.txt"
  bin/penstock bench --url "http://127.0.0.1:$port" --seed 7 --limit 300s --out "$work/run.json" "$@" >>"$OUT/results.txt" || return 1
  { printf '{"title": "%s", "report": ' "$title"; cat "$work/run.json"; printf '}\n'; } >>"$OUT/runs.json"
}

# Streams at once, in turns.
streams() {
  trap stop EXIT
  serve split 9001 "$small" "$slots" "$context" --kv-layout split
  serve shared 9002 "$small" "$slots" "$context" --kv-layout shared
  serve llama-server 9003 "$small" "$slots" "$context"
  ready 9001 9002 9003 || return 1
  local n order=("split 9001" "shared 9002" "llama-server 9003")
  for n in $clients; do
    for server in "${order[@]}"; do
      measure "$small, $n clients, ${server% *}" "${server#* }" --clients "$n" --prompt-words 40 --max-tokens 128 --warmup 1s --duration "${seconds}s" || return 1
    done
    order=("${order[2]}" "${order[1]}" "${order[0]}")
  done
}

# Streams beside long prompts, and a larger model.
mixed() {
  trap stop EXIT
  serve split 9001 "$large" "$slots" "$context" --kv-layout split
  serve llama-server 9003 "$large" "$slots" "$context"
  ready 9001 9003 || return 1
  local n server
  for server in "split 9001" "llama-server 9003"; do
    measure "$large, 4 streams beside 2 clients with prompts of 600 words, ${server% *}" "${server#* }" --scenario mixed --long-words 600 || return 1
  done
  for n in 8 "$slots"; do
    for server in "split 9001" "llama-server 9003"; do
      measure "$large, $n clients, ${server% *}" "${server#* }" --clients "$n" --prompt-words 40 --max-tokens 128 --warmup 1s --duration "${seconds}s" || return 1
    done
  done
}

# Long conversations: each stream beside the cells of all others, or alone.
deep() {
  trap stop EXIT
  local words=2000 each=8192
  [ "$BACKEND" = cuda ] || words=200 each=2048
  serve split 9001 "$small" "$slots" $((slots * each)) --kv-layout split
  serve shared 9002 "$small" "$slots" $((slots * each)) --kv-layout shared
  ready 9001 9002 || return 1
  local server
  for server in "split 9001" "shared 9002"; do
    measure "$small, $slots clients after $words words, ${server% *}" "${server#* }" --clients "$slots" --prompt-words $((words + 8)) --shared-words "$words" \
      --max-tokens 512 --warmup 6s --duration "${seconds}s" || return 1
  done
}

if [ "${1:-}" = step ]; then
  "$2"
  exit
fi

# --- all of them ---

limit=${1:-580}
cp "$work/kept-results.txt" "$OUT/results.txt" 2>/dev/null # of a call before, since $OUT is empty each time
cp "$work/kept-runs.json" "$OUT/runs.json" 2>/dev/null

# step NAME MOST: has a step done within so many seconds, and within what is left of the call
step() {
  local name=$1 most=$2 from=$SECONDS rc
  [ ! -e "$work/done/$name" ] || { say "$name: done before"; return 0; }
  [ "$BACKEND" = cuda ] || most=$((10 * most)) # a rehearsal is on few and busy cores
  [ "$most" -lt $((limit - SECONDS)) ] || most=$((limit - SECONDS))
  [ "$most" -ge 5 ] || { say "$name: no time is left"; return 1; }
  printf '\n===== %s\n' "$name" >>"$OUT/log.txt"
  timeout -k 5 "$most" bash "$0" step "$name" >>"$OUT/log.txt" 2>&1
  rc=$?
  case $rc in
    0) touch "$work/done/$name"; say "$name: $((SECONDS - from)) s" ;;
    124 | 137) say "$name: NOT DONE within $most s" ;;
    *) say "$name: FAILED with $rc after $((SECONDS - from)) s; the end of the log:"; tail -n 15 "$OUT/log.txt" | sed 's/^/    /' | tee -a "$OUT/summary.txt" ;;
  esac
  cp "$OUT/results.txt" "$work/kept-results.txt" 2>/dev/null
  cp "$OUT/runs.json" "$work/kept-runs.json" 2>/dev/null
  return $rc
}

# begin NAME: has a step done beside others; join NAME: waits for it
declare -A beside
begin() {
  [ ! -e "$work/done/$1" ] || return 0
  timeout -k 5 $((limit - SECONDS)) bash "$0" step "$1" >"$work/$1.log" 2>&1 &
  beside[$1]=$!
}

join() {
  [ -n "${beside[$1]:-}" ] || return 0
  if wait "${beside[$1]}"; then
    touch "$work/done/$1"
    say "$1: done at $SECONDS s"
  else
    say "$1: FAILED; the end of its log:"
    tail -n 15 "$work/$1.log" | sed 's/^/    /' | tee -a "$OUT/summary.txt"
  fi
  cat "$work/$1.log" >>"$OUT/log.txt"
}

step machine 20 || exit 1
step unpack 30 || exit 1
begin models
step library 480 || exit 1
begin peer
step relink 40 || exit 1
step doctor 30
step greedy 40
step natively 60
join peer
join models
step streams 170
step mixed 120
step deep 60
step engines 160
cat "$OUT/results.txt"

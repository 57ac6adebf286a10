#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Traces the threads of forward passes beside a busy program, on two processors:
#
#   record.sh PENSTOCK MODEL TRACE [spin]    with "spin", threads wait as in ggml, without naps
#
# It needs Linux, root, tracefs, and a penstock that contains its symbols.
set -euo pipefail

penstock=$(realpath "$1") model=$2 trace=$3 spin=${4:-}
tracing=/sys/kernel/tracing
[ -w "$tracing/uprobe_events" ] || { echo "record.sh: $tracing cannot be written; mount tracefs there, and run this as root" >&2; exit 1; }

scratch=$(mktemp -d)
server='' busy=''
end() {
  echo 0 >"$tracing/tracing_on"
  echo 0 >"$tracing/events/enable"
  echo >"$tracing/uprobe_events"
  [ -z "$busy" ] || kill "$busy"
  [ -z "$server" ] || { kill "$server"; wait "$server" || true; }
  rm -rf "$scratch"
}
trap end EXIT

echo 0 >"$tracing/tracing_on"
echo nop >"$tracing/current_tracer"
echo >"$tracing/trace"
echo 16384 >"$tracing/buffer_size_kb"
# A probe wants the place in the file; the symbol's address is one in memory.
address=0x$(nm "$penstock" | awk '$3 == "ggml_barrier" { print $1 }')
read -r offset memory < <(readelf -lW "$penstock" | awk '$1 == "LOAD" && $0 ~ / R E / { print $2, $3 }')
place=$(printf '0x%x' $((address - memory + offset)))
echo "p:barrier $penstock:$place" >"$tracing/uprobe_events"
echo "r:passed $penstock:$place" >>"$tracing/uprobe_events"

preload=''
if [ "$spin" = spin ]; then
  printf '#include <time.h>\nint nanosleep(const struct timespec * a, struct timespec * b) { return 0; }\nint sched_yield(void) { return 0; }\n' |
    cc -shared -fPIC -x c -o "$scratch/spin.so" -
  preload=$scratch/spin.so
fi
port=28130
url=http://127.0.0.1:$port
LD_PRELOAD=$preload taskset -c 0,1 "$penstock" serve --listen "127.0.0.1:$port" --model "$model" --parallel 1 --ctx-size 2048 --threads 2 >"$scratch/log" 2>&1 &
server=$!
for _ in $(seq 600); do
  curl -fs "$url/health" >/dev/null && break
  kill -0 "$server" || { cat "$scratch/log" >&2; server=''; exit 1; }
  sleep 0.2
done
taskset -c 0,1 sh -c 'while :; do :; done' &
busy=$!
for event in sched/sched_switch uprobes/barrier uprobes/passed; do echo 1 >"$tracing/events/$event/enable"; done
echo 1 >"$tracing/tracing_on"
curl -fs --max-time 6 "$url/v1/completions" -H 'Content-Type: application/json' \
  -d '{"prompt": "the of and to in a", "max_tokens": 60, "ignore_eos": true}' >"$scratch/answer" || true # what it takes is seen in the trace
echo 0 >"$tracing/tracing_on"
cat "$tracing/trace" >"$trace"

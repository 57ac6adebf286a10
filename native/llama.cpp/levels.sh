#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Makes objects that have the CPU's kernels of all levels and can be linked into one program.
#
#   levels.sh WORK ARCHIVE...    into WORK/levels, from WORK/libpenstock_cpu_LEVEL.a and what is
#                                linked otherwise
#
# Each level defines the same names. So its library becomes one object in which all names are local,
# but for those that the rest of the program calls: they get the level's name in front. Under the
# plain name stands a jump to the level that ps_level_use has chosen.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
work=$1 out=$1/levels
shift

rm -rf "$out"
mkdir "$out"
mapfile -t levels < <(sed '/^#/d; s/ .*//' "$here/levels.txt")
lowest=$(printf '%s\n' "$@" | grep '/libggml-cpu\.a$')
mapfile -t others < <(printf '%s\n' "$@" | grep -v '/libggml-cpu\.a$')

names() { nm "$@" 2>/dev/null | awk 'NF > 1 { print $(NF - 1), $NF }'; }
names "${others[@]}" | awk '$1 == "U" { print $2 }' | sort -u >"$out/undefined"
names "$lowest" | awk '$1 == "T" { print $2 }' | sort -u | comm -12 - "$out/undefined" >"$out/calls"
data=$(names "$lowest" | awk '$1 ~ /^[BDR]$/ { print $2 }' | sort -u | comm -12 - "$out/undefined")
[ -z "$data" ] || { echo "levels.sh: the program uses data of ggml-cpu, which there is once for each level: $data" >&2; exit 1; }

symbol() { printf 'penstock_level_%s' "${1//-/_}"; }

{
  printf '.data\n.balign 8\n.globl penstock_level_calls, penstock_level_calls_size\n'
  printf 'penstock_level_calls:\n'
  sed "s/.*/.quad $(symbol "${levels[0]}").&/" "$out/calls"
  printf '.section .data.rel.ro,"aw"\n.balign 8\npenstock_level_calls_size: .quad %d\n' $((8 * $(wc -l <"$out/calls")))
  for level in "${levels[@]}"; do
    printf '.globl %s\n%s:\n' "$(symbol "$level")" "$(symbol "$level")"
    sed "s/.*/.quad $(symbol "$level").&/" "$out/calls"
  done
  printf '.text\n'
  awk '{ printf ".globl %s\n.type %s, @function\n%s: jmp *penstock_level_calls+%d(%%rip)\n", $1, $1, $1, 8 * (NR - 1) }' "$out/calls"
  printf '.section .note.GNU-stack,"",@progbits\n'
} >"$out/jumps.s"

{
  printf '#include "level.h"\n'
  grep -v '^#' "$here/levels.txt" | while read -r level features; do
    name=$(symbol "$level")
    printf 'extern void *const %s[];\nstatic bool %s_offered(void) { return true' "$name" "$name"
    for feature in $features; do printf ' && __builtin_cpu_supports("%s")' "$feature"; done
    printf '; }\n'
  done
  printf 'const struct penstock_level penstock_levels[] = {\n'
  for level in "${levels[@]}"; do printf '    { "%s", %s_offered, %s },\n' "$level" "$(symbol "$level")" "$(symbol "$level")"; done
  printf '    { 0, 0, 0 },\n};\n'
} >"$out/table.c"

for level in "${levels[@]}"; do
  library=$work/libpenstock_cpu_$level.a
  [ "$level" != "${levels[0]}" ] || library=$lowest
  # Without groups, or else the linker would keep one level's copy of an inline function for all.
  ld -r --force-group-allocation --whole-archive "$library" -o "$out/joined"
  # objcopy cannot make local what is "unique" in a program: constants in inline functions.
  { cat "$out/calls"; names "$out/joined" | awk '$1 == "u" { print $2 }'; } | sed "s/.*/& $(symbol "$level").&/" >"$out/renamed"
  objcopy --keep-global-symbols="$out/calls" "$out/joined"
  objcopy --redefine-syms="$out/renamed" "$out/joined" "$out/$level.o"
done
# One object, since the shim's reference to the table is weak, which brings nothing out of a
# library. That to the jumps does.
$CC -c "$out/jumps.s" -o "$out/jumps"
$CC -O2 -fPIC -I "$here/shim" -c "$out/table.c" -o "$out/table"
ld -r "$out/jumps" "$out/table" -o "$out/start.o"

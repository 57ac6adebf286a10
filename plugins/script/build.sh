#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds script.wasm.gz, the guest that runs JavaScript, and notes in script.sum what it was built
# from. The engine is QuickJS-NG, as a crate has its C source, which engine/engine.lock pins by its
# checksum: cargo compares the crate with what it says of it. The compilers and the C library are
# Debian's. The same inputs give the same bytes. licenses/ has the terms of what is linked in.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
build=$here/../../build/script
"$here/../../scripts/setup.sh" script
mkdir -p "$build"
cd "$build" # here no configuration of cargo forbids the network

# shellcheck source=/dev/null
source "$here/engine/engine.lock"
rm -rf vendor engine objects
mkdir -p engine objects fetch/src
: >fetch/src/lib.rs
printf '[package]\nname = "fetch"\nversion = "0.0.0"\n[dependencies]\n%s = { version = "=%s", default-features = false }\n[workspace]\n' \
  "${crate:?}" "${version:?}" >fetch/Cargo.toml
CARGO_NET_OFFLINE=false cargo vendor --quiet --manifest-path fetch/Cargo.toml vendor >/dev/null
grep -qF "\"package\":\"${checksum:?}\"" "vendor/$crate/.cargo-checksum.json" || { echo "build.sh: the crate $crate $version is not the one that engine.lock has" >&2; exit 1; }
cp "vendor/$crate"/quickjs/*.{c,h} engine/
patch --quiet --directory=engine --strip=1 <"$here/engine/engine.patch"
cmp -s "vendor/$crate/quickjs/LICENSE" "$here/licenses/quickjs-ng" || { echo "build.sh: the engine's licence has changed: copy it to licenses/quickjs-ng" >&2; exit 1; }

# Without a clock, files and threads: what would need them is left out by the linker. The stack lies
# below the data, so that overflowing it traps instead of overwriting something.
flags=(--target=wasm32-wasi -isystem /usr/include/wasm32-wasi -std=gnu17 -Os -DNDEBUG -D_GNU_SOURCE -ffunction-sections -fdata-sections
  -mbulk-memory -mnontrapping-fptoint -msign-ext -mno-multivalue -mno-reference-types)
compile() { nice clang-19 "${flags[@]}" "$@"; }
for file in quickjs libregexp libunicode dtoa; do compile -w -c "engine/$file.c" -o "objects/engine-$file.o" & done
for file in "$here"/guest/*.c; do
  compile -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers -Werror -I engine -c "$file" -o "objects/$(basename "$file" .c).o" &
done
for job in $(jobs -p); do wait "$job"; done
wasm-ld-19 --no-entry --stack-first -z stack-size=1048576 --max-memory=16777216 --strip-all --gc-sections --export-memory \
  -L/usr/lib/wasm32-wasi -o script.wasm objects/*.o --export=_initialize /usr/lib/wasm32-wasi/crt1-reactor.o -lc \
  /usr/lib/llvm-19/lib/clang/19/lib/wasi/libclang_rt.builtins-wasm32.a

gzip -9n <script.wasm >"$here/script.wasm.gz"
cd "$here"
sha256sum script.wasm.gz build.sh engine/engine.lock engine/engine.patch guest/*.c guest/*.h >script.sum

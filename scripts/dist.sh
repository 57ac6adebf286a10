#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Makes build/dist/penstock-VERSION-linux-x86_64.tar.gz, and .sha256 beside it: one static program
# for all x86-64 Linux systems, which takes the kernels of the CPU's level when it starts, the
# plugins, and what goes with them. What `make build` has built stays as it is.
#
#   dist.sh VERSION
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:?usage: dist.sh VERSION}

fail() { printf 'dist: %s\n' "$*" >&2; exit 1; }
[ "$(uname -s -m)" = "Linux x86_64" ] || fail "this makes a program for x86-64 Linux on x86-64 Linux only; here make build makes one for $(uname -s -m)"
[ -f /usr/share/common-licenses/LGPL-2.1 ] || fail "the licences of the C and C++ libraries are taken from where Debian and Ubuntu have them: run this there"

root=$PWD
# Paths of this machine stay out of the program.
CFLAGS="-ffile-prefix-map=$root=." CXXFLAGS="-ffile-prefix-map=$root=." BACKEND=cpu native/llama.cpp/build.sh build/llama.cpp levels

name=penstock-$version-linux-x86_64
stage=build/dist/$name
rm -rf build/dist
mkdir -p "$stage/bin" "$stage/licenses"

# Static, so that no library of another system is asked for. Go then resolves names and users
# itself.
levels=$root/build/llama.cpp/levels
printf '{"Replace": {"%s/native/zz_stamp.go": "%s/zz_stamp.go"}}\n' "$root" "$levels" >build/dist/overlay.json
CGO_ENABLED=1 CGO_CFLAGS="-O2 -I$levels/include" CGO_LDFLAGS="-L$levels/lib" \
  go build -overlay build/dist/overlay.json -trimpath -tags netgo,osusergo \
  -ldflags "-s -w -X main.version=$version -linkmode external -extldflags -static" -o "$stage/bin/penstock" ./cmd/penstock 2> >(grep -v -e 'in statically linked applications' -e ': in function ' -e '^# ' >&2)
! readelf -lW "$stage/bin/penstock" | grep -q INTERP || fail "$stage/bin/penstock is not static"

scripts/bundle-plugins.sh "$stage/bin/penstock" "$stage/share/penstock/plugins"

# take FOLDER NAME: the licence files of what lies in a folder
take() {
  local found
  mapfile -t found < <(find "$1" -maxdepth 1 -type f \( -iname 'LICEN[CS]E*' -o -iname 'COPYING*' -o -iname 'NOTICE*' -o -iname 'PATENTS*' \) | sort)
  [ "${#found[@]}" -gt 0 ] || fail "$2 has no licence file in $1"
  mkdir -p "$stage/licenses/$2"
  cp "${found[@]}" "$stage/licenses/$2/"
}

go version -m "$stage/bin/penstock" | awk '$1 == "dep" { print $2 }' | while read -r module; do
  folder=$(go list -m -f '{{.Dir}}' "$module")
  case "$folder" in "$root"/*) ;; *) take "$folder" "go/$module" ;; esac # a module of this repository has its licence
done
take "$(go env GOROOT)" go/std
source_dir=$(native/llama.cpp/fetch.sh build/llama.cpp)
take "$source_dir" llama.cpp
cp "$source_dir"/licenses/* "$stage/licenses/llama.cpp/"
find "$source_dir/vendor" -name 'LICENSE*' -printf '%P\n' | while read -r file; do take "$source_dir/vendor/${file%/*}" "llama.cpp/${file%/*}"; done
# Of PDF.js's optional parts, which are for Node, the page has none.
(cd web && npm ls --omit=dev --all --parseable | tail -n +2 | grep -v /@napi-rs/) | while read -r folder; do take "$folder" "npm/${folder##*/node_modules/}"; done
for part in cmaps wasm; do take "web/node_modules/pdfjs-dist/$part" "npm/pdfjs-dist/$part"; done
mkdir -p "$stage/licenses/script" && cp plugins/script/licenses/* "$stage/licenses/script/"
take "$(build/tools/tinygo/bin/tinygo env TINYGOROOT)" tinygo
mkdir -p "$stage/licenses/system"
for package in libc6 libstdc++6 wasi-libc libclang-rt-19-dev-wasm32 libstd-rust-dev-wasm32; do cp "/usr/share/doc/$package/copyright" "$stage/licenses/system/$package"; done
cp /usr/share/common-licenses/{LGPL-2.1,GPL-3} "$stage/licenses/system/"

cp LICENSE "$stage/"
cp deploy/dist/README.md deploy/dist/Containerfile deploy/penstock.service "$stage/"

# The same bytes from the same commit and compilers.
chmod -R u=rwX,go=rX "$stage"
tar --create --directory build/dist --sort=name --format=gnu --mtime="@$(git log -1 --format=%ct)" --owner=0 --group=0 --numeric-owner "$name" |
  gzip -9n >"build/dist/$name.tar.gz"
(cd build/dist && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")
rm -r "$stage" build/dist/overlay.json
printf '%s\n' "build/dist/$name.tar.gz"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Packs into .gpu/pack.tar.xz what scripts/gpu.sh needs on a machine that has a GPU, CUDA and CMake,
# but neither Go nor a network: the objects of bin/penstock and of two packages' tests, which are
# linked there, llama.cpp's source, and a program that writes models with random weights.
#
#   gpu-pack.sh             packs
#   gpu-pack.sh rehearse    packs, and runs scripts/gpu.sh on a copy of the tree without Go
#
# Environment: BACKEND=cuda|cpu (cuda).
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
export BACKEND=${BACKEND:-cuda}
source_dir=$(native/llama.cpp/fetch.sh build/llama.cpp)
version=$(git describe --tags --always --dirty)

rm -rf .gpu
mkdir -p .gpu/pack .gpu/scratch
trap 'rm -rf .gpu/pack .gpu/scratch' EXIT

# objects NAME GO COMMAND...: Go compiles, and leaves in a folder what it would link. It links with
# this machine's library, since it insists; the result is thrown away.
sed "s/buildStamp, buildBackend = .*/buildStamp, buildBackend = \"gpu-$version\", \"$BACKEND\" }/" native/zz_stamp.go >.gpu/scratch/zz_stamp.go
printf '{"Replace": {"%s/native/zz_stamp.go": "%s/.gpu/scratch/zz_stamp.go"}}\n' "$root" "$root" >.gpu/scratch/overlay.json
objects() {
  local name=$1 package=$2
  shift 2
  mkdir "$root/.gpu/pack/$name"
  go "$@" -trimpath -overlay .gpu/scratch/overlay.json -o .gpu/scratch/linked \
    -ldflags "-s -w -X main.version=$version -linkmode external -tmpdir $root/.gpu/pack/$name" "$package"
  [ -f ".gpu/pack/$name/go.o" ] || { printf 'gpu-pack: go left no objects of %s\n' "$package" >&2; exit 1; }
  rm -f .gpu/pack/"$name"/a.out .gpu/pack/"$name"/trivial.c .gpu/scratch/linked
}
objects penstock ./cmd/penstock build
objects native.test ./native test -c
objects engine.test ./host/engine test -c
CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o .gpu/pack/synthgguf ./tools/synthgguf

cp "$source_dir/models/ggml-vocab-llama-bpe.gguf" .gpu/pack/
# Of the backends, those of the CPU, of CUDA and of workers.
tar -C "$source_dir" -c --exclude-vcs --exclude='ggml/src/ggml-*/*' --exclude='tools/ui/*/*' CMakeLists.txt LICENSE app cmake common ggml include licenses scripts src tests/test-llama-archs.cpp tools vendor |
  tar -C .gpu/pack --one-top-level="$(basename "$source_dir")" -x
for backend in cpu cuda rpc; do cp -a "$source_dir/ggml/src/ggml-$backend" ".gpu/pack/$(basename "$source_dir")/ggml/src/"; done

tar -C .gpu/pack -c . | xz -T0 -2 >.gpu/pack.tar.xz
travels=$(($(git ls-files -co --exclude-standard -z | xargs -0 stat -c %s 2>/dev/null | paste -sd+ | bc) + $(stat -c %s .gpu/pack.tar.xz)))
printf 'gpu-pack: .gpu/pack.tar.xz has %d MiB; with the tree %d MiB travel\n' $(($(stat -c %s .gpu/pack.tar.xz) >> 20)) $((travels >> 20))
[ "$travels" -lt $((64 << 20)) ] || { printf 'gpu-pack: a device takes 64 MiB\n' >&2; exit 1; }
[ "${1:-}" = rehearse ] || exit 0

# What a device gets: tracked files, untracked ones that git does not ignore, and the pack.
there=build/gpu-rehearsal
rm -rf "$there"
mkdir -p "$there" build/gpu-out
git ls-files -co --exclude-standard -z | xargs -0 -r cp --parents -t "$there" 2>/dev/null || true
cp -r --parents .gpu/pack.tar.xz "$there"
without_go=$(printf '%s' "$PATH" | tr : '\n' | while read -r folder; do [ -x "$folder/go" ] || printf '%s\n' "$folder"; done | paste -sd:)
cd "$there"
env -i HOME="$PWD/build" PATH="$without_go" BACKEND=cpu OUT="$root/build/gpu-out" scripts/gpu.sh 3600

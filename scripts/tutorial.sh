#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Does what a guide tells a newcomer to do, in an empty folder: tutorial.sh docs/plugins/go.md
# Files and commands are the guide's own, word for word; only the place of the binary and the
# server's port are this machine's. The answer of the last command must be one without the letter
# that the guide's plugin drops.
set -euo pipefail

guide=$(realpath "$1")
PATH=$(cd "$(dirname "$0")/.." && pwd)/bin:$PATH
folder=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$folder"' EXIT
export CARGO_HOME=$folder/cargo

# A block after a line that ends with `FILE`: is that file; a block of sh is a step of its own.
steps=$folder/steps
mkdir "$steps" "$folder/work"
awk -v steps="$steps" '
  !inside && /^```/ { inside = 1; sh = $0 == "```sh" && file == ""; if (sh || file != "") out = sprintf("%s/%02d", steps, ++n)
                      if (file != "") print "cat > " file " <<\047END_OF_FILE\047" > out; next }
  inside && /^```/  { if (file != "") print "END_OF_FILE" > out; inside = 0; file = ""; next }
  inside            { if (sh || file != "") print > out; next }
  NF                { file = ""; if (match($0, /`[^`]+`:$/)) file = substr($0, RSTART + 1, RLENGTH - 3) }
' "$guide"

cd "$folder/work"
answer=
# shellcheck disable=SC1090 # the steps are in the guide
for step in "$steps"/*; do
  sed -i '/^export PATH=/d' "$step"
  if serve=$(grep '^penstock serve ' "$step"); then
    sed -i '/^penstock serve /d' "$step"
  fi
  if grep -q '^curl ' "$step"; then
    sed -i "s|http://127.0.0.1:8080|$url|" "$step"
    answer=$(. "$step")
  else
    . "$step"
  fi
  if [ -n "$serve" ]; then
    coproc SERVER { eval "exec env XDG_CACHE_HOME=$folder/cache $serve --listen 127.0.0.1:0 --threads 1 --log-level error"; }
    server=$SERVER_PID
    read -r url <&"${SERVER[0]}" # the first thing it prints
    url=${url%/}
    curl -s --retry 60 --retry-connrefused --retry-delay 1 -o /dev/null --fail "$url/readyz"
  fi
done

printf '%s\n' "$answer"
text=$(grep -o '"content":"[^"]\+"' <<<"$answer" | cut -d '"' -f 4)
if [[ -z $text || $text == *e* ]]; then
  echo "$guide: the plugin did not do its work" >&2
  exit 1
fi

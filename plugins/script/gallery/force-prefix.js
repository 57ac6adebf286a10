// SPDX-License-Identifier: MIT
// The answer begins with this text.
// config: {"prefix": "In a dark wood, "}
let first = true;
export function prepare(p) {
  if (first) p.force(config.prefix);
  first = false;
}

// SPDX-License-Identifier: MIT
// No run of tokens comes twice, so an answer cannot go round in circles.
// config: {"tokens": 3}
const n = config.tokens;
export function prepare(p) {
  const said = penstock.history(-200), tail = said.slice(1 - n).join();
  for (let i = n - 1; i < said.length; i++)
    if (said.slice(i - n + 1, i).join() === tail) p.ban(said[i]);
}

// SPDX-License-Identifier: MIT
// Ends the model's reasoning after so many tokens.
// config: {"tokens": 200}
let left = config.tokens;
export function accept() { if (penstock.part === "reasoning") left--; }
export function prepare(p) {
  if (left > 0 || penstock.part !== "reasoning") return;
  p.force(penstock.tokenize("\n</think>\n\n", { special: true }));
  left = Infinity; // once is enough
}

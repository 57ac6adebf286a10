// SPDX-License-Identifier: MIT
// Prefers tokens of a list that the last token and a key choose: a watermark.
// config: {"key": 7, "delta": 3}
export const plugin = { place: "first" }; // before the samplers that leave few candidates
const { key = 7, delta = 2 } = config;
const hash = (a, b) => Math.imul(Math.imul(a + 1, 0x9e3779b1) ^ (b + key), 0x85ebca6b) >>> 16;
export function sample(c) {
  const [last] = penstock.history(-1);
  for (let i = 0; i < c.length; i++) if (hash(last, c.ids[i]) & 1) c.logits[i] += delta;
}

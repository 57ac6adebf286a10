// SPDX-License-Identifier: MIT
// Writes each name at most once: a word with a capital letter is a name.
export const plugin = { place: "first" }; // before the samplers that leave few candidates
export function sample(c) {
  const names = new Set(penstock.text(0).match(/\b[A-Z][a-z]+\b/g));
  c.filter(s => !names.has(s.trim()));
}

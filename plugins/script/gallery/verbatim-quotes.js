// SPDX-License-Identifier: MIT
// What stands in quotation marks is verbatim from the prompt.
export const plugin = { place: "first" }; // before the samplers that leave few candidates
let prompt; // not read before it is there
export function sample(c) {
  const parts = penstock.text(0).split('"');
  if (parts.length % 2) return; // not in a quotation
  prompt ??= penstock.detokenize(penstock.history(0).slice(0, penstock.param("promptTokens")));
  c.filter(s => prompt.includes(parts.at(-1) + s.split('"')[0]));
}

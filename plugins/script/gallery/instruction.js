// SPDX-License-Identifier: MIT
// Adds an instruction to every conversation.
// config: {"instruction": "Answer in one short sentence."}
export function messages(list) {
  return [{ role: "system", content: config.instruction }, ...list];
}

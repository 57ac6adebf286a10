// SPDX-License-Identifier: MIT
// Writes a list: each line begins with a dash, and each sentence gets a line.
export function prepare(p) {
  const text = penstock.text(-2);
  if (text === "" || text.endsWith("\n")) p.force("- ");
  else if (/[.!?。！？]$/.test(text)) p.force("\n- ");
}

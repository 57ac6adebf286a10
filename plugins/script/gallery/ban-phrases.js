// SPDX-License-Identifier: MIT
// Never writes these phrases: their tokens are taken back, and it goes another way.
// config: {"phrases": ["once upon", "a little"]}
export const plugin = { hold: 16 };
const banned = {}; // tokens by the length of the history before them
export function prepare(p) { p.ban(banned[penstock.historyLength] ?? []); }
export function accept() {
  const hit = config.phrases.find(s => penstock.text(-200).toLowerCase().endsWith(s));
  if (!hit) return;
  const all = penstock.history();
  let n = 1;
  while (penstock.detokenize(all.slice(-n)).length < hit.length) n++;
  (banned[all.length - n] ??= []).push(all.at(-n));
  return penstock.splice(n);
}

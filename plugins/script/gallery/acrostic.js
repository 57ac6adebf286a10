// SPDX-License-Identifier: MIT
// The first letters of the lines spell a word.
// config: {"word": "FROG"}
const starts = [...config.word].map(letter => penstock.mask(s => s[0]?.toUpperCase() === letter));
const lines = () => penstock.text(0).split("\n");
export function prepare(p) {
  const last = lines().at(-1);
  if (last === "") p.mask(starts[lines().length - 1]);
  else if (/[.!?]$/.test(last)) p.force("\n");
}
export function accept() {
  if (lines().length === starts.length && /[.!?]$/.test(lines().at(-1))) return "stop";
}

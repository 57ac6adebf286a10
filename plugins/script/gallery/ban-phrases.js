// Never writes these phrases: their tokens are taken back, and it goes another way.
// config: {"phrases": ["once upon", "a little"]}
export const plugin = { hold: 16 };
const phrases = config.phrases.map(s => s.toLowerCase());
const banned = new Map(); // tokens by the length of the history before them
export function prepare(p) { p.ban(banned.get(penstock.historyLength) ?? []); }
export function accept() {
  const all = penstock.history(-16), text = penstock.text(-200).toLowerCase();
  const hit = phrases.find(s => text.endsWith(s));
  if (!hit) return;
  let n = 0;
  for (let tail = ""; tail.length < hit.length; n++) tail = penstock.piece(all.at(-1 - n)) + tail;
  const at = penstock.historyLength - n;
  banned.set(at, [...(banned.get(at) ?? []), all.at(-n)]);
  return penstock.splice(n);
}

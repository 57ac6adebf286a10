// Never writes these phrases: their tokens are taken back, and it goes another way.
// config: {"phrases": ["once upon", "a little"]}
const phrases = config.phrases.map(s => s.toLowerCase());
const banned = new Map(); // tokens by the length of the history before them
export function prepare(p) { for (const t of banned.get(penstock.history(0).length) ?? []) p.ban(t); }
export function accept() {
  const all = penstock.history(0), text = penstock.text(-200).toLowerCase();
  const hit = phrases.find(s => text.endsWith(s));
  if (!hit) return;
  let n = 0;
  for (let tail = ""; tail.length < hit.length; n++) tail = penstock.piece(all.at(-1 - n)) + tail;
  banned.set(all.length - n, [...(banned.get(all.length - n) ?? []), all.at(-n)]);
  return penstock.splice(n, []);
}

// Does without a letter.
// config: {"letter": "e"}
const letter = config.letter.toLowerCase();
const mask = penstock.mask((s, t) => penstock.isEnd(t) || !s.toLowerCase().includes(letter));
export function prepare(p) { p.mask(mask); }

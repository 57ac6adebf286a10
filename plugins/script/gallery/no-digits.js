// Writes numbers as words: no token with a digit is possible.
const mask = penstock.mask((s, t) => penstock.isEnd(t) || !/\d/.test(s));
export function prepare(p) { p.mask(mask); }

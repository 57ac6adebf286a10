// SPDX-License-Identifier: MIT
// Writes at least so many tokens: until then the answer cannot end.
// config: {"tokens": 150}
const going = penstock.mask((s, t) => !penstock.isEnd(t));
let n = 0;
export function prepare(p) { if (n < config.tokens) p.mask(going); }
export function accept() { n++; }

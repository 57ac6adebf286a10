// SPDX-License-Identifier: MIT
// Writes numbers as words: no token with a digit is possible.
const mask = penstock.mask(/^\D*$/);
export function prepare(p) { p.mask(mask); }

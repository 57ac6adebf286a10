// SPDX-License-Identifier: MIT
// Does without a letter.
// config: {"letter": "e"}
const mask = penstock.mask(new RegExp(`^[^${config.letter}]*$`, "i"));
export function prepare(p) { p.mask(mask); }

// SPDX-License-Identifier: MIT
// Writes letters of one script only, such as Latin, Cyrillic or Greek.
// config: {"script": "Latin"}
const mask = penstock.mask(new RegExp(`^(\\P{L}|\\p{Script=${config.script}})*$`, "u"));
export function prepare(p) { p.mask(mask); }

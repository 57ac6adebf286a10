// Writes letters of one script only, such as Latin, Cyrillic or Greek.
// config: {"script": "Latin"}
const own = new RegExp(`^\\P{L}*(\\p{Script=${config.script}}\\P{L}*)*$`, "u");
const mask = penstock.mask((s, t) => penstock.isEnd(t) || own.test(s));
export function prepare(p) { p.mask(mask); }

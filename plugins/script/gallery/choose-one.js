// SPDX-License-Identifier: MIT
// The answer is one of these texts, word for word.
// config: {"options": ["Yes.", "No.", "It depends."]}
let ways = config.options.map(text => penstock.tokenize(text));
export function prepare(p) { for (const way of ways) p.allow(way[0]); }
export function accept(t) {
  ways = ways.filter(way => way[0] === t).map(way => way.slice(1));
  if (ways.some(way => way.length === 0)) return "stop";
}

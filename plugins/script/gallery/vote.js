// SPDX-License-Identifier: MIT
// Writes four answers and shows the one that most of them agree on.
// config: {"answers": 4}
export const plugin = { branches: config.answers };
export function run(r) {
  const root = r.prompt(), from = r.promptTokens, tries = [root];
  while (tries.length < config.answers) tries.push(root.fork());
  r.continue(tries, r.maxTokens, { chain: r.chain({ temperature: 1 }) });
  const texts = tries.map(b => b.text(from));
  const votes = texts.map(text => texts.filter(other => other === text).length);
  output({ votes });
  r.show(tries[votes.indexOf(Math.max(...votes))].tokens(from));
}

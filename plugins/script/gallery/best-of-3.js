// SPDX-License-Identifier: MIT
// Writes three answers and shows the one that the model finds likeliest.
export const plugin = { branches: 3 };
export function run(r) {
  const root = r.prompt(), from = r.promptTokens;
  const tries = [root, root.fork(), root.fork()];
  r.continue(tries, r.maxTokens, { chain: r.chain({ temperature: 1 }), scored: true });
  const mean = b => b.scores(from).reduce((sum, x) => sum + x, 0) / (b.length - from);
  r.show(tries.sort((a, b) => mean(b) - mean(a))[0].tokens(from));
}

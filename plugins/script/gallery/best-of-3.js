// Writes three answers and shows the one that the model finds likeliest.
export function run(r) {
  const root = r.prompt(), from = r.promptTokens;
  const tries = [root, root.fork(), root.fork()];
  r.continue(tries, r.maxTokens, { chain: r.chain({ temperature: 1 }), scored: true });
  const mean = b => { const s = b.scores(from); return s.reduce((a, x) => a + x, 0) / s.length; };
  const scored = tries.map(b => ({ b, mean: mean(b) })).sort((x, y) => y.mean - x.mean);
  r.show(scored[0].b.tokens(from));
}

// Ends the model's reasoning after so many tokens.
// config: {"tokens": 200}
let used = 0;
export function accept() { if (penstock.part === "reasoning") used++; }
export function prepare(p) {
  if (used >= config.tokens && penstock.part === "reasoning")
    p.force(penstock.tokenize("\n</think>\n\n", { special: true }));
}

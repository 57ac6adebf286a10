// What stands in quotation marks is verbatim from the prompt.
const prompt = penstock.detokenize(penstock.history(0));
export function sample(c) {
  const text = penstock.text(0), parts = text.split('"');
  if (parts.length % 2) return; // not in a quotation
  c.filter(s => prompt.includes(parts.at(-1) + s.split('"')[0]));
}

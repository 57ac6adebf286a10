// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { differingWords } from "./differingwords.ts";

function marked(...texts: string[]): string[] {
  const words = texts.map((text) => text.split(" ").filter((word) => word !== ""));
  return differingWords(words).map((differs, i) =>
    (words[i] ?? []).map((word, at) => (differs[at] ? `[${word}]` : word)).join(" "),
  );
}

for (const { name, texts, want } of [
  { name: "the same", texts: ["a b c", "a b c"], want: ["a b c", "a b c"] },
  { name: "one in the middle", texts: ["a b c", "a x c"], want: ["a [b] c", "a [x] c"] },
  { name: "moved", texts: ["a b c d", "a c b d"], want: ["a [b] c d", "a c [b] d"] },
  { name: "empty", texts: ["", "a"], want: ["", "[a]"] },
  {
    name: "three: what only the first has",
    texts: ["a b c", "a b x", "a y c"],
    want: ["a b c", "a b [x]", "a [y] c"],
  },
  { name: "one alone", texts: ["a"], want: ["a"] },
])
  test(`differingWords: ${name}`, () => assert.deepEqual(marked(...texts), want));

test("differingWords: of texts too long to compare, ends that are alike are found", () => {
  const middle = (word: string) => Array.from({ length: 3000 }, (_, i) => `${word}${i}`).join(" ");
  const [a = "", b = ""] = marked(`a ${middle("x")} b`, `a ${middle("y")} b`);
  assert.ok(a.startsWith("a [x0] ") && a.endsWith("[x2999] b"));
  assert.ok(b.startsWith("a [y0] ") && b.endsWith("[y2999] b"));
});

// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { markdown, renderMarkdown } from "./markdown.ts";

for (const { text, formulas } of [
  { text: "Let $x^2$ and $y$.", formulas: ["inline x^2", "inline y"] },
  { text: "\\(a+b\\) and \\[c\\]", formulas: ["inline a+b", "display c"] },
  { text: "so $$z = 1$$ it is", formulas: ["display z = 1"] },
  { text: "$$\na \\\\\n- b\n$$", formulas: ["display a \\\\\n- b"] },
  { text: "words\n\\[\nE = mc^2\n\\]\nmore", formulas: ["display E = mc^2"] },
  { text: "- item\n\n  $$\n  x\n  $$", formulas: ["display x"] },
  { text: "> $$\n> q\n> $$", formulas: ["display q"] },
  { text: "It costs $5 and $10.", formulas: [] },
  { text: "$5-$10, US$3, $4, or 6$", formulas: [] },
  { text: "$20 dollars$ and 5$ or 6$", formulas: [] },
  { text: "`$x$` and \\$y\\$", formulas: [] },
  { text: "```\n$x$\n```", formulas: [] },
  { text: "$ x $ $$", formulas: [] },
  { text: "$5 \\times 3$", formulas: ["inline 5 \\times 3"] },
  { text: "$2x + 1$", formulas: ["inline 2x + 1"] },
  { text: `$${"x".repeat(5000)}$`, formulas: [] },
  { text: `$$\n${"x\n".repeat(5000)}$$`, formulas: [] },
]) {
  test(`math: ${JSON.stringify(text.slice(0, 40))}`, () => {
    const found: string[] = [];
    const spans = /<(?:span|p) class="math" data-kind="(\w+)"(?: tabindex="0")?>([^<]*)</g;
    for (const [, kind, source] of renderMarkdown(text).matchAll(spans)) found.push(`${kind} ${source}`);
    assert.deepEqual(found, formulas);
  });
}

test("math: a formula that has not ended is one block while the text grows, and plain text after", () => {
  const text = "$$\na\n- b\n\nc";
  assert.equal(markdown.parse(text, { open: true }).length, 1);
  assert.match(markdown.render(text, { open: true }), /^<p>\$\$\na/);
  assert.match(renderMarkdown(text), /<li>b/);
});

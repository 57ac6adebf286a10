// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { alignment, spanOf } from "./align.ts";

/** What of drawn is marked for a part of source. */
function marked(source: string, drawn: string, part: string): string | undefined {
  const from = source.lastIndexOf(part);
  const span = spanOf(alignment(source, drawn), from, from + part.length);
  return span && drawn.slice(span.from, span.to);
}

test("alignment: a part of plain text", () => {
  assert.equal(marked("A cat sat on a cat", "A cat sat on a cat", " cat"), "cat");
  assert.deepEqual(spanOf(alignment("a cat, a cat", "a cat, a cat"), 8, 12), { from: 9, to: 12 });
});

test("alignment: marks of Markdown stand in the source alone, labels in the drawn text", () => {
  assert.equal(marked("# Title\n\n**bold** word", "Title\nbold word", " word"), "word");
  assert.equal(marked("See:\n```python\nprint(7)\n```", "See:\npythonCopyprint(7)\n", "print"), "print");
  assert.equal(marked("1. one\n2. two", "one\ntwo", " two"), "two");
});

test("alignment: what is not drawn is not found", () => {
  assert.equal(marked("a **b", "a b", "**"), undefined);
  assert.equal(spanOf(alignment("abc", ""), 0, 1), undefined);
});

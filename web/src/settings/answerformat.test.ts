// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { formatExamples, problemOf, type Written } from "./answerformat.ts";
import type { Format } from "./settings.ts";

for (const [format, want] of [
  [{ kind: "text" }, /^$/],
  [{ kind: "json" }, /^$/],
  [{ kind: "regex", text: "a(" }, /^$/],
  [{ kind: "regex", text: " " }, /Nothing is written yet/],
  [{ kind: "schema", text: "{" }, /not JSON yet/],
  [{ kind: "schema", text: "[1]" }, /is an object/],
  [{ kind: "schema", text: "{}" }, /^$/],
  [{ kind: "grammar", text: "x ::= y" }, /rule with the name root/],
  [{ kind: "grammar", text: 'x ::= "a"\n root::= x' }, /^$/],
] as [Format, RegExp][]) {
  test(`problemOf: ${JSON.stringify(format)}`, () => assert.match(problemOf(format), want));
}

test("formatExamples: each is one that the page takes", () => {
  for (const [kind, list] of Object.entries(formatExamples))
    for (const { text, name } of list) assert.equal(problemOf({ kind: kind as Written, text }), "", name);
});

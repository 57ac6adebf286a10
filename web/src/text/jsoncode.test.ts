// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { jsonAsCode } from "./jsoncode.ts";

for (const [text, done, want] of [
  ['{"a": 1}', true, '```json\n{"a": 1}\n```'],
  ['{"a": 1', false, '```json\n{"a": 1'],
  ['[{"a": "```"}]', true, '````json\n[{"a": "```"}]\n````'],
  ['{"a": 1', true, '{"a": 1'],
  ['{"a": 1} is an example.', true, '{"a": 1} is an example.'],
  ["{a} and so on", false, "{a} and so on"],
  ["[a](https://example.org)", true, "[a](https://example.org)"],
  ["", true, ""],
] as const) {
  test(`jsonAsCode: ${text}, ${done ? "done" : "growing"}`, () => assert.equal(jsonAsCode(text, done), want));
}

test("jsonAsCode: a text may have any number of marks", () => {
  const text = JSON.stringify({ a: "``` ".repeat(200_000) });
  assert.ok(jsonAsCode(text, true).startsWith("````json\n{"));
});

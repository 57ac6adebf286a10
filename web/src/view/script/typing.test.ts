// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { offsetOf } from "./typing.ts";

test("offsetOf: a column counts bytes, also behind emoji", () => {
  const text = "let a;\n/*\u{1F438}é*/ x;";
  assert.equal(offsetOf(text, 2, 12), text.indexOf("x"));
  assert.equal(offsetOf(text, 1, 5), 4);
  assert.equal(offsetOf(text, 9, 1), text.length + 1);
});

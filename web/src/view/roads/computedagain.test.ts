// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { isSame } from "./computedagain.ts";

test("isSame: an answer may have fewer tokens than it had, and no others", () => {
  const then = { content: "one two", reasoning: "hm" };
  assert.ok(isSame(then, then));
  assert.ok(isSame({ content: "", reasoning: "h" }, then));
  assert.ok(isSame({ content: "one" }, { content: "one two" }));
  assert.ok(!isSame({ content: "" }, { content: "one" }), "nothing");
  assert.ok(!isSame({ content: "one too" }, { content: "one two" }));
  assert.ok(!isSame({ content: "one two three" }, { content: "one two" }));
  assert.ok(!isSame({ content: "one", reasoning: "ah" }, then));
  assert.ok(!isSame({ content: "one", reasoning: "hm" }, { content: "one" }));
});

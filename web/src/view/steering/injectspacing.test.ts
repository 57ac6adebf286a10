// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { withSpace } from "./injectspacing.ts";

for (const [before, text, want] of [
  ["Once upon", "a time", " a time"],
  ["Once upon ", "a time", "a time"],
  ["Once", ", said he", ", said he"],
  ["Once", " upon", " upon"],
  ["", "Once", "Once"],
  ["(", "so", "so"],
  ["line\n", "next", "next"],
  ["你好", "世界", "世界"],
] as const) {
  test(`withSpace: ${JSON.stringify(before)} and ${JSON.stringify(text)}`, () =>
    assert.equal(withSpace(before, text), want));
}

// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { withEscapes, withoutEscapes } from "./escapes.ts";

for (const [typed, text, shown = typed] of [
  ["\\n\\n", "\n\n"],
  ["a\\tb\\r", "a\tb\r"],
  ["C:\\\\new", "C:\\new"],
  ["\\u0041\\u0007", "A\u0007", "A\\u0007"],
  ["\\d \\u12", "\\d \\u12", "\\\\d \\\\u12"],
  ["end\\", "end\\", "end\\\\"],
  ["🐸", "🐸"],
] as const) {
  test(`escapes: ${typed}`, () => {
    assert.equal(withoutEscapes(typed), text);
    assert.equal(withEscapes(text), shown);
    assert.equal(withoutEscapes(withEscapes(text)), text);
  });
}

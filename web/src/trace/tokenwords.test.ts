// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { inText, ordinal, percent, visibleToken } from "./tokenwords.ts";

test("visibleToken: what cannot be seen gets a sign", () => {
  assert.equal(visibleToken(" a\n\tb"), "␣a↵⇥b");
  assert.equal(visibleToken(""), "∅");
  assert.equal(visibleToken("\u202e\u0000\u2028"), "⟨202E⟩⟨0000⟩⟨2028⟩");
  assert.equal(visibleToken("é 👍"), "é␣👍");
});

test("inText: spaces stay, a line break breaks the line, and nothing is too long", () => {
  assert.equal(inText(" a b"), " a b");
  assert.equal(inText(" "), "␣");
  assert.equal(inText(".\n\n"), ".↵\n↵\n");
  assert.equal(inText("x".repeat(5000)).length, 201);
});

test("percent: as precise as a reader needs", () => {
  const said = [1, 0.9999, 0.42, 0.1, 0.052, 0.0031, 0.00001, 0].map(percent);
  assert.deepEqual(said, ["100 %", "> 99.9 %", "42 %", "10 %", "5.2 %", "0.31 %", "< 0.01 %", "0 %"]);
});

test("ordinal", () => {
  const said = [1, 2, 3, 4, 11, 12, 13, 21, 102, 1003].map(ordinal);
  assert.deepEqual(said, ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "102nd", "1,003rd"]);
});

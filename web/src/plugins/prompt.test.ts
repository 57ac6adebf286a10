// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { readPrompt, runsOf } from "./prompt.ts";

test("readPrompt: control tokens apart, and a character of several tokens in one piece", () => {
  const tokens = [
    { id: 1, piece: "<s>", special: true },
    { id: 2, piece: "caf", special: false },
    { id: 3, piece: [0xc3], special: false },
    { id: 4, piece: [0xa9], special: false },
    { id: 5, piece: "</s>", special: true },
  ];
  const prompt = readPrompt({ prompt: "", tokens });
  assert.equal(prompt.tokens.length, 5);
  assert.deepEqual(runsOf(prompt.tokens), [
    { text: "<s>", special: true },
    { text: "café", special: false },
    { text: "</s>", special: true },
  ]);
});

test("readPrompt: text that looks like a control token is text", () => {
  const { tokens } = readPrompt({ tokens: [{ piece: "<s>", special: false }] });
  assert.deepEqual(tokens, [{ text: "<s>", special: false }]);
});

test("readPrompt: an answer of another shape has no tokens", () => {
  for (const odd of [undefined, 7, {}, { tokens: 7 }, { tokens: [7] }])
    assert.deepEqual(readPrompt(odd).tokens, []);
  assert.deepEqual(readPrompt({ tokens: [{ piece: 7 }] }).tokens, [{ text: "", special: false }]);
});

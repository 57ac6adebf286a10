// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { tokens } from "./tokenestimate.ts";

for (const [text, want] of [
  ["", "≈ 0 tokens"],
  ["Four letters of English make a token.", "≈ 10 tokens"],
  ["x".repeat(49_000), "≈ 12,000 tokens"],
  ["青蛙".repeat(30_000), "≈ 40,000 tokens"],
] as const)
  test(`tokens: ${text.slice(0, 20)}`, () => assert.equal(tokens(text), want));

// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { backoff } from "./backoff.ts";

for (const { n, chance, want } of [
  { n: 0, chance: 0, want: 500 },
  { n: 1, chance: 0, want: 1000 },
  { n: 3, chance: 0, want: 4000 },
  { n: 5, chance: 0, want: 15_000 },
  { n: 5000, chance: 0, want: 15_000 },
  { n: 0, chance: 0.5, want: 438 },
  { n: 9, chance: 0.999, want: 11_254 },
]) {
  test(`backoff of try ${n} at chance ${chance}`, () => assert.equal(backoff(n, chance), want));
}

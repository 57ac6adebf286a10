// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { clock, count, duration, rate, tokens } from "./numberformat.ts";

test("figures: numbers and tokens", () => {
  assert.deepEqual([0, 7.4, 1234, 123_456, 2_500_000].map(count), ["0", "7", "1,234", "123k", "2.5M"]);
  assert.deepEqual([0, 1, 1234].map(tokens), ["0 tokens", "1 token", "1,234 tokens"]);
  assert.deepEqual([0.05214, 52.13, 1234].map(rate), ["0.0521", "52.1", "1,230"]);
});

test("figures: times in the unit that reads best", () => {
  const times = [0, 0.0521, 0.456, 1.23, 12.34, 999, 1500, 59_900, 61_000, 120_000, 125_000];
  assert.deepEqual(times.map(duration), [
    ...["0 ms", "52.1 µs", "456 µs", "1.23 ms", "12.3 ms", "999 ms"],
    ...["1.5 s", "59.9 s", "1 min 1 s", "2 min", "2 min 5 s"],
  ]);
});

test("figures: a clock", () =>
  assert.deepEqual([0, 7, 60, 754].map(clock), ["0:00", "0:07", "1:00", "12:34"]));

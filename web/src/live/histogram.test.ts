// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { histogramWords, percentile, totalOf } from "./histogram.ts";

const bounds = [1, 2, 4, 8];

test("percentile: between the bounds it is read off a line", () => {
  const h = { bounds, counts: [0, 100, 0, 0, 0] };
  assert.deepEqual(percentile(h, 0.5), { ms: 1.5, above: false });
  assert.deepEqual(percentile(h, 1), { ms: 2, above: false });
  const two = { bounds, counts: [50, 0, 0, 50, 0] };
  assert.deepEqual(percentile(two, 0.5), { ms: 1, above: false });
  assert.deepEqual(percentile(two, 0.75), { ms: 6, above: false });
  assert.equal(totalOf(two), 100);
});

test("percentile: beyond the last bound only that is known", () => {
  assert.deepEqual(percentile({ bounds, counts: [1, 0, 0, 0, 9] }, 0.5), { ms: 8, above: true });
  assert.equal(percentile({ bounds, counts: [0, 0, 0, 0, 0] }, 0.5), undefined);
  assert.equal(percentile({ bounds: [], counts: [] }, 0.5), undefined);
  assert.deepEqual(percentile({ bounds: [], counts: [3] }, 0.5), { ms: 0, above: true });
});

test("histogramWords: a sentence, or nothing", () => {
  assert.equal(
    histogramWords({ bounds, counts: [0, 90, 0, 0, 10] }),
    "Half of all tokens came within 1.56 ms of the one before, 95 % within more than 8 ms, 99 % within more than 8 ms.",
  );
  assert.equal(histogramWords({ bounds, counts: [] }), "");
});

// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { fittedSize, mostPixels } from "./picturesize.ts";

for (const [size, want] of [
  [
    [640, 480],
    [640, 480],
  ],
  [
    [4000, 3000],
    [2065, 1549],
  ],
  [
    [3000, 4000],
    [1549, 2065],
  ],
  [
    [100_000, 40],
    [89_442, 35],
  ],
  [
    [4_000_000, 1],
    [3_577_708, 1],
  ],
] as const) {
  test(`fittedSize: ${size.join(" by ")}`, () => {
    const { width, height } = fittedSize(size[0], size[1]);
    assert.deepEqual([width, height], want);
    assert.ok(width * height <= mostPixels || height === 1);
  });
}

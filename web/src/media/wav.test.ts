// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { typeOf } from "./mediatype.ts";
import { encodeWAV, mixed } from "./wav.ts";

test("encodeWAV: a header that says what follows, and samples that are cut", () => {
  const file = encodeWAV(Float32Array.of(0, 1, -1, 3, -0.5), 16_000);
  const view = new DataView(file.buffer);
  assert.equal(typeOf(file), "audio/wav");
  assert.equal(file.length, 54);
  assert.equal(view.getUint32(4, true), 46);
  assert.deepEqual(
    [20, 22, 32, 34].map((at) => view.getUint16(at, true)),
    [1, 1, 2, 16],
  );
  assert.deepEqual(
    [24, 28, 40].map((at) => view.getUint32(at, true)),
    [16_000, 32_000, 10],
  );
  const samples = [0, 1, 2, 3, 4].map((at) => view.getInt16(44 + 2 * at, true));
  assert.deepEqual(samples, [0, 32_767, -32_767, 32_767, -16_383]);
});

test("mixed: the mean of channels", () => {
  assert.deepEqual(mixed([Float32Array.of(1, 0), Float32Array.of(0, -1)]), Float32Array.of(0.5, -0.5));
  assert.deepEqual(mixed([Float32Array.of(0.25)]), Float32Array.of(0.25));
  assert.deepEqual(mixed([]), Float32Array.of());
});

// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { test } from "node:test";
import { sha256 } from "./sha256.ts";

test("sha256: as Node.js has it, whatever the length", () => {
  for (const length of [0, 1, 3, 55, 56, 63, 64, 65, 119, 120, 128, 1000, 100_003]) {
    const data = randomBytes(length);
    const told = createHash("sha256").update(data).digest("hex");
    assert.equal(sha256(data), told, `${length} bytes`);
  }
});

test("sha256: of a part of a buffer", () => {
  const whole = new TextEncoder().encode("before abc after");
  assert.equal(
    sha256(whole.subarray(7, 10)),
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
  );
});

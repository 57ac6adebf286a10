// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { dataURL, fromDataURL } from "./dataurl.ts";

test("dataURL: there and back, whatever the length", async () => {
  for (const length of [0, 1, 2, 3, 0x6000, 0x6001, 100_000]) {
    const bytes = new Uint8Array(randomBytes(length));
    const url = await dataURL(new Blob([bytes], { type: "image/png" }));
    assert.equal(url, `data:image/png;base64,${Buffer.from(bytes).toString("base64")}`);
    assert.deepEqual(fromDataURL(url), bytes);
  }
});

for (const url of [
  "",
  "AAAA",
  "data:,AAAA",
  "data:text/plain,AAAA",
  "http://x;base64,AAAA",
  "data:;base64,A*",
]) {
  test(`fromDataURL: ${url || "nothing"} is none`, () => assert.throws(() => fromDataURL(url)));
}

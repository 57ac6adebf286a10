// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { isAnimatedWebP, typeOf } from "./mediatype.ts";

const bytes = (text: string) => Uint8Array.from(text, (letter) => letter.charCodeAt(0));

for (const [head, want] of [
  ["\xff\xd8\xff\xe0", "image/jpeg"],
  ["\x89PNG\r\n\x1a\n\0", "image/png"],
  ["GIF89a", "image/gif"],
  ["GIF88a", undefined],
  ["RIFF1234WEBPVP8L", "image/webp"],
  ["BM1234\0\0\0\0", "image/bmp"],
  ["BMW is a make of cars", undefined],
  ["RIFF1234WAVEfmt ", "audio/wav"],
  ["RIFF1234AVI ", undefined],
  ["ID3\x04", "audio/mpeg"],
  ["\xff\xfb\x90\x00", "audio/mpeg"],
  ["\xff\xf3\x40\xc0", "audio/mpeg"],
  ["\xff\xf1\x50\x80", undefined], // AAC
  ["\xff\xfb\xf0\x00", undefined], // no bit rate
  ["\xff\xfe\x41\x00", undefined], // a text in UTF-16
  ["\xff\xfe\xe4\x00", undefined], // the same, with another letter
  ["<svg", undefined],
  ["", undefined],
] as const) {
  test(`typeOf: ${JSON.stringify(head)}`, () => assert.equal(typeOf(bytes(head)), want));
}

test("isAnimatedWebP: by the flag of its extended header", () => {
  assert.ok(isAnimatedWebP(bytes("RIFF1234WEBPVP8X\x0a\0\0\0\x02\0\0\0")));
  assert.ok(!isAnimatedWebP(bytes("RIFF1234WEBPVP8X\x0a\0\0\0\x10\0\0\0")));
  assert.ok(!isAnimatedWebP(bytes("RIFF1234WEBPVP8L\x0a\0\0\0\x02")));
});

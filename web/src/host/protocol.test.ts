// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseFrame } from "./protocol.ts";

test("parseFrame: each frame of the host", () => {
  for (const frame of [
    { type: "started", id: "s1", stream: "x", model: "m", prompt_tokens: 3, cached_tokens: 0, seed: 7 },
    { type: "token", id: "s1", seq: 0, text: "Once" },
    { type: "parts", id: "s1", reset: true, content: "Once" },
    { type: "rewound", id: "s1", seq: 1, tokens: 1, removed: "Once" },
    { type: "paused", id: "s1" },
    { type: "resumed", id: "s1" },
    { type: "end", id: "s1", reason: "stop", usage: { prompt_tokens: 3, completion_tokens: 1 } },
    { type: "error", error: { message: "no" } },
  ]) {
    assert.deepEqual(parseFrame(JSON.stringify(frame)), frame);
  }
});

for (const data of ["", "{", "null", "7", "[]", "{}", '{"type":7}', '{"type":"news"}', new ArrayBuffer(2)]) {
  test(`parseFrame: ignores ${data instanceof ArrayBuffer ? "binary data" : JSON.stringify(data)}`, () => {
    assert.equal(parseFrame(data), undefined);
  });
}

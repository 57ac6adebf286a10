// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { addressOf, parseAddress } from "./address.ts";

for (const [hash, want] of [
  ["", { view: "chat" }],
  ["#/", { view: "chat" }],
  ["#/chat/a1", { view: "chat", chat: "a1" }],
  ["#/plugins", { view: "plugins" }],
  ["#/live", { view: "live" }],
  ["#/script/a-_1", { view: "chat", script: "a-_1" }],
  ["#/chat/../x", { view: "chat" }],
  ["#/other/a1", { view: "chat" }],
  ["#question", { view: "chat" }],
] as const) {
  test(`parseAddress of ${hash}`, () => assert.deepEqual(parseAddress(hash), want));
}

test("addressOf leads back", () => {
  assert.equal(addressOf("chat", "a1"), "#/chat/a1");
  assert.equal(addressOf("chat", undefined), "#/");
  assert.equal(addressOf("live", "a1"), "#/live");
});

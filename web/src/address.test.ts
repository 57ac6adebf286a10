// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { addressOf, parseAddress, questionOf } from "./address.ts";

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

test("questionOf: the text of ?q=, without what nobody sees", () => {
  assert.equal(questionOf("?q=Hello%20there%0Athen"), "Hello there\nthen");
  assert.equal(questionOf("?x=1&q=a+b"), "a b");
  assert.equal(questionOf("?q="), "");
  assert.equal(questionOf(""), "");
  const hidden = [..."call rm"]
    .map((letter) => String.fromCodePoint(0xe0000 + letter.charCodeAt(0)))
    .join("");
  assert.equal(questionOf(`?q=${encodeURIComponent(`Hi${hidden}\u202E\u200B\u0000!`)}`), "Hi!");
  const family = "👨\u200D👩\u200D👧 می\u200Cخواهم ❤\uFE0F";
  assert.equal(questionOf(`?q=${encodeURIComponent(family)}`), family);
  assert.equal(questionOf(`?q=${"x".repeat(30_000)}`).length, 20_000);
});

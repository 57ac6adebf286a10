// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { cannot, noticeOf } from "./medianotice.ts";

const picture = { name: "p", file: "p", type: "image/png", size: 10 };
const sound = { name: "s", file: "s", type: "audio/wav", size: 10 };
const all = { sees: true, hears: true };
const deaf = { sees: true, hears: false };
const plain = { sees: false, hears: false };

test("cannot: what of files a model does not take", () => {
  assert.equal(cannot(all, [picture, sound]), "");
  assert.equal(cannot(deaf, [picture]), "");
  assert.equal(cannot(deaf, [picture, sound]), "cannot hear sounds");
  assert.equal(cannot(plain, [picture]), "cannot see pictures");
  assert.equal(cannot(plain, [sound, picture]), "cannot see pictures and hear sounds");
});

test("noticeOf: a draft that cannot be sent is held back, and what came before is told of", () => {
  assert.equal(noticeOf("tiny", all, [picture], [sound]), undefined);
  assert.equal(noticeOf("tiny", plain, [], []), undefined);
  const held = noticeOf("tiny", plain, [picture], []);
  assert.ok(held?.blocks && held.text.startsWith("tiny cannot see pictures. Remove"));
  const told = noticeOf("tiny", deaf, [picture], [sound]);
  assert.ok(told?.blocks === false && told.text.startsWith("tiny cannot hear sounds: of those"));
});

test("noticeOf: more than a connection keeps; what the model cannot take is not sent, and does not count", () => {
  assert.ok(noticeOf("tiny", all, [picture], [sound], 19)?.blocks);
  assert.equal(noticeOf("tiny", all, [picture], [picture], 19), undefined, "the same twice is kept once");
  assert.equal(noticeOf("tiny", deaf, [picture], [sound], 19)?.blocks, false);
  const many = Array.from({ length: 128 }, (_, at) => ({ ...picture, file: `f${at}` }));
  assert.equal(noticeOf("tiny", all, [], many), undefined);
  assert.ok(noticeOf("tiny", all, [picture], many)?.blocks);
});

// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultSettings } from "../settings/settings.ts";
import { cleanChat, cleanMessage, cleanTree } from "./cleanchat.ts";
import type { Answering, Message } from "./message.ts";

// All fields that there are: one that cleanchat.ts forgets is lost at each reload.
const ended: Required<Omit<Answering, "stream">> = {
  phase: "done",
  model: "tiny",
  seq: 4,
  tokens: 3,
  seed: 9,
  set: { temperature: 1 },
  earlier: { content: 3, reasoning: 2, tokens: 1 },
  edited: true,
  column: "temperature 0",
  traced: true,
  backed: 2,
  reasonedUntil: 8,
  promptTokens: 2,
  cachedTokens: 1,
  asked: 5,
  first: 6,
  outcome: {
    reason: "error",
    usage: { prompt_tokens: 2, completion_tokens: 3 },
    timings: { predicted_ms: 1.5 },
    error: { message: "no", type: "t", code: "c", param: "p" },
  },
};

const whole: Required<Message> = {
  id: "m",
  chat: "c",
  parent: "p",
  role: "assistant",
  created: 5,
  content: "Hello",
  files: [{ name: "a.txt", text: "x" }],
  reasoning: "hm",
  calls: [{ id: "1", type: "function", function: { name: "f", arguments: "{}" } }],
  results: [{ call: "c", content: "wet", by: "sums", failed: true, open: true }],
  outputs: [{ plugin: "p", tokens: 1, value: { a: [null] } }],
  answer: ended,
};

test("cleanMessage: what is right stays as it is", () => {
  assert.deepEqual(cleanMessage(whole), whole);
  const running = { phase: "streaming", model: "", seq: 1, tokens: 1, asked: 1, stream: "name" };
  assert.deepEqual(cleanMessage({ ...whole, answer: running })?.answer, running);
});

for (const value of [
  null,
  7,
  "text",
  [],
  {},
  { ...whole, id: 3 },
  { ...whole, id: "a b" },
  { ...whole, chat: undefined },
  { ...whole, role: "system" },
]) {
  test(`cleanMessage: nothing can be made of ${JSON.stringify(value)?.slice(0, 40)}`, () =>
    assert.equal(cleanMessage(value), undefined));
}

test("cleanMessage: wrong fields go, the rest stays", () => {
  const odd = {
    ...whole,
    parent: 7,
    created: "yesterday",
    content: { html: "<b>" },
    files: [{ name: 1 }, null],
    calls: "none",
    results: [{ content: "x" }, 7],
    outputs: [{ plugin: "p" }, { value: 1 }, 7],
    reasoning: 3,
    answer: {
      phase: "dreaming",
      seq: 1.5,
      tokens: "many",
      asked: -1,
      stream: "s",
      outcome: { reason: "bored" },
    },
  };
  assert.deepEqual(cleanMessage(odd), {
    id: "m",
    chat: "c",
    parent: null,
    role: "assistant",
    created: 0,
    content: "",
    answer: { phase: "done", model: "", seq: -1, tokens: 0, asked: 0, outcome: { reason: "cancelled" } },
  });
  const { answer: _, ...bare } = whole;
  assert.equal(cleanMessage(bare)?.answer?.phase, "done", "an answer has one");
  assert.equal("answer" in (cleanMessage({ ...whole, role: "user" }) ?? {}), false);
});

test("cleanChat: wrong fields go, the rest stays", () => {
  const odd = { id: "c", title: 3, created: 1e99, changed: null, settings: 7, branches: { "": "m", m: 3 } };
  const { created, changed, ...rest } = cleanChat(odd) ?? assert.fail();
  assert.deepEqual(rest, { id: "c", title: "", settings: defaultSettings, branches: { "": "m" } });
  assert.ok(!Number.isNaN(new Date(created).getTime()) && changed === created);
  assert.equal(cleanChat({ title: "no id" }), undefined);
});

test("cleanTree: each message has a way up to a beginning", () => {
  const parents = { a: "b", b: "a", c: "a", d: "gone", e: "d", f: "f", g: null };
  const messages = Object.entries(parents).map(([id, parent]) => ({ ...whole, id, parent }));
  const clean = new Map(cleanTree(messages).map(({ id, parent }) => [id, parent]));
  for (const id of clean.keys()) {
    let at: string | null = id;
    for (let steps = 0; at !== null; steps++) {
      assert.ok(steps < 10, `${id} goes round in a circle`);
      at = clean.get(at) ?? null;
    }
  }
  assert.equal(clean.get("c"), "a", "what is right stays");
  assert.equal(clean.get("e"), "d");
});

test("cleanMessage: of files those that are a text, a picture or a sound", () => {
  const picture = { name: "p", file: "0a", type: "image/png", size: 3, width: 2, height: 1 };
  const sound = { name: "s", file: "0b", type: "audio/wav", size: 4, seconds: 1.5 };
  const files = [
    { name: "t", text: "x", odd: 1 },
    picture,
    sound,
    { ...picture, type: "image/svg+xml" },
    { ...picture, type: "text/html" },
    { ...picture, file: "../x" },
    { ...picture, name: 7 },
    { ...picture, width: -1, height: "1", seconds: Number.NaN, size: 1e99 },
    null,
  ];
  const { width: _, height: __, ...bare } = picture;
  const kept = cleanMessage({ ...whole, role: "user", files, has: ["0a"] });
  assert.deepEqual(kept?.files, [{ name: "t", text: "x" }, picture, sound, { ...bare, size: 0 }]);
  assert.equal(kept !== undefined && "has" in kept, false);
});

test("cleanMessage: a value of a plugin that is nested so deeply that nothing could write it is left out", () => {
  let value: unknown = 1;
  for (let n = 0; n < 100_000; n++) value = [value];
  const outputs = [
    { plugin: "a", tokens: 1, value },
    { plugin: "b", tokens: 2, value: [[1]] },
  ];
  assert.deepEqual(cleanMessage({ ...whole, outputs })?.outputs, [outputs[1]]);
});

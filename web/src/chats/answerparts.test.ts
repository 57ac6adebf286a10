// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { withParts } from "./answerparts.ts";
import type { Message } from "./message.ts";

const answer = { phase: "streaming", model: "m", seq: 0, tokens: 0, asked: 0 } as const;
const empty: Message = {
  id: "m",
  chat: "c",
  parent: null,
  role: "assistant",
  created: 0,
  content: "",
  answer,
};

test("withParts: content, reasoning and tool calls grow", () => {
  let m = withParts(empty, { reasoning: "hm" }, 1);
  m = withParts(m, { reasoning: "." }, 2);
  assert.deepEqual(m, { ...empty, reasoning: "hm." });
  m = withParts(m, { content: "It is " }, 3);
  m = withParts(m, { content: "so." }, 4);
  assert.deepEqual(m.answer, { ...answer, reasonedUntil: 3 }, "reasoning ends where content begins");
  m = withParts(m, { calls: [{ index: 0, id: "1", function: { name: "f", arguments: "" } }] }, 5);
  m = withParts(m, { calls: [{ index: 0, function: { arguments: '{"a"' } }] }, 6);
  m = withParts(m, { calls: [{ index: 0, function: { arguments: ":1}" } }] }, 7);
  m = withParts(m, { calls: [{ index: 1, id: "2", function: { name: "g", arguments: "{}" } }] }, 8);
  assert.equal(m.content, "It is so.");
  assert.equal(m.reasoning, "hm.");
  assert.deepEqual(m.calls, [
    { id: "1", type: "function", function: { name: "f", arguments: '{"a":1}' } },
    { id: "2", type: "function", function: { name: "g", arguments: "{}" } },
  ]);
});

test("withParts: a reset says all anew", () => {
  const before = withParts(
    empty,
    { reasoning: "hm", content: "x", calls: [{ index: 0, id: "1", function: { name: "f", arguments: "" } }] },
    1,
  );
  assert.deepEqual(withParts(before, { reset: true }, 2), empty);
  assert.deepEqual(withParts(before, { reset: true, reasoning: "h" }, 2), { ...empty, reasoning: "h" });
  const again = withParts(before, { reset: true, reasoning: "hm", content: "x" }, 2);
  assert.equal(again.answer?.reasonedUntil, 1, "the page saw it earlier");
});

test("withParts: a reset leaves what the message had before it was continued", () => {
  const earlier = { content: 3, reasoning: 1, tokens: 2 };
  const message: Message = {
    ...empty,
    content: "Hello",
    reasoning: "hm",
    answer: { phase: "streaming", model: "", seq: 1, tokens: 4, asked: 0, earlier },
  };
  const { content, reasoning } = withParts(message, { reset: true, content: "p!" }, 1);
  assert.deepEqual([content, reasoning], ["Help!", "h"]);
});

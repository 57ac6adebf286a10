// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { answerFacts, canGoOn, contextUsed } from "./answerfacts.ts";
import type { Answering } from "./message.ts";

const base: Answering = { phase: "done", model: "m", seq: 3, tokens: 3, asked: 1000 };
const usage = { prompt_tokens: 10, completion_tokens: 1234 };

for (const [answer, want] of [
  [{ phase: "waiting" }, "Waiting for the server…"],
  [{ phase: "streaming", first: 1100 }, "3 tokens"],
  [{ phase: "paused" }, "3 tokens · paused"],
  [{ phase: "lost", tokens: 0 }, "Waiting for the connection…"],
  [{ phase: "lost", stream: "name" }, "3 tokens · the connection is lost; the server goes on"],
  [{ phase: "streaming", tokens: 1 }, "1 token"],
  [
    {
      first: 1042,
      outcome: { reason: "stop", usage, timings: { predicted_per_second: 52.13, queued_ms: 20 } },
    },
    "1,234 tokens · 52.1 tokens/s · first after 42 ms",
  ],
  [
    { first: 3500, outcome: { reason: "length", usage, timings: { queued_ms: 2100 } } },
    "1,234 tokens · first after 2.5 s · waited 2.1 s in the queue · cut at the token limit",
  ],
  [
    { earlier: { content: 5, reasoning: 0, tokens: 6 }, outcome: { reason: "cancelled", usage } },
    "1,240 tokens · stopped",
  ],
  [{ tokens: 0, edited: true, outcome: { reason: "stop" } }, "written by you"],
  [{ edited: true, outcome: { reason: "stop" } }, "3 tokens · begun by you"],
] as [Partial<Answering>, string][]) {
  test(`answerFacts: ${want}`, () => assert.equal(answerFacts({ ...base, ...answer }), want));
}

test("contextUsed: what the host says, or what has come so far", () => {
  assert.equal(contextUsed({ ...base, outcome: { reason: "stop", usage } }), 1244);
  assert.equal(contextUsed({ ...base, promptTokens: 7 }), 10);
  assert.equal(
    contextUsed({ ...base, promptTokens: 7, earlier: { content: 1, reasoning: 0, tokens: 2 } }),
    8,
  );
  assert.equal(contextUsed(base), undefined);
});

test("canGoOn: an answer that was cut, or that a person wrote", () => {
  assert.ok(canGoOn({ ...base, outcome: { reason: "cancelled" } }, "x"));
  assert.ok(canGoOn({ ...base, outcome: { reason: "error" } }, "x"));
  assert.ok(canGoOn({ ...base, edited: true, outcome: { reason: "stop" } }, "x"));
  assert.ok(!canGoOn({ ...base, outcome: { reason: "cancelled" } }, ""));
  assert.ok(!canGoOn({ ...base, outcome: { reason: "stop" } }, "x"));
  assert.ok(!canGoOn({ ...base, phase: "streaming" }, "x"));
});

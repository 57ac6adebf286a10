// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Exchange } from "../conversation.ts";
import { summary } from "./outcome.ts";

const blank: Exchange = { question: "", answer: "", pieces: 0, traces: [], phase: "waiting" };

for (const { name, fields, want } of [
  { name: "waiting", fields: {}, want: "Waiting for a slot…" },
  { name: "streaming", fields: { phase: "streaming", pieces: 1 }, want: "1 token" },
  { name: "stopping", fields: { phase: "stopping" }, want: "Stopping…" },
  {
    name: "a full answer",
    fields: { phase: "done", outcome: { reason: "stop", tokens: 1234, perSecond: 2431.7 } },
    want: "1,234 tokens · 2,430 tokens/s",
  },
  {
    name: "a slow model",
    fields: { phase: "done", outcome: { reason: "length", tokens: 9, perSecond: 0.75 } },
    want: "9 tokens · 0.75 tokens/s · cut at the token limit",
  },
  {
    name: "stopped before the first token",
    fields: { phase: "done", outcome: { reason: "cancelled", tokens: 0, perSecond: 0 } },
    want: "0 tokens · stopped",
  },
] as { name: string; fields: Partial<Exchange>; want: string }[]) {
  test(`summary: ${name}`, () => assert.equal(summary({ ...blank, ...fields }), want));
}

// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Change, Conversation } from "./conversation.ts";

test("Conversation.prompt: system prompt, then all answered questions, then the last one", () => {
  const talk = new Conversation();
  talk.change(talk.add("Hi"), { answer: "Hello!" });
  talk.add("This one failed");
  talk.change(talk.add("And now?"), { answer: "an earlier try" });
  assert.deepEqual(talk.prompt("Be kind."), [
    { role: "system", content: "Be kind." },
    { role: "user", content: "Hi" },
    { role: "assistant", content: "Hello!" },
    { role: "user", content: "And now?" },
  ]);
});

test("Conversation.prompt: an empty system prompt is none", () => {
  const talk = new Conversation();
  talk.add("Hi");
  assert.deepEqual(talk.prompt(" \n"), [{ role: "user", content: "Hi" }]);
});

test("Conversation.change: what was cleared away changes unseen", () => {
  const talk = new Conversation();
  const seen: Change["kind"][] = [];
  talk.changes.listen((change) => seen.push(change.kind));
  const exchange = talk.add("Hi");
  talk.change(exchange, { answer: "He" });
  talk.clear();
  talk.change(exchange, { answer: "Hello" });
  assert.deepEqual(seen, ["added", "changed", "cleared"]);
  assert.equal(talk.last, undefined);
});

// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { Chat } from "./chat.ts";
import type { GenerateRequest, Message } from "./protocol.ts";
import type { Listener } from "./streams.ts";

/** A chat whose streams the test plays, on a clock that it turns. */
function setUp() {
  const played: { request: GenerateRequest; listener: Listener; cancelled: number }[] = [];
  const clock = { now: 0 };
  const streams = {
    generate(request: GenerateRequest, listener: Listener) {
      const stream = { request, listener, cancelled: 0 };
      played.push(stream);
      return { cancel: () => void stream.cancelled++ };
    },
  };
  const choices = { system: () => "", request: (messages: Message[]) => ({ messages }) };
  const chat = new Chat(streams, choices, () => clock.now);
  const stream = (n: number) => {
    const found = played[n];
    assert.ok(found, `stream ${n} was not started`);
    return found;
  };
  return { chat, clock, played, stream };
}

test("Chat.send: the answer grows with each token and ends with its figures", () => {
  const { chat, clock, stream } = setUp();
  chat.send("  Hi ");
  const last = chat.conversation.last;
  assert.equal(last?.question, "Hi");
  assert.equal(last?.phase, "waiting");
  for (const text of ["He", "ll", "o"]) {
    stream(0).listener.token(text);
    clock.now += 100;
  }
  assert.equal(last?.answer, "Hello");
  assert.equal(last?.phase, "streaming");
  stream(0).listener.end({ reason: "stop", usage: { prompt_tokens: 1, completion_tokens: 4 } });
  assert.equal(last?.phase, "done");
  // Two steps between three pieces in 0.3 s: the clock went on until the end.
  assert.deepEqual(last?.outcome, { reason: "stop", tokens: 4, perSecond: 2 / 0.3 });
});

test("Chat.send: the host's own rate counts", () => {
  const { chat, stream } = setUp();
  chat.send("Hi");
  stream(0).listener.end({ reason: "length", timings: { predicted_per_second: 42 } });
  assert.deepEqual(chat.conversation.last?.outcome, { reason: "length", tokens: 0, perSecond: 42 });
});

test("Chat.send: one answer at a time, and no empty question", () => {
  const { chat, played } = setUp();
  chat.send(" \n");
  chat.send("Hi");
  chat.send("Again");
  assert.equal(played.length, 1);
});

test("Chat.stop: cancels once, and shows nothing that comes later", () => {
  const { chat, stream } = setUp();
  chat.stop();
  chat.send("Hi");
  stream(0).listener.token("He");
  chat.stop();
  chat.stop();
  stream(0).listener.token("llo");
  assert.equal(stream(0).cancelled, 1);
  assert.equal(chat.busy, true);
  stream(0).listener.end({ reason: "cancelled" });
  assert.equal(chat.conversation.last?.answer, "He");
  assert.equal(chat.conversation.last?.outcome?.reason, "cancelled");
  assert.equal(chat.busy, false);
});

test("Chat.regenerate: the same question again, in the same place", () => {
  const { chat, stream } = setUp();
  chat.send("Hi");
  stream(0).listener.token("Hello");
  chat.regenerate(); // too early
  stream(0).listener.end({ reason: "stop" });
  chat.regenerate();
  assert.deepEqual(stream(1).request.messages, [{ role: "user", content: "Hi" }]);
  assert.equal(chat.conversation.exchanges.length, 1);
  assert.equal(chat.conversation.last?.answer, "");
  assert.equal(chat.conversation.last?.outcome, undefined);
});

test("Chat.reset: stops what runs, and its tokens reach nobody", () => {
  const { chat, stream } = setUp();
  chat.send("Hi");
  chat.reset();
  assert.equal(stream(0).cancelled, 1);
  chat.send("New");
  stream(0).listener.token("old");
  assert.equal(chat.conversation.last?.answer, "");
});

test("Chat.send: keeps how the tokens were chosen, until the answer is asked for again", () => {
  const { chat, stream } = setUp();
  chat.send("Hi");
  const trace = { id: 1, token: "He", before: { n: 2, best: [] }, stages: [] };
  stream(0).listener.token("He", trace);
  stream(0).listener.token("llo");
  stream(0).listener.end({ reason: "stop" });
  assert.deepEqual(chat.conversation.last?.traces, [trace]);
  chat.regenerate();
  assert.deepEqual(chat.conversation.last?.traces, []);
});

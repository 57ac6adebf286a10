// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { signal } from "@preact/signals";
import type { ClientFrame } from "../host/protocol.ts";
import { type Listener, Stream } from "../host/streams.ts";
import { Answers, type Place } from "./answering.ts";
import type { Message } from "./message.ts";

/** A host that the test plays, and one answer. */
function setUp(message: Partial<Message["answer"]> = {}) {
  const asked: unknown[] = [];
  const sent: ClientFrame[] = [];
  const listeners: Listener[] = [];
  const open = (what: unknown, listener: Listener) => {
    asked.push(what);
    listeners.push(listener);
    return new Stream("s", (frame) => sent.push(frame) > 0);
  };
  const streams = {
    generate: (request: unknown, listener: Listener) => open(request, listener),
    attach: (stream: string, seq: number, listener: Listener) => open([stream, seq], listener),
  };
  const online = signal(true);
  const answers = new Answers(streams, online);
  const state = {
    message: {
      id: "m",
      chat: "c",
      parent: null,
      role: "assistant",
      created: 0,
      content: "",
      answer: { phase: "waiting", model: "", seq: -1, tokens: 0, asked: 0, ...message },
    } as Message,
    written: 0,
  };
  const place: Place = {
    get: () => state.message,
    change: (change, soon) => {
      state.message = change(state.message);
      if (soon) state.written++;
    },
  };
  const started = { stream: "name", model: "tiny", seed: 7, prompt_tokens: 5, cached_tokens: 2 };
  const speaker = () => listeners.at(-1) as Listener;
  return { answers, online, place, state, asked, sent, started, speaker };
}

const request = { messages: [] };

test("Answers: an answer grows, ends, and is forgotten", () => {
  const { answers, place, state, started, speaker, asked } = setUp();
  answers.start(place, request);
  assert.deepEqual(asked, [request]);
  speaker().started(started);
  assert.equal(state.written, 1, "its name is in the store at once");
  speaker().token({ seq: 1, text: "On" });
  speaker().token({ seq: 2, text: "ce" });
  assert.equal(state.message.content, "Once");
  assert.equal(state.message.answer?.phase, "streaming");
  assert.equal(answers.running.value.size, 1);
  speaker().end({ reason: "stop" });
  assert.equal(answers.running.value.size, 0);
  const { first, ...answer } = state.message.answer ?? assert.fail();
  assert.ok(first !== undefined);
  const done = {
    phase: "done",
    outcome: { reason: "stop" },
    model: "tiny",
    seed: 7,
    promptTokens: 5,
    cachedTokens: 2,
  };
  assert.deepEqual(answer, { ...done, seq: 2, tokens: 2, asked: 0 }, "without the stream's name");
});

test("Answers: after a lost connection an answer goes on where it was, and nothing is doubled", () => {
  const { answers, online, place, state, asked, started, speaker } = setUp();
  answers.start(place, request);
  speaker().started(started);
  speaker().token({ seq: 1, text: "a" });
  online.value = false;
  speaker().lost();
  assert.equal(state.message.answer?.phase, "lost");
  online.value = true;
  assert.deepEqual(asked, [request, ["name", 1]]);
  speaker().token({ seq: 1, text: "a" });
  speaker().token({ seq: 2, text: "b" });
  assert.equal(state.message.content, "ab");
});

test("Answers: a request that has not begun is sent again", () => {
  const { answers, online, place, asked, speaker } = setUp();
  answers.start(place, request);
  online.value = false;
  speaker().lost();
  online.value = true;
  assert.deepEqual(asked, [request, request]);
});

test("Answers: one that ran when the page was left goes on, or says that it is gone", () => {
  const left = setUp({ stream: "name", seq: 4, phase: "streaming" });
  left.answers.resume(left.place);
  assert.deepEqual(left.asked, [["name", 4]]);
  const gone = setUp();
  gone.answers.resume(gone.place);
  assert.equal(gone.state.message.answer?.outcome?.error?.type, "answer_gone");
  assert.equal(gone.answers.running.value.size, 0);
});

test("Answers: a stopped answer shows nothing more", () => {
  const { answers, place, state, sent, started, speaker } = setUp();
  const run = answers.start(place, request);
  speaker().started(started);
  speaker().token({ seq: 1, text: "a" });
  run.stop();
  speaker().token({ seq: 2, text: "b" });
  speaker().end({ reason: "cancelled" });
  assert.equal(state.message.content, "a");
  assert.deepEqual(sent, [{ type: "cancel", id: "s" }]);
});

// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { signal } from "@preact/signals";
import type { ClientFrame } from "../host/protocol.ts";
import { Stream, type StreamListener } from "../host/streams.ts";
import { drawnCat, insteadOfFrog } from "../trace/sampletraces.ts";
import { Answers } from "./answers.ts";
import type { Message } from "./message.ts";
import type { MessageHandle } from "./runninganswer.ts";
import type { AnswerSharing } from "./tabs.ts";

/** A host that the test plays, and one answer. */
function setUp(message: Partial<Message["answer"]> = {}, sharing?: AnswerSharing) {
  const asked: unknown[] = [];
  const sent: ClientFrame[] = [];
  const listeners: StreamListener[] = [];
  const open = (what: unknown, listener: StreamListener) => {
    asked.push(what);
    listeners.push(listener);
    return new Stream("s", (frame) => sent.push(frame) > 0);
  };
  const streams = {
    generate: (request: unknown, listener: StreamListener) => open(request, listener),
    attach: (stream: string, seq: number, listener: StreamListener) => open([stream, seq], listener),
    fork: (of: Stream, sampling: unknown, listener: StreamListener) => open([of.id, sampling], listener),
  };
  const online = signal(true);
  const answers = new Answers(streams, online, sharing);
  const state = {
    node: signal({
      id: "m",
      chat: "c",
      parent: null,
      role: "assistant",
      created: 0,
      content: "",
      answer: { phase: "waiting", model: "", seq: -1, tokens: 0, asked: 0, ...message },
    } as Message),
    get message(): Message {
      return this.node.peek();
    },
    written: 0,
  };
  const place: MessageHandle = {
    message: state.node,
    change: async (change, soon) => {
      state.node.value = change(state.message);
      if (soon) state.written++;
    },
    read: async () => {},
  };
  const started = { stream: "name", model: "tiny", seed: 7, prompt_tokens: 5, cached_tokens: 2 };
  const speaker = () => listeners.at(-1) as StreamListener;
  return { answers, online, place, state, asked, sent, started, speaker };
}

const request = { messages: [] };

test("Answers: an answer knows whether its tokens are recorded, and how often some were taken back", () => {
  const { answers, place, state, started, speaker } = setUp();
  answers.start(place, request);
  speaker().started(started);
  speaker().token({ seq: 1, text: "On" });
  assert.deepEqual([state.message.answer?.traced, state.message.answer?.backed], [undefined, undefined]);
  speaker().token({ seq: 2, text: " toad", trace: insteadOfFrog() });
  speaker().token({ seq: 3, text: " cat", trace: drawnCat() });
  speaker().token({ seq: 4, text: " toad", trace: insteadOfFrog() });
  assert.deepEqual([state.message.answer?.traced, state.message.answer?.backed], [true, 2]);
});

/** What was read from the store is taken over. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

test("Answers: an answer grows, ends, and is forgotten", () => {
  const { answers, place, state, started, speaker, asked } = setUp();
  answers.start(place, request);
  assert.deepEqual(asked, [request]);
  speaker().started(started);
  assert.equal(state.written, 1, "its name is in the store at once");
  speaker().token({ seq: 1, text: "On" });
  speaker().parts({ content: "On" });
  speaker().token({ seq: 2, text: "ce" });
  speaker().parts({ content: "ce" });
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
  speaker().parts({ content: "a" });
  online.value = false;
  speaker().lost();
  assert.equal(state.message.answer?.phase, "lost");
  online.value = true;
  assert.deepEqual(asked, [request, ["name", 1]]);
  assert.equal(state.message.answer?.phase, "streaming");
  speaker().token({ seq: 1, text: "a" });
  speaker().parts({ reset: true, content: "a" });
  speaker().token({ seq: 2, text: "b" });
  speaker().parts({ content: "b" });
  assert.equal(state.message.content, "ab");
  assert.equal(state.message.answer?.tokens, 2);
});

test("Answers: a request that has not begun is sent again", () => {
  const { answers, online, place, asked, speaker } = setUp();
  answers.start(place, request);
  online.value = false;
  speaker().lost();
  online.value = true;
  assert.deepEqual(asked, [request, request]);
});

test("Answers: a request that a server refuses because it ends is sent again over the next connection", () => {
  const { answers, online, place, state, asked, speaker } = setUp();
  answers.start(place, request);
  speaker().end({
    reason: "error",
    error: { code: "shutting_down", message: "the server is shutting down" },
  });
  assert.equal(state.message.answer?.phase, "lost");
  assert.deepEqual(asked, [request]);
  online.value = false;
  online.value = true;
  assert.deepEqual(asked, [request, request]);
});

test("Answers: what runs says which server has it", () => {
  const { answers, place, started, speaker } = setUp();
  answers.start(place, request);
  assert.equal(answers.home, "");
  speaker().started(started);
  assert.equal(answers.home, "", "a server that is the only one");
  speaker().started({ ...started, stream: "host.example.org.Q4" });
  assert.equal(answers.home, "host.example.org");
  speaker().end({ reason: "stop" });
  assert.equal(answers.home, "");
});

test("Answers: one that ran when the page was left goes on, or says that it is gone", async () => {
  const left = setUp({ stream: "name", seq: 4, phase: "streaming" });
  left.answers.resume(left.place);
  await settled();
  assert.deepEqual(left.asked, [["name", 4]]);
  const gone = setUp();
  gone.answers.resume(gone.place);
  await settled();
  assert.equal(gone.state.message.answer?.outcome?.error?.type, "answer_gone");
  assert.equal(gone.answers.running.value.size, 0);
});

test("Answers: a stopped answer shows nothing more", () => {
  const { answers, place, state, sent, started, speaker } = setUp();
  const run = answers.start(place, request);
  speaker().started(started);
  speaker().token({ seq: 1, text: "a" });
  speaker().parts({ content: "a" });
  run.stop();
  speaker().token({ seq: 2, text: "b" });
  speaker().parts({ content: "b" });
  speaker().end({ reason: "cancelled" });
  assert.equal(state.message.content, "a");
  assert.deepEqual(sent, [{ type: "cancel", id: "s" }]);
});

test("Answers: what is stopped without a connection, the host stops once there is one", () => {
  for (const first of ["lost", "stop"]) {
    const { answers, online, place, state, sent, asked, started, speaker } = setUp();
    const run = answers.start(place, request);
    speaker().started(started);
    speaker().token({ seq: 1, text: "a" });
    online.value = false;
    if (first === "stop") run.stop();
    speaker().lost();
    if (first === "lost") run.stop();
    assert.equal(state.message.answer?.phase, "stopping");
    online.value = true;
    assert.deepEqual(asked.at(-1), ["name", 1]);
    assert.equal(sent.at(-1)?.type, "cancel");
    speaker().token({ seq: 2, text: "b" });
    const gone = { type: "invalid_request_error", code: "unknown_stream", message: "no such stream" };
    speaker().end(first === "stop" ? { reason: "cancelled" } : { reason: "error", error: gone });
    assert.deepEqual(state.message.answer?.outcome, { reason: "cancelled" });
    assert.equal(answers.running.value.size, 0);
  }
  const { answers, online, place, state, speaker } = setUp(); // one that the host has not named cannot be found again
  const run = answers.start(place, request);
  online.value = false;
  speaker().lost();
  run.stop();
  assert.deepEqual(state.message.answer?.outcome, { reason: "cancelled" });
});

test("Run: an answer that was paused before the host had begun it is paused when it is asked for anew", async () => {
  for (const reloaded of [false, true]) {
    const { answers, online, place, state, asked, sent, started, speaker } = setUp(
      reloaded ? { phase: "paused" } : {},
    );
    if (reloaded) {
      answers.resume(place, request);
      await settled();
    } else {
      answers.start(place, request);
      speaker().paused(true);
      online.value = false;
      speaker().lost();
      online.value = true;
    }
    assert.deepEqual(asked.at(-1), request);
    assert.deepEqual(sent, [{ type: "pause", id: "s" }]);
    speaker().paused(true);
    speaker().started(started);
    assert.equal(state.message.answer?.phase, "paused");
  }
});

test("Run: it is paused once the host says so, also when the page comes back", () => {
  const { answers, online, place, state, sent, started, speaker } = setUp();
  const run = answers.start(place, request);
  speaker().started(started);
  speaker().token({ seq: 1, text: "a" });
  run.pause();
  assert.equal(state.message.answer?.phase, "streaming");
  speaker().paused(true);
  speaker().token({ seq: 2, text: "b" });
  assert.equal(state.message.answer?.phase, "paused", "tokens that were on their way change nothing");
  online.value = false;
  speaker().lost();
  online.value = true;
  speaker().paused(true);
  assert.equal(state.message.answer?.phase, "paused");
  run.resume();
  speaker().paused(false);
  assert.equal(state.message.answer?.phase, "streaming");
  assert.deepEqual(
    sent.map(({ type }) => type),
    ["pause", "resume"],
  );
});

test("Run: what plugins tell is kept, once", () => {
  const { answers, place, state, started, speaker } = setUp();
  answers.start(place, request);
  const told = { plugin: "count", tokens: 0, value: { seen: [1] } };
  speaker().started(started);
  speaker().output({ seq: 1, ...told });
  speaker().token({ seq: 2, text: "a" });
  speaker().output({ seq: 3, plugin: "count", tokens: 1, value: null });
  speaker().output({ seq: 1, ...told }); // a connection that was lost tells it again
  assert.deepEqual(state.message.outputs, [told, { plugin: "count", tokens: 1, value: null }]);
  assert.equal(state.message.answer?.seq, 3);
});

test("Run: tokens that are taken back leave the pieces, and the count", async () => {
  const { answers, place, state, started, speaker } = setUp({ stream: "name", seq: 4, tokens: 4, first: 1 });
  const run = answers.resume(place);
  await settled();
  speaker().started(started);
  for (const [i, text] of ["a", "b", "c"].entries()) speaker().token({ seq: 5 + i, text });
  assert.deepEqual([run.before, run.pieces.length], [4, 3]);
  speaker().rewound({ seq: 8, tokens: 2, removed: "bc" });
  speaker().rewound({ seq: 8, tokens: 2, removed: "bc" });
  assert.deepEqual(run.pieces, [{ text: "a" }]);
  assert.deepEqual([run.before, state.message.answer?.tokens, state.message.answer?.seq], [4, 5, 8]);
  speaker().rewound({ seq: 9, tokens: 3, removed: "a" });
  speaker().token({ seq: 10, text: "d" });
  assert.deepEqual([run.before, run.pieces], [2, [{ text: "d" }]]);
});

test("Run: what is set is known, unless the host refuses it", () => {
  const { answers, place, state, started, speaker } = setUp();
  const run = answers.start(place, request);
  speaker().started(started);
  run.set({ temperature: 0 });
  run.set({ top_k: 3 });
  assert.deepEqual(state.message.answer?.set, { temperature: 0, top_k: 3 });
  speaker().refused("set");
  assert.deepEqual(state.message.answer?.set, { temperature: 0 });
});

test("Answers: a fork is a run of its own, and gone where its source is", () => {
  const one = setUp();
  const source = one.answers.start(one.place, request);
  one.answers.fork(source, setUp().place, { temperature: 0 });
  assert.deepEqual(one.asked, [request, ["s", { temperature: 0 }]]);
  const lost = setUp();
  const away = lost.answers.start(lost.place, request);
  lost.online.value = false;
  lost.speaker().lost();
  const other = setUp();
  lost.answers.fork(away, other.place, {});
  assert.equal(other.state.message.answer?.outcome?.error?.type, "answer_gone");
});

test("Answers: one that was being stopped when the page was left is stopped", async () => {
  const { answers, place, sent } = setUp({ stream: "name", seq: 4, phase: "stopping" });
  answers.resume(place);
  await settled();
  assert.deepEqual(sent, [{ type: "cancel", id: "s" }]);
});

test("Answers: another tab takes an answer over as it is in the store, where it may have ended", async () => {
  const grants: (() => void)[] = [];
  const sharing: AnswerSharing = {
    hold: () => () => {},
    claim(_answer, granted) {
      grants.push(granted);
      return () => {};
    },
    steer() {},
  };
  const { answers, place, state, asked } = setUp({}, sharing);
  place.read = async () => {
    state.node.value = {
      ...state.message,
      answer: { phase: "done", model: "", seq: -1, tokens: 0, asked: 0, outcome: { reason: "error" } },
    };
  };
  answers.resume(place, request);
  grants[0]?.();
  await settled();
  assert.deepEqual(asked, [], "the host is not asked a second time");
  assert.equal(answers.running.value.size, 0);
});

test("Answers: other tabs may have an answer only once its end is in the store", async () => {
  const order: string[] = [];
  const sharing: AnswerSharing = {
    hold: () => () => order.push("given up"),
    claim: () => () => {},
    steer() {},
  };
  const { answers, place, speaker } = setUp({}, sharing);
  const { change } = place;
  place.change = async (how, soon) => {
    await change(how, soon);
    await settled();
    order.push("written");
  };
  answers.start(place, request);
  order.length = 0;
  speaker().end({ reason: "stop" });
  await settled();
  await settled();
  assert.deepEqual(order.slice(-2), ["written", "given up"]);
});

test("Run.abandon: nothing that comes later changes the message, nor the answer that goes on in its place", () => {
  const { answers, place, state, sent, started, speaker } = setUp();
  const run = answers.start(place, request);
  const first = speaker();
  first.started(started);
  first.parts({ content: "a" });
  run.abandon();
  assert.deepEqual(sent, [{ type: "cancel", id: "s" }]);
  assert.equal(answers.running.value.size, 0);
  const again = answers.start(place, request);
  speaker().started(started);
  first.parts({ content: "b" });
  first.token({ seq: 1, text: "b" });
  first.end({ reason: "cancelled" });
  assert.equal(state.message.content, "a");
  assert.equal(state.message.answer?.seq, 0);
  assert.deepEqual([...answers.running.value.values()], [again]);
});

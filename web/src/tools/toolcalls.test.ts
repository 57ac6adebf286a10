// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { signal } from "@preact/signals";
import { Answers } from "../chats/answers.ts";
import { Chat } from "../chats/chat.ts";
import { Drafts } from "../chats/drafts.ts";
import type { Message } from "../chats/message.ts";
import { QuestionQueue } from "../chats/questionqueue.ts";
import { type AnswerSharing, onlyTab } from "../chats/tabs.ts";
import type { GenerateRequest, ToolCall } from "../host/protocol.ts";
import { Stream, type StreamListener } from "../host/streams.ts";
import { requestFor } from "../settings/request.ts";
import { defaultSettings, type Settings } from "../settings/settings.ts";
import { mostRounds, ToolCalls } from "./toolcalls.ts";
import { type ToolServer, ToolServers } from "./toolservers.ts";

const url = "http://sums/mcp";
const server: ToolServer = {
  url,
  name: "sums",
  token: "",
  tools: [{ name: "add", description: "", parameters: {} }],
  off: [],
  always: [],
};

/** A chat whose host the test plays, with a server that adds. */
function setUp(
  always: string[] = [],
  sharing: Pick<AnswerSharing, "claim"> = onlyTab,
  shared = new Map<string, Message>(),
) {
  const asked: GenerateRequest[] = [];
  const listeners: StreamListener[] = [];
  const streams = {
    generate: (body: GenerateRequest, listener: StreamListener) => {
      asked.push(body);
      listeners.push(listener);
      return new Stream("s", () => true);
    },
  };
  const answers = new Answers(streams as never, signal(true));
  const around = {
    store: {
      message: async (id: string) => shared.get(id),
      keepMessage: async (message: Message) => void shared.set(message.id, message),
      removeMessages: async () => {},
    },
    answers,
    keep() {},
    request: (settings: Settings, messages: readonly Message[]) => requestFor(settings, new Set(), messages),
  };
  const settings = { ...defaultSettings, servers: [url] };
  const chat = new Chat({ id: "c", title: "", created: 0, changed: 0, settings, branches: {} }, [], around);
  const kept = new Map<string, string>();
  const storage = {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => void kept.set(name, value),
    removeItem: (name: string) => void kept.delete(name),
  };
  const servers = new ToolServers(storage);
  servers.put({ ...server, always });
  const ran: unknown[] = [];
  let serve = async (given: Record<string, unknown>) => ({ text: `${given.a}`, failed: false });
  const call = async (_: unknown, name: string, given: Record<string, unknown>, stop?: AbortSignal) => {
    ran.push([name, given]);
    const stopped = new Promise<never>((_, reject) =>
      stop?.addEventListener("abort", () => reject(new Error("it was stopped"))),
    );
    return Promise.race([serve(given), stopped]);
  };
  const open = new Set([chat]); // in memory
  const chats = { of: () => [...open][0] };
  const calls = new ToolCalls(chats, servers, async () => ({ call }), sharing);
  const queue = new QuestionQueue(new Drafts(storage), chats);
  answers.whenEnded = (run) => calls.begin(run);
  /** The model ends its answer with calls of add. */
  const asksFor = async (...given: string[]) => {
    const speaker = listeners.at(-1);
    speaker?.started({ stream: "s", model: "m", prompt_tokens: 1, cached_tokens: 0 });
    const parts = given.map((text, index) => ({
      index,
      id: `c${index}`,
      function: { name: "add", arguments: text },
    }));
    speaker?.parts({ calls: parts });
    speaker?.end({ reason: "tool_calls" });
    await settled();
  };
  const last = () => chat.tree.leaf as Message;
  const end = () => listeners.at(-1)?.end({ reason: "stop" });
  const by = (next: typeof serve) => (serve = next);
  return { chat, open, queue, calls, servers, asked, ran, asksFor, end, last, serve: by };
}

const settled = () => new Promise(setImmediate);
const callOf = ({ calls }: Message, at = 0) => calls?.[at] as ToolCall;
const told = (request: GenerateRequest | undefined) =>
  request?.messages.filter(({ role }) => role === "tool").map(({ content }) => content);

test("ToolCalls: a tool with a permission runs, and the model goes on with what it answers", async () => {
  const { chat, asked, ran, asksFor, last } = setUp(["add"]);
  chat.ask("1 + 1?");
  await asksFor('{"a":2}');
  assert.deepEqual(ran, [["add", { a: 2 }]]);
  assert.equal(asked.length, 2);
  assert.deepEqual(told(asked[1]), ["2"]);
  assert.equal(last().answer?.phase, "waiting", "the answer goes on below");
});

test("ToolCalls: without a permission nothing runs until a person says so, for once or for always", async () => {
  const { chat, calls, servers, ran, asked, asksFor, last } = setUp();
  chat.ask("1 + 1?");
  await asksFor('{"a":2}');
  assert.deepEqual(ran, []);
  await calls.run(chat, last().id, callOf(last()));
  assert.equal(ran.length, 1);
  assert.equal(asked.length, 2);
  assert.ok(!servers.mayRun(server, "add"), "for once");
  await asksFor('{"a":3}');
  await calls.run(chat, last().id, callOf(last()), true);
  assert.ok(servers.mayRun(server, "add"));
});

test("ToolCalls: the model goes on once all calls are answered, by whomever", async () => {
  const { chat, calls, asked, asksFor, last } = setUp();
  chat.ask("1 + 1?");
  await asksFor('{"a":2}', '{"a":3}');
  const { id } = last();
  calls.answer(chat, id, callOf(last()), "two");
  assert.equal(asked.length, 1);
  await calls.run(chat, id, callOf(chat.tree.node(id).peek(), 1));
  assert.deepEqual(told(asked[1]), ["two", "3"]);
});

test("ToolCalls: a server that cannot be reached, or is stopped, leaves the call to a person", async () => {
  const { chat, calls, asked, asksFor, last, serve } = setUp();
  chat.ask("1 + 1?");
  await asksFor('{"a":2}');
  const { id } = last();
  serve(() => Promise.reject(new Error("it does not answer")));
  await calls.run(chat, id, callOf(last()));
  const failed = { call: "c0", by: "sums", content: "it does not answer", failed: true, open: true };
  assert.deepEqual(last().results, [failed]);
  serve(() => new Promise(() => {}));
  const running = calls.run(chat, id, callOf(last()));
  await settled();
  assert.ok(calls.runs(id, callOf(last())));
  calls.stop(id, callOf(last()));
  await running;
  assert.equal(last().results?.[0]?.content, "it was stopped");
  assert.equal(asked.length, 1);
  calls.answer(chat, id, callOf(last()), "2");
  assert.deepEqual(told(asked[1]), ["2"]);
});

test("ToolCalls: who has asked on meanwhile is not interrupted", async () => {
  const { chat, calls, asked, asksFor, last } = setUp();
  chat.ask("1 + 1?");
  await asksFor('{"a":2}');
  const answer = last();
  chat.ask("Never mind.");
  await calls.run(chat, answer.id, callOf(answer));
  assert.equal(asked.length, 2);
  assert.equal(chat.tree.node(answer.id).value.results?.[0]?.content, "2");
});

test("ToolCalls: a model that calls tools on and on is stopped, and a person is asked", async () => {
  const { chat, ran, asksFor } = setUp(["add"]);
  chat.ask("1 + 1?");
  for (let n = 0; n < mostRounds + 5; n++) await asksFor('{"a":2}');
  assert.equal(ran.length, mostRounds);
});

test("ToolCalls: a question that waits is asked once the answer has ended that the tools are for", async () => {
  for (const byHand of [false, true]) {
    const { chat, calls, queue, asked, asksFor, end, last } = setUp(byHand ? [] : ["add"]);
    chat.ask("1 + 1?");
    queue.add(chat.id, { text: "And then?", files: [] });
    await asksFor('{"a":2}');
    if (byHand) calls.answer(chat, last().id, callOf(last()), "2");
    assert.equal(asked.length, 2);
    assert.equal(asked[1]?.messages.at(-1)?.role, "tool");
    end();
    assert.equal(asked[2]?.messages.at(-1)?.content, "And then?");
  }
});

test("ToolCalls: nothing is asked in a chat that is gone when its tool has answered", async () => {
  const { chat, open, calls, asked, asksFor, last } = setUp();
  chat.ask("1 + 1?");
  await asksFor('{"a":2}');
  const running = calls.run(chat, last().id, callOf(last()));
  open.clear();
  await running;
  assert.equal(asked.length, 1);
  assert.equal(last().results?.[0]?.content, "2", "the answer is kept for who comes back");
});

/** Two tabs that show the same answer, which has called add, and what they share. */
async function twoTabs() {
  const waiting: (() => void)[] = []; // the first one has what all claim
  const claim = (_: string, granted: () => void) => {
    waiting.push(granted);
    if (waiting.length === 1) granted();
    return () => {
      const at = waiting.indexOf(granted);
      if (at >= 0) waiting.splice(at, 1);
      if (at === 0) waiting[0]?.();
    };
  };
  const shared = new Map<string, Message>();
  const [one, two] = [setUp([], { claim }, shared), setUp([], { claim }, shared)];
  one.chat.ask("1 + 1?");
  await one.asksFor('{"a":2}');
  for (const message of one.chat.tree.all()) two.chat.takeMessage(message);
  return { one, two, call: callOf(one.last()), id: one.last().id };
}

test("ToolCalls: of two tabs that allow a call one has it run, and the other shows the result", async () => {
  const { one, two, id, call } = await twoTabs();
  await Promise.all([one.calls.run(one.chat, id, call), two.calls.run(two.chat, id, call)]);
  assert.deepEqual([one.ran.length, two.ran.length], [1, 0]);
  assert.equal(two.chat.tree.node(id).peek().results?.[0]?.content, "2");
  assert.ok(!two.calls.runs(id, call));
  assert.deepEqual([one.asked.length, two.asked.length], [2, 0], "one of them goes on");
});

test("ToolCalls: a call that another tab has begun and given up is left to a person", async () => {
  const { one, two, id, call } = await twoTabs();
  one.serve(() => new Promise(() => {}));
  const running = one.calls.run(one.chat, id, call);
  await settled();
  let free = 0;
  two.calls.whenFree(two.chat, id, call, () => free++);
  two.calls.whenFree(two.chat, id, call, () => assert.fail("it wants to know no more"))();
  const allowed = two.calls.run(two.chat, id, call);
  await settled();
  assert.equal(free, 0);
  one.calls.stop(id, call);
  await Promise.all([running, allowed]);
  assert.equal(free, 1);
  assert.equal(two.chat.tree.node(id).peek().results?.[0]?.content, "it was stopped");
  assert.deepEqual(two.ran, []);
  await two.calls.run(two.chat, id, call);
  assert.equal(two.ran.length, 1, "who allows it again is obeyed");
});

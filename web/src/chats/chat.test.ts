// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { signal } from "@preact/signals";
import type { GenerateRequest } from "../host/protocol.ts";
import { Stream, type StreamListener } from "../host/streams.ts";
import { requestFor } from "../settings/request.ts";
import { defaultSettings } from "../settings/settings.ts";
import { Answers } from "./answers.ts";
import { Chat } from "./chat.ts";
import type { Message } from "./message.ts";

/** A chat with a question and a stopped answer, on a host that the test plays. */
function setUp() {
  const asked: GenerateRequest[] = [];
  const listeners: StreamListener[] = [];
  const stopped: string[] = [];
  const open = (listener: StreamListener) => {
    listeners.push(listener);
    return new Stream(`s${listeners.length}`, (frame) => stopped.push(frame.type) > 0);
  };
  const streams = {
    generate: (body: GenerateRequest, listener: StreamListener) => {
      asked.push(body);
      return open(listener);
    },
    attach: (_stream: string, _seq: number, listener: StreamListener) => open(listener),
    fork: (_of: Stream, _sampling: unknown, listener: StreamListener) => open(listener),
  };
  const kept = new Map<string, Message>();
  const store = {
    message: async (id: string) => kept.get(id),
    keepMessage: async (message: Message) => void kept.set(message.id, message),
    removeMessages: async (ids: readonly string[]) => ids.forEach((id) => void kept.delete(id)),
  };
  const around = {
    store,
    answers: new Answers(streams as never, signal(true)),
    keep() {},
    request: (settings: typeof defaultSettings, messages: readonly Message[]) =>
      requestFor(settings, new Set(), messages),
  };
  const info = { id: "c", title: "", created: 0, changed: 0, settings: defaultSettings, branches: {} };
  const messages: Message[] = [
    { id: "q", chat: "c", parent: null, role: "user", created: 1, content: "Hi?" },
    {
      id: "a",
      chat: "c",
      parent: "q",
      role: "assistant",
      created: 2,
      content: "Hel",
      answer: { phase: "done", model: "m", seq: 4, tokens: 2, asked: 2, outcome: { reason: "cancelled" } },
    },
  ];
  const chat = new Chat(info, messages, around);
  return { chat, asked, kept, stopped, speaker: () => listeners.at(-1) as StreamListener };
}

test("Chat.goOn: has the host go on with the text that is there, as the same message", () => {
  const { chat, asked, kept } = setUp();
  chat.goOn("a");
  assert.deepEqual(asked, [
    {
      messages: [
        { role: "user", content: "Hi?" },
        { role: "assistant", content: "Hel" },
      ],
      continue_final_message: "content",
      add_generation_prompt: false,
    },
  ]);
  const { content, answer } = chat.tree.node("a").peek();
  assert.equal(content, "Hel");
  assert.deepEqual(answer?.earlier, { content: 3, reasoning: 0, tokens: 2 });
  assert.equal(answer?.phase, "waiting");
  assert.equal(kept.get("a")?.answer?.phase, "waiting", "it can go on after a reload");
  assert.deepEqual(chat.tree.path.value, ["q", "a"]);
});

test("Chat.goOn: an answer that only reasoned goes on reasoning", () => {
  const { chat, asked } = setUp();
  chat.tree.change("a", (m) => ({ ...m, content: "", reasoning: "Hm" }));
  chat.goOn("a");
  assert.equal(asked[0]?.continue_final_message, "reasoning_content");
  assert.deepEqual(asked[0]?.messages.at(-1), { role: "assistant", content: "", reasoning_content: "Hm" });
});

test("Chat.edit and Chat.rewrite: a new message stands beside the old one", () => {
  const { chat, asked, speaker } = setUp();
  chat.edit("q", "Hello?", [{ name: "f", text: "x" }]);
  assert.match(String(asked[0]?.messages[0]?.content), /^f:\n[\s\S]*Hello\?$/);
  assert.equal(chat.tree.siblings("q").length, 2);
  speaker().end({ reason: "stop" });
  chat.tree.show("q");
  chat.rewrite("a", "My words");
  const path = chat.tree.path.value.map((id) => chat.tree.node(id).peek());
  assert.deepEqual(
    path.map(({ content }) => content),
    ["Hi?", "My words"],
  );
  assert.equal(path[1]?.answer?.edited, true);
});

test("Chat.goOnFrom: another version begins with the words, and both are shown", () => {
  const { chat, asked } = setUp();
  const { id } = chat.goOnFrom("a", { content: "Hey", reasoning: "", tokens: 1 });
  assert.deepEqual(asked[0]?.messages.at(-1), { role: "assistant", content: "Hey" });
  assert.equal(asked[0]?.continue_final_message, "content");
  assert.equal(asked[0]?.model, "m");
  assert.deepEqual(chat.tree.siblings("a"), ["a", id]);
  assert.equal(chat.tree.leaf?.content, "Hey");
  assert.deepEqual(chat.beside.value, ["a", id]);
});

test("Chat.ask: each column gets an answer, the first is shown, and all are stopped together", () => {
  const { chat, asked, stopped } = setUp();
  const columns = [{ temperature: 0 }, {}, { model: "n" }];
  chat.settings.value = { ...chat.settings.peek(), columns };
  const run = chat.ask("And?");
  assert.deepEqual(
    asked.map(({ temperature, model }) => [temperature, model]),
    [
      [0, undefined],
      [undefined, undefined],
      [undefined, "n"],
    ],
  );
  assert.equal(chat.tree.leaf?.id, run.id);
  const versions = chat.tree.siblings(run.id);
  assert.deepEqual(chat.beside.value, versions);
  const answers = versions.map((id) => chat.tree.node(id).peek());
  assert.deepEqual(
    answers.map(({ answer }) => answer?.column),
    ["temperature 0", "as this chat is set", "n"],
  );
  assert.equal(new Set(answers.map(({ created }) => created)).size, 3, "their order outlives a reload");
  chat.stop();
  assert.deepEqual(stopped, ["cancel", "cancel", "cancel"]);
});

test("Chat.remove: takes what follows too, stops what runs, and can be undone", () => {
  const { chat, kept, stopped, speaker } = setUp();
  chat.ask("And?");
  speaker().started({ stream: "n", model: "m", prompt_tokens: 1, cached_tokens: 0 });
  const before = chat.tree.path.value;
  assert.equal(before.length, 4);
  const undo = chat.remove("a");
  assert.deepEqual(chat.tree.path.value, ["q"]);
  assert.deepEqual(stopped, ["cancel"]);
  speaker().end({ reason: "cancelled" });
  assert.deepEqual([...kept.keys()].sort(), [], "the store has what was deleted");
  undo();
  assert.deepEqual(chat.tree.path.value, before);
  const leaf = chat.tree.leaf;
  assert.deepEqual([leaf?.answer?.phase, leaf?.answer?.outcome?.reason], ["done", "cancelled"]);
  assert.equal(kept.size, 3);
});

test("Chat.remove: what the host still says of a deleted answer is not in it when it is put back", () => {
  const { chat, speaker } = setUp();
  const { id } = chat.ask("And?");
  const said = speaker();
  said.started({ stream: "n", model: "m", prompt_tokens: 1, cached_tokens: 0 });
  said.parts({ content: "one " });
  const undo = chat.remove(id);
  said.parts({ content: "two " });
  undo();
  said.parts({ content: "three" });
  said.token({ seq: 3, text: "three" });
  assert.equal(chat.tree.node(id).peek().content, "one ");
  assert.equal(chat.tree.node(id).peek().answer?.phase, "done");
});

test("Chat.takeCut: an answer whose message another tab deleted is stopped", () => {
  const { chat, stopped } = setUp();
  const { id } = chat.ask("And?");
  chat.takeCut([id]);
  assert.deepEqual(stopped, ["cancel"]);
  assert.equal(chat.run, undefined);
});

test("Chat.reread: what changes here while the store is read is not lost", async () => {
  const { chat, kept } = setUp();
  kept.set("a", { ...chat.tree.node("a").peek(), content: "Hello" });
  await chat.reread("a");
  assert.equal(chat.tree.node("a").peek().content, "Hello", "what another tab wrote");
  const reading = chat.reread("a");
  const saving = chat.keepResult("a", { call: "c", content: "2" });
  await Promise.all([reading, saving]);
  assert.equal(chat.tree.node("a").peek().results?.[0]?.content, "2");
});

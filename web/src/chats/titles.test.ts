// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { signal } from "@preact/signals";
import type { ClientFrame, GenerateRequest } from "../host/protocol.ts";
import { Stream, type StreamListener } from "../host/streams.ts";
import { defaultSettings } from "../settings/settings.ts";
import { Answers } from "./answers.ts";
import { Chat } from "./chat.ts";
import { Titles, titleFrom } from "./titles.ts";

/** A chat, a host that the test plays, and what asks for titles. */
function setUp() {
  const asked: { request: GenerateRequest; listener: StreamListener }[] = [];
  const sent: ClientFrame[] = [];
  const open = (request: GenerateRequest, listener: StreamListener) => {
    asked.push({ request, listener });
    return new Stream(`s${asked.length}`, (frame) => sent.push(frame) > 0);
  };
  const answers = new Answers(
    { generate: open, attach: () => new Stream("", () => false), fork: () => new Stream("", () => false) },
    signal(true),
  );
  const info = { id: "c", title: "", created: 0, changed: 0, settings: defaultSettings, branches: {} };
  const store = {
    message: async () => undefined,
    keepMessage: async () => {},
    removeMessages: async () => {},
  };
  const request = (_: unknown, messages: readonly { role: string; content: string }[]) => ({
    messages: messages.map(({ role, content }) => ({ role, content })) as GenerateRequest["messages"],
  });
  const chat = new Chat(info, [], { store, answers, keep() {}, request });
  const chats = {
    of: ({ chat: id }: { chat: string }) => (id === "c" ? chat : undefined),
    rename: async (_: string, title: string) => {
      chat.title.value = title;
    },
  };
  const titles = new Titles(chats, answers, request);
  answers.whenEnded = (run) => titles.suggest(run);
  const say = (text: string, reason: "stop" | "length" | "error" = "stop") => {
    const { listener } = asked.at(-1) ?? assert.fail();
    listener.started({ stream: "n", model: "m", prompt_tokens: 1, cached_tokens: 0 });
    listener.parts({ content: text });
    listener.end({ reason });
  };
  return { chat, asked, sent, say };
}

test("Titles.suggest: the model is asked below the chat's own messages, after all others, and names the chat", () => {
  const { chat, asked, sent, say } = setUp();
  chat.ask("What is the capital of France?");
  say("Paris.");
  const { messages, ...fields } = asked[1]?.request ?? assert.fail();
  assert.deepEqual(messages.map(({ content }) => content).slice(0, 2), [
    "What is the capital of France?",
    "Paris.",
  ]);
  assert.equal(messages.length, 3);
  assert.equal(fields.priority, -100);
  say('**Title: "Capital of France".**\nMore words.', "length");
  assert.equal(chat.title.value, "Capital of France");
  chat.ask("And of Spain?");
  say("Madrid.");
  assert.equal(asked.length, 3, "a chat that has a title is given no other");
  assert.deepEqual(sent, []);
});

test("Titles.suggest: the next question stops it, and the answer to that asks again", () => {
  const { chat, asked, sent, say } = setUp();
  chat.ask("One?");
  say("1.");
  chat.ask("Two?");
  assert.deepEqual(sent, [{ type: "cancel", id: "s2" }]);
  asked[1]?.listener.parts({ content: "Too late" });
  asked[1]?.listener.end({ reason: "stop" });
  assert.equal(chat.title.value, "One?");
  say("2.");
  assert.equal(asked.length, 4);
  chat.title.value = "A person's"; // meanwhile
  say("Numbers");
  assert.equal(chat.title.value, "A person's");
});

test("Titles.suggest: nothing is asked after an answer that failed, or in a long chat", () => {
  const { chat, asked, say } = setUp();
  chat.ask("One?");
  say("1", "error");
  assert.equal(asked.length, 1);
  for (const n of [2, 3, 4]) {
    chat.ask(`${n}?`);
    say("", "error");
  }
  chat.ask("5?");
  say("5.");
  assert.equal(asked.length, 5);
});

for (const [text, title, cut = false] of [
  ["", ""],
  ["\n\n# A frog in a pond\n\nIt lives there.", "A frog in a pond"],
  ["„Ein Frosch“", "Ein Frosch"],
  ["青蛙的故事。", "青蛙的故事"],
  ["a\u202Eb\u0007c", "ab c"],
  ["--- *** ---", ""],
  ["What the model had begun to sa", "", true],
  ["A whole line\nand the begin", "A whole line", true],
  ["word ".repeat(20), `${"word ".repeat(11)}word…`],
  ["word ".repeat(50), ""],
] as const)
  test(`titleFrom: ${JSON.stringify(text).slice(0, 40)}`, () => assert.equal(titleFrom(text, cut), title));

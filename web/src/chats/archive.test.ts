// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { defaults } from "../settings/settings.ts";
import { readArchive, renamed, writeArchive } from "./archive.ts";
import type { WholeChat } from "./chats.ts";
import { transcript } from "./transcript.ts";

const whole: WholeChat = {
  info: { id: "c1", title: "Frogs", created: 1, changed: 2, settings: defaults, branches: { "": "m1" } },
  messages: [
    { id: "m1", chat: "c1", parent: null, role: "user", created: 1, content: "Hello <b>" },
    {
      id: "m2",
      chat: "c1",
      parent: "m1",
      role: "assistant",
      created: 2,
      content: "Hi",
      answer: {
        phase: "done",
        model: "tiny",
        seq: 2,
        tokens: 2,
        asked: 1,
        outcome: { reason: "stop" },
      },
    },
  ],
};

const blob = (value: unknown) => new Blob([typeof value === "string" ? value : JSON.stringify(value)]);

test("An archive holds chats as they are", async () => {
  const parts = await writeArchive([whole, { ...whole, info: { ...whole.info, id: "c2" } }]);
  const read = await readArchive(new Blob(parts));
  assert.equal(read.length, 2);
  assert.deepEqual(read[0], whole);
  assert.deepEqual(await readArchive(new Blob(await writeArchive([]))), []);
});

const archive = (chat: unknown) => ({ penstock: "chats", version: 1, chats: [chat] });
const message = { id: "m", role: "user", content: "x" };
for (const [name, value, want] of [
  ["no JSON", "<html>", /^it is no JSON: /],
  ["an empty file", "", /^it is no JSON: /],
  ["a list", [], /^the file must be an object$/],
  ["another program's export", { conversations: [] }, /^it has no "penstock": "chats"/],
  ["no version", { penstock: "chats", chats: [] }, /^version is missing$/],
  ["a newer version", { penstock: "chats", version: 2, chats: [] }, /newer Penstock wrote it, in version 2/],
  ["no chats", { penstock: "chats", version: 1 }, /^chats must be a list$/],
  ["a chat that is none", archive(7), /^chats\[0\] must be an object$/],
  ["a chat without id", archive({ messages: [message] }), /^chats\[0\]\.id is missing/],
  ["a hostile id", archive({ id: "../x", messages: [message] }), /^chats\[0\]\.id /],
  ["no messages", archive({ id: "c", messages: [] }), /^chats\[0\]\.messages is empty$/],
  [
    "a strange role",
    archive({ id: "c", messages: [{ ...message, role: "robot" }] }),
    /^chats\[0\]\.messages\[0\]\.role must be/,
  ],
  [
    "a content that is no text",
    archive({ id: "c", messages: [{ ...message, content: {} }] }),
    /messages\[0\]\.content must be a text$/,
  ],
  [
    "one id twice",
    archive({ id: "c", messages: [message, message] }),
    /messages\[1\]\.id is that of an earlier message$/,
  ],
] as const) {
  test(`readArchive: ${name}`, async () => {
    await assert.rejects(readArchive(blob(value)), { name: "Error", message: want });
  });
}

test("readArchive: an answer that ran has ended, and a circle is cut", async () => {
  const [chat] = await readArchive(
    blob(
      archive({
        id: "c",
        messages: [
          { ...message, id: "a", parent: "b" },
          {
            id: "b",
            parent: "a",
            role: "assistant",
            content: "",
            answer: { phase: "streaming", stream: "s" },
          },
        ],
      }),
    ),
  );
  assert.deepEqual(
    chat?.messages.map(({ id, parent }) => [id, parent]),
    [
      ["a", null],
      ["b", "a"],
    ],
  );
  assert.deepEqual(chat?.messages[1]?.answer?.outcome, { reason: "cancelled" });
  assert.equal(chat?.messages[1]?.answer?.stream, undefined);
});

test("renamed: nothing that is there is overwritten", () => {
  const free = renamed(whole, () => false);
  assert.equal(free.info.id, "c1");
  assert.notEqual(free.messages[0]?.id, "m1");
  assert.equal(free.messages[1]?.parent, free.messages[0]?.id);
  assert.deepEqual(free.info.branches, { "": free.messages[0]?.id });
  const copy = renamed(whole, (id) => id === "c1");
  assert.notEqual(copy.info.id, "c1");
  assert.equal(copy.info.title, "Frogs (copy)");
  assert.ok(copy.messages.every(({ chat }) => chat === copy.info.id));
});

test("transcript: questions and answers as Markdown, files in fences that hold them", () => {
  const [question, answer] = whole.messages;
  assert.ok(question !== undefined && answer !== undefined);
  const text = transcript("Frogs", [
    { ...question, files: [{ name: "a.md", text: "```\nx\n```\n" }] },
    answer,
  ]);
  assert.equal(
    text,
    "# Frogs\n\n## Question\n\na.md:\n\n````\n```\nx\n```\n````\n\nHello <b>\n\n## Answer of tiny\n\nHi\n",
  );
});

// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { signal } from "@preact/signals";
import { defaultSettings } from "../settings/settings.ts";
import { Answers } from "./answers.ts";
import { Chats } from "./chats.ts";
import { MemoryStore } from "./chatstore.ts";
import { Drafts } from "./drafts.ts";
import type { Message } from "./message.ts";
import { QuestionQueue } from "./questionqueue.ts";

/** Two chats in a store that reads each of them when the test says so. */
async function setUp() {
  const store = new MemoryStore();
  for (const id of ["a", "b"]) {
    const info = { id, title: id, created: 0, changed: 0, settings: defaultSettings, branches: {} };
    const message: Message = { id: `${id}1`, chat: id, parent: null, role: "user", created: 0, content: id };
    await store.add(info, [message]);
  }
  const reading = new Map<string, () => void>();
  const { messages } = MemoryStore.prototype;
  store.messages = async (chat) => {
    await new Promise<void>((resolve) => reading.set(chat, resolve));
    return messages.call(store, chat);
  };
  const around = { answers: new Answers({} as never, signal(true)), request: () => ({ messages: [] }) };
  const chats = new Chats(store, around, { get: () => defaultSettings });
  await chats.load();
  return { chats, store, read: (chat: string) => reading.get(chat)?.() };
}

test("Chats.show: the chat that was chosen last is shown, though it is read first", async () => {
  const { chats, read } = await setUp();
  const first = chats.show("a");
  const second = chats.show("b");
  read("b");
  await second;
  read("a");
  await first;
  assert.equal(chats.current.value.id, "b");
});

test("Chats.begin: a new chat stays, though another was still being read", async () => {
  const { chats, read } = await setUp();
  const shown = chats.show("a");
  const fresh = chats.begin();
  read("a");
  await shown;
  assert.equal(chats.current.value.id, fresh.id);
});

test("Chats.removeAll: what was written and not sent goes with its chat, and comes back with it", async () => {
  const { chats, store } = await setUp();
  store.messages = MemoryStore.prototype.messages;
  const stored = new Map<string, string>();
  const drafts = new Drafts({
    getItem: (name) => stored.get(name) ?? null,
    setItem: (name, value) => void stored.set(name, value),
  });
  const queue = new QuestionQueue(drafts, chats);
  chats.unsent = queue;
  const file = { name: "secret.txt", text: "a secret" };
  drafts.change("a", { text: "a draft", files: [file] });
  queue.add("a", { text: "a question that waits", files: [] });
  drafts.change("", { text: "of a new chat" });
  const wholes = await chats.removeAll();
  assert.deepEqual(
    ["penstock.drafts", "penstock.draftfiles"].map((name) => stored.get(name)),
    ['{"":"of a new chat"}', "{}"],
  );
  assert.equal(queue.of("a"), undefined);
  await chats.addAll(wholes);
  assert.deepEqual(
    chats.list.value.map(({ id }) => id),
    ["a", "b"],
  );
  const back = { text: "a question that waits\n\na draft", files: [file] };
  assert.deepEqual(drafts.of("a").value, back);
  assert.deepEqual(drafts.of("b").value, { text: "", files: [] });
});

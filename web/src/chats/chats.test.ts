// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { signal } from "@preact/signals";
import { defaultSettings } from "../settings/settings.ts";
import { Answers } from "./answers.ts";
import { Chats } from "./chats.ts";
import { MemoryStore } from "./chatstore.ts";
import type { Message } from "./message.ts";

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
  return { chats, read: (chat: string) => reading.get(chat)?.() };
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

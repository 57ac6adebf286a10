// SPDX-License-Identifier: MIT
import "fake-indexeddb/auto";
import assert from "node:assert/strict";
import { test } from "node:test";
import { defaults } from "../settings/settings.ts";
import type { Message } from "./message.ts";
import { BrowserStore, type ChatInfo } from "./store.ts";

const chat = (id: string): ChatInfo => ({
  id,
  title: id,
  created: 1,
  changed: 2,
  settings: defaults,
  branches: {},
});
const message = (id: string, of: string): Message => ({
  id,
  chat: of,
  parent: null,
  role: "user",
  created: 1,
  content: id,
});

test("Store: chats and messages are kept, and go together", async () => {
  const store = await BrowserStore.open((error) => assert.fail(String(error)), "test");
  for (const id of ["a", "b"]) await store.keepChat(chat(id));
  for (const id of ["1", "2"]) await store.keepMessage(message(id, "a"));
  await store.keepMessage(message("3", "b"));
  await store.keepMessage({ ...message("2", "a"), content: "changed" });
  const answer = { phase: "streaming", model: "m", seq: 3, tokens: 3, asked: 1 } as const;
  await store.keepMessage({ ...message("3", "b"), answer: { ...answer, stream: "name" } });
  assert.deepEqual(
    (await store.running()).map((m) => m.id),
    ["3"],
  );
  await store.keepMessage({ ...message("3", "b"), answer: { ...answer, phase: "done" } });
  assert.deepEqual(await store.running(), []);
  store.close();

  const again = await BrowserStore.open((error) => assert.fail(String(error)), "test");
  assert.deepEqual(
    (await again.chats()).map((c) => c.id),
    ["a", "b"],
  );
  assert.deepEqual(
    (await again.messages("a")).map((m) => m.content),
    ["1", "changed"],
  );
  await again.remove("a");
  assert.deepEqual(await again.chats(), [chat("b")]);
  assert.deepEqual(await again.messages("a"), []);
  assert.equal((await again.messages("b")).length, 1);
  again.close();
});

test("Store: what is written in one turn is kept together", async () => {
  const store = await BrowserStore.open((error) => assert.fail(String(error)), "turns");
  let changes = 0;
  const { transaction } = IDBDatabase.prototype;
  IDBDatabase.prototype.transaction = function (...args: Parameters<typeof transaction>) {
    if (args[1] === "readwrite") changes++;
    return transaction.apply(this, args);
  };
  try {
    const question = store.keepMessage(message("1", "a"));
    await Promise.all([question, store.keepMessage(message("2", "a")), store.keepChat(chat("a"))]);
    assert.equal(changes, 1);
    await Promise.all([store.removeMessages(["1"]), store.keepMessage(message("3", "a"))]);
    assert.equal(changes, 2);
    await Promise.all([
      store.keepMessage(message("4", "a")),
      store.remove("a"),
      store.keepMessage(message("5", "b")),
    ]);
    assert.equal(changes, 3);
  } finally {
    IDBDatabase.prototype.transaction = transaction;
  }
  assert.deepEqual(await store.messages("a"), []);
  assert.equal((await store.messages("b")).length, 1);
  store.close();
});

test("Store: what cannot be written is told once, and never thrown", async () => {
  const problems: string[] = [];
  const store = await BrowserStore.open((error) => problems.push(String(error)), "closed");
  await store.keepMessage(message("1", "a"));
  store.close(); // as a newer page in another tab has it
  await store.removeMessages(["1"]);
  await store.remove("a");
  await store.keepChat(chat("a"));
  assert.equal(problems.length, 1);
  assert.ok(!store.lasts);
});

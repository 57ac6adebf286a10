// SPDX-License-Identifier: MIT
import "fake-indexeddb/auto";
import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultSettings } from "../settings/settings.ts";
import { CarefulStorage } from "../storage.ts";
import type { ChatInfo } from "./chatinfo.ts";
import { BrowserStore } from "./chatstore.ts";
import type { Message } from "./message.ts";

const chat = (id: string): ChatInfo => ({
  id,
  title: id,
  created: 1,
  changed: 2,
  settings: defaultSettings,
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
/** A storage that keeps what it is given until the test ends. */
const small = () =>
  new CarefulStorage(() => {
    throw new DOMException("denied", "SecurityError");
  });

test("Store: chats and messages are kept, and go together", async () => {
  const store = await BrowserStore.open(small(), (error) => assert.fail(String(error)), "test");
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

  const again = await BrowserStore.open(small(), (error) => assert.fail(String(error)), "test");
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
  const store = await BrowserStore.open(small(), (error) => assert.fail(String(error)), "turns");
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
  const store = await BrowserStore.open(small(), (error) => problems.push(String(error)), "closed");
  await store.keepMessage(message("1", "a"));
  store.close(); // as a newer page in another tab has it
  await store.removeMessages(["1"]);
  await store.remove("a");
  await store.keepChat(chat("a"));
  assert.equal(problems.length, 1);
  assert.ok(!store.lasts);
});

test("Store: what is under way when the page is left is there at the next visit", async () => {
  const storage = small();
  const leave = async (...change: ((store: BrowserStore) => Promise<void>)[]) => {
    const store = await BrowserStore.open(storage, () => {}, "left");
    const changes = change.map((make) => make(store));
    store.leave();
    store.close(); // drops what is under way, as the end of a page does
    await Promise.all(changes);
  };
  const first = await BrowserStore.open(storage, problem, "left");
  for (const id of ["a", "b"]) await first.add(chat(id), [message(`${id}1`, id), message(`${id}2`, id)]);
  first.close();
  await leave(
    (store) => store.keepChat({ ...chat("a"), title: "new" }),
    (store) => store.keepMessage(message("a3", "a")),
    (store) => store.removeMessages(["a1"]),
    (store) => store.sweep(),
  );
  await leave((store) => store.keepMessage({ ...message("b1", "b"), content: "new" })); // beside the former
  await leave((store) => store.remove("b"));
  const third = await BrowserStore.open(storage, problem, "left");
  const added = third.add(chat("c"), [message("c1", "c")]); // as when what was removed is put back
  third.leave();
  await added;
  await third.remove("c");
  third.close();

  const again = await BrowserStore.open(storage, problem, "left");
  assert.deepEqual(
    (await again.chats()).map(({ id, title }) => [id, title]),
    [
      ["a", "new"],
      ["c", "c"],
    ],
    "what was under way is all there",
  );
  assert.deepEqual(
    (await again.messages("a")).map(({ id }) => id),
    ["a2", "a3"],
  );
  assert.deepEqual(await again.messages("b"), []);
  await again.keepChat(chat("a"));
  again.leave(); // with nothing under way
  again.close();
  const last = await BrowserStore.open(storage, problem, "left");
  assert.equal((await last.chats())[0]?.title, "a", "what was taken up once is not taken up again");
  last.close();
});

test("Store: what a page cannot have left behind is no harm", async () => {
  for (const left of ["{", "3", '[null, 3, {"put": "chat"}, {"remove": "messages", "ids": [{}]}]']) {
    const storage = small();
    storage.setItem("penstock.unwritten", left);
    const store = await BrowserStore.open(storage, problem, "harmless");
    assert.deepEqual(await store.chats(), []);
    await store.keepChat(chat("a"));
    await store.remove("a");
    store.close();
  }
});

const picture = (file: string) => ({ name: "p", file, type: "image/png", size: 3 });
const bytes = () => new Blob(["abc"], { type: "image/png" });
const problem = (error: unknown) => assert.fail(String(error));

test("Store: a picture is kept with its message, once for all, until no message has it", async () => {
  const store = await BrowserStore.open(small(), problem, "pictures");
  store.hold("f", bytes());
  store.hold("g", bytes());
  assert.equal(await (await store.file("f"))?.text(), "abc", "it can be shown before it is sent");
  await store.keepMessage({ ...message("1", "a"), files: [picture("f"), picture("g"), picture("f")] });
  await store.keepMessage({ ...message("2", "b"), files: [{ name: "t", text: "x" }, picture("f")] });
  await store.keepChat(chat("a"));
  store.close();
  const again = await BrowserStore.open(small(), problem, "pictures");
  assert.deepEqual((await again.messages("a"))[0]?.files, [picture("f"), picture("g"), picture("f")]);
  await again.remove("a");
  await again.sweep();
  assert.equal(await again.file("g"), undefined);
  assert.equal(await (await again.file("f"))?.text(), "abc", "another chat has it");
  await again.removeMessages(["2"]);
  await again.keepMessage({ ...message("2", "b"), files: [picture("f")] });
  await again.sweep();
  assert.equal((await again.file("f"))?.type, "image/png", "it was put back");
  await again.removeMessages(["2"]);
  await again.sweep();
  assert.equal(await again.file("f"), undefined);
  again.close();
});

test("Store: a chat that is put back as nothing may keep its pictures has them", async () => {
  const store = await BrowserStore.open(small(), problem, "undo");
  store.hold("f", bytes());
  const kept = { ...message("1", "a"), files: [picture("f")] };
  await store.add(chat("a"), [kept]);
  await store.remove("a");
  void store.sweep(); // as when the offer to undo ends
  await store.add(chat("a"), [kept]);
  await store.sweep();
  assert.equal(await (await store.file("f"))?.text(), "abc");
  store.close();
});

test("Store: the database of an earlier page is opened, and takes pictures", async () => {
  const opening = indexedDB.open("earlier", 1);
  opening.onupgradeneeded = () => {
    opening.result.createObjectStore("chats", { keyPath: "id" });
    const all = opening.result.createObjectStore("messages", { keyPath: "id" });
    all.createIndex("chat", "chat");
    all.createIndex("stream", "answer.stream");
    all.put(message("1", "a"));
  };
  await new Promise((done) => {
    opening.onsuccess = done;
  });
  opening.result.close();
  const store = await BrowserStore.open(small(), problem, "earlier");
  assert.equal((await store.messages("a"))[0]?.content, "1");
  store.hold("f", bytes());
  await store.keepMessage({ ...message("2", "a"), files: [picture("f")] });
  await store.sweep();
  assert.equal(await (await store.file("f"))?.text(), "abc");
  store.close();
});

// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultSettings } from "../settings/settings.ts";
import type { ChatInfo } from "./chatinfo.ts";
import type { Message } from "./message.ts";
import { type Hit, passageAround, searchChats } from "./search.ts";

const chat = (id: string, title: string): ChatInfo => ({
  id,
  title,
  created: 0,
  changed: 0,
  settings: defaultSettings,
  branches: {},
});
const texts: Record<string, string[]> = {
  a: ["Nothing here", "A café\nin the Evening, and a long walk"],
  b: ["An evening alone"],
  c: [],
};
const messages = async (of: string): Promise<Message[]> =>
  (texts[of] ?? []).map((content, at) => ({
    id: `${of}${at}`,
    chat: of,
    parent: null,
    role: "user",
    created: at,
    content,
  }));
const chats = [chat("a", "Plans"), chat("b", "Walks"), chat("c", "Café evenings")];

async function found(query: string, signal = new AbortController().signal): Promise<Hit[]> {
  const hits: Hit[] = [];
  for await (const hit of searchChats(query, chats, messages, signal)) hits.push(hit);
  return hits;
}

for (const [query, want] of [
  ["cafe", ["a/a1", "c/title"]],
  ["EVENING", ["a/a1", "b/b0", "c/title"]],
  ["evening cafe", ["a/a1", "c/title"]],
  ["walks", ["b/title"]],
  ["  ", []],
  ["nowhere", []],
] as const) {
  test(`searchChats for ${JSON.stringify(query)}`, async () => {
    const hits = await found(query);
    assert.deepEqual(
      hits.map((hit) => `${hit.chat.id}/${hit.message ?? "title"}`),
      want,
    );
  });
}

test("searchChats: stops when a newer one begins", async () => {
  const stop = new AbortController();
  stop.abort();
  assert.deepEqual(await found("evening", stop.signal), []);
});

test("passageAround: around the word, on one line", () => {
  assert.deepEqual(passageAround("A café\nin the Evening", "cafe"), {
    before: "A ",
    match: "café",
    after: " in the Evening",
  });
  const long = passageAround(`${"é".repeat(100)} word ${"x".repeat(500)}`, "word");
  assert.equal(long.match, "word");
  assert.equal(long.before, `…${"é".repeat(29)} `);
  assert.equal(long.after.length, 90);
});

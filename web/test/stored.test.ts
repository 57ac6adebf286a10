// SPDX-License-Identifier: MIT

// What an earlier page has stored in the browser is shown and used. stored.json was written by the
// page of November 2026.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { GenerateRequest } from "../src/host/protocol.ts";
import { ChatPage, noteRequests, patience, useBrowser } from "./browser.ts";
import { useServer } from "./server.ts";

const kept = JSON.parse(readFileSync(new URL("stored.json", import.meta.url), "utf8"));

useBrowser();
const server = useServer();

/** Fills the browser's stores as they were, at an address of the server that is not the page. */
const restore = `async ({ version, chats, messages, storage }) => {
  for (const [name, value] of Object.entries(storage)) localStorage.setItem(name, value);
  const db = await new Promise((resolve, reject) => {
    const opening = indexedDB.open("penstock", version);
    opening.onerror = () => reject(opening.error);
    opening.onupgradeneeded = () => {
      opening.result.createObjectStore("chats", { keyPath: "id" });
      const all = opening.result.createObjectStore("messages", { keyPath: "id" });
      all.createIndex("chat", "chat");
      all.createIndex("stream", "answer.stream");
    };
    opening.onsuccess = () => resolve(opening.result);
  });
  const change = db.transaction(["chats", "messages"], "readwrite");
  for (const chat of chats) change.objectStore("chats").put(chat);
  for (const message of messages) change.objectStore("messages").put(message);
  await new Promise((done) => (change.oncomplete = done));
  db.close();
}`;

test("Page: chats, settings and drafts that an earlier page has stored are there", {
  timeout: 3 * patience,
}, async () => {
  const requests: GenerateRequest[] = [];
  const chat = await ChatPage.open(`${server.url}/livez`, {}, async (page) => {
    noteRequests(page, requests);
  });
  const { page } = chat;
  await page.evaluate(`(${restore})(${JSON.stringify(kept)})`);
  await page.goto(server.url);
  await chat.online();
  const differs = page.getByRole("button", { name: /^Settings of this chat:/ });
  assert.match(await differs.innerText(), /Instructions · Seed 7 · Length 40/, "new chats begin as they did");
  await page.getByRole("link", { name: "What is a plugin?" }).click();
  await page.getByText("A plugin can change how tokens are sampled").waitFor();
  assert.equal(await chat.question.inputValue(), "a draft of a question");
  await page.getByRole("link", { name: "Tell me a story about a frog." }).click();
  await page.getByText("2 of 2").waitFor();
  assert.equal(await chat.answers.count(), 2);
  assert.match(await chat.answers.first().textContent().then(String), /frog named Rosa[\s\S]*561 tokens\/s/);
  assert.match(await differs.innerText(), /Instructions/);
  await chat.ask("And then?");
  await chat.answers.nth(2).waitFor();
  await chat.finished();
  const { messages, temperature, seed, max_tokens } = requests[0] ?? { messages: [] };
  assert.deepEqual(messages[0], { role: "system", content: "Speak like a frog." });
  assert.deepEqual(
    { temperature, seed, max_tokens, messages: messages.length },
    { temperature: 1.2, seed: 7, max_tokens: 40, messages: 6 },
  );
  assert.deepEqual(chat.complaints, []);
});

// SPDX-License-Identifier: MIT

// What a person sees of a host that goes away, comes back, or asks for a key, and of a browser
// that keeps nothing.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { ChatPage, long, marks, patience, useBrowser, withSettings, words } from "./browser.ts";
import { LossyProxy } from "./proxy.ts";
import { Server, useServer } from "./server.ts";

useBrowser();
const server = useServer();
const slow = useServer({ context: 60_000 }); // of long answers

test("Page: survives a restart of the host, and tells of it", { timeout: 4 * patience }, async (t) => {
  const first = await Server.start({ context: 60_000 });
  t.after(() => first.stop("SIGKILL"));
  const chat = await ChatPage.open(first.url, {}, long(first, 50_000));
  await chat.watchLengths();
  await chat.ask("Tell me a story.");
  await chat.growing(2);

  await first.stop("SIGKILL");
  const outage = chat.page.getByRole("alert").filter({ hasText: "Not connected" });
  await outage.waitFor();
  assert.match(await outage.innerText(), /Your chats are here, and the page reconnects by itself/);
  assert.match(await chat.status.innerText(), /Reconnecting/);
  await chat.page.locator('.message:last-child[data-phase="lost"]').waitFor(); // the host might still go on
  const length = (await chat.lengths()).at(-1) ?? 0;
  await chat.question.fill("Are you there?");

  const second = await Server.start({ address: first.address });
  t.after(() => second.stop());
  await chat.online();
  assert.equal(await outage.count(), 0);
  const answer = await chat.finished();
  assert.match(await answer.innerText(), /no longer has the rest of this answer; what had arrived is kept/);
  const kept = (await answer.locator(".prose").textContent())?.length ?? 0;
  assert.ok(kept > Math.max(0, length - marks), `${kept} characters of ${length} are kept`);
  assert.equal(await chat.question.inputValue(), "Are you there?", "what was typed is lost");
  await answer.getByRole("button", { name: "Try again" }).click();
  assert.match(await words(await chat.finished()), /\d+ tokens?/);
  assert.deepEqual(chat.complaints, []);
  await chat.close();
});

test("Page: an answer whose time on the host is over says so", { timeout: 3 * patience }, async (t) => {
  const proxy = await LossyProxy.start(slow.url);
  t.after(() => proxy.stop());
  // The page allows the host almost no time without a connection.
  const impatient = async (page: Page) => {
    await long(slow, 50_000)(page);
    await page.addInitScript(`
      const send = WebSocket.prototype.send;
      WebSocket.prototype.send = function (frame) {
        send.call(this, frame.replace(/"detach_ms":[0-9]+/, '"detach_ms":1'));
      };
    `);
  };
  const chat = await ChatPage.open(proxy.url, {}, impatient);
  await chat.watchLengths();
  await chat.ask("Tell me a story.");
  await chat.growing(2);
  proxy.cut();
  const answer = await chat.finished();
  assert.match(await answer.innerText(), /what had arrived is kept[\s\S]*Try again/);
  assert.ok(((await answer.locator(".prose").textContent())?.length ?? 0) > 0);
  await chat.close();
});

test("Page: asks for the key that the host wants, and remembers it", { timeout: 3 * patience }, async (t) => {
  const server = await Server.start({ flags: ["--api-key", "gate?keeper>~"] }); // base64 writes it with + and /
  t.after(() => server.stop());
  const chat = await ChatPage.open(server.url);
  const dialog = chat.page.getByRole("dialog", { name: "This server wants a key" });
  await dialog.getByLabel("API key").fill("wrong");
  await dialog.getByRole("button", { name: "Connect" }).click();
  await dialog.getByText("did not accept that key").waitFor();
  await dialog.getByLabel("API key").fill("gate?keeper>~");
  await dialog.getByLabel("API key").press("Enter");
  await chat.ask("Hello!");
  assert.match(await words(await chat.finished()), /\d+ tokens?/);
  await chat.page.reload();
  await chat.online();
  await chat.page.getByRole("button", { name: "More" }).click();
  await chat.page.getByRole("menuitem", { name: "Forget the API key" }).click();
  await dialog.waitFor();
  assert.equal(await dialog.getByText("did not accept that key").isVisible(), false);
  await chat.close();
});

/** A browser that lets the page keep nothing at all. */
async function keepingNothing(page: Page): Promise<void> {
  const denied = '() => { throw new DOMException("Access is denied for this document.", "SecurityError"); }';
  await page.addInitScript(`
    Object.defineProperty(window, "localStorage", { get: ${denied} });
    Object.defineProperty(window, "indexedDB", { value: { open: ${denied} } });
  `);
}

test("Page: chats in a browser that keeps nothing", { timeout: 3 * patience }, async () => {
  const chat = await ChatPage.open(server.url, {}, keepingNothing);
  await chat.page.getByText("chats are gone when it is closed").waitFor();
  for (const question of ["Hello!", "Good morning!"]) {
    await chat.ask(question);
    assert.match(await words(await chat.finished()), /\d+ tokens?/);
    await chat.page.getByRole("button", { name: "New chat" }).click();
  }
  await chat.page.getByRole("link", { name: "Hello!" }).click();
  await chat.finished();
  await chat.page.getByRole("radio", { name: "Dark" }).check({ force: true });
  assert.deepEqual(chat.complaints, []);
  await chat.close();
});

test("Page: goes on when the browser's room is full", { timeout: 3 * patience }, async () => {
  const chat = await ChatPage.open(server.url, {}, withSettings({ sampling: { max_tokens: 20 } }));
  const session = await chat.page.context().newCDPSession(chat.page);
  await session.send("Storage.overrideQuotaForOrigin", { origin: server.url, quotaSize: 1 });
  await chat.ask("Hello!");
  await chat.page.getByText("The browser has no room left").waitFor();
  await chat.page.getByRole("button", { name: "Dismiss" }).click();
  await chat.page.getByRole("button", { name: "New chat" }).click();
  await chat.ask("Good morning!");
  assert.match(await words(await chat.finished()), /\d+ tokens?/);
  assert.deepEqual(chat.complaints, []);
  await chat.close();
});

test("Page: what the browser kept may be of any shape", { timeout: 3 * patience }, async () => {
  const chat = await ChatPage.open(server.url);
  await chat.ask("Hello!");
  await chat.finished();
  await chat.page.evaluate(async () => {
    localStorage.setItem("penstock.settings", '{"sampling":[1],"plugins":7,"stop":{"a":1}}');
    localStorage.setItem("penstock.page", "[[");
    const opening = indexedDB.open("penstock");
    await new Promise((opened) => {
      opening.onsuccess = opened;
    });
    const change = opening.result.transaction(["chats", "messages"], "readwrite");
    const foreign = { chat: "odd", created: 1, role: "assistant", answer: { phase: "waiting", stream: 5 } };
    change.objectStore("chats").put({ id: "odd", title: "An odd one", changed: {}, branches: [1] });
    change.objectStore("chats").put({ id: "../..", title: "Not a chat" });
    change.objectStore("messages").put({ ...foreign, id: "a", parent: "b" });
    change.objectStore("messages").put({ ...foreign, id: "b", parent: "a", content: "Still here" });
    change.objectStore("messages").put({ id: "c", chat: "odd", role: "wizard" });
    await new Promise((written) => {
      change.oncomplete = written;
    });
  });
  await chat.page.reload();
  await chat.page.getByRole("link", { name: "An odd one" }).click();
  await chat.page.getByText("Still here").waitFor();
  assert.equal(await chat.page.getByText("Not a chat").count(), 0);
  await chat.page.getByRole("link", { name: "Hello!" }).click();
  await chat.finished();
  await chat.ask("And now?");
  assert.match(await words(await chat.finished()), /\d+ tokens?/);
  assert.deepEqual(chat.complaints, []);
  await chat.close();
});

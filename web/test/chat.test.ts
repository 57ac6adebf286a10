// SPDX-License-Identifier: MIT

// The page in a real browser against the real host and the built-in model.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { ChatPage, launch, long, patience, withSettings } from "./browser.ts";
import { Server } from "./server.ts";

const endless = 60_000; // tokens, which take many seconds

let browser: Browser;
let server: Server;

before(async () => {
  browser = await launch();
  server = await Server.start({ context: endless + 5000 });
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

test("Page: an answer arrives token by token", { timeout: 3 * patience }, async () => {
  const chat = await ChatPage.open(browser, server.url, {}, long(900)); // a third of a second: a busy browser draws a few times meanwhile
  await chat.watchLengths();
  await chat.ask("Tell me a story about a frog.");
  await chat.growing(3);
  const answer = await chat.finished();
  const lengths = await chat.lengths();
  assert.deepEqual(
    lengths,
    [...lengths].sort((a, b) => a - b),
    "the answer shrank while it grew",
  );
  assert.match(await answer.innerText(), /900 tokens · [\d.,]+ tokens\/s · cut at the token limit/);
  assert.match(await chat.page.locator("#model").innerText(), /\S/);
  assert.deepEqual(chat.complaints, []);
  await chat.close();
});

test("Page: a story ends by itself and can be told again", { timeout: 3 * patience }, async () => {
  const chat = await ChatPage.open(browser, server.url);
  await chat.online();
  await chat.page.getByRole("button", { name: "Tell me a story about a frog." }).click();
  const answer = await chat.finished();
  assert.match(await answer.innerText(), /frog[\s\S]*\d+ tokens/);
  await answer.getByRole("button", { name: "Regenerate" }).click();
  await chat.finished();
  assert.equal(await chat.answers.count(), 1);
  await chat.close();
});

for (const [name, stop] of [
  ["the button", (chat: ChatPage) => chat.stop.click()],
  ["Escape", (chat: ChatPage) => chat.page.keyboard.press("Escape")],
] as const) {
  test(`Page: ${name} stops an answer in its middle`, { timeout: 3 * patience }, async () => {
    const chat = await ChatPage.open(browser, server.url, {}, long(endless));
    await chat.watchLengths();
    await chat.ask("Tell me a story.");
    await chat.growing(3);
    await stop(chat);
    const answer = await chat.finished();
    const facts = await answer.innerText();
    assert.match(facts, /stopped/);
    const tokens = Number(/([\d,]+) tokens? ·/.exec(facts)?.[1]?.replaceAll(",", ""));
    assert.ok(tokens > 0 && tokens < endless, `the host made ${tokens} tokens`);
    await server.runs(0);
    const length = (await chat.lengths()).at(-1);
    await chat.ask("What is a token?"); // the next answer is a new one
    await chat.stop.click();
    await chat.finished();
    assert.equal((await chat.answers.first().locator(".prose").textContent())?.length, length);
    assert.deepEqual(chat.complaints, []);
    await chat.close();
  });
}

test("Page: New chat clears all and stops what runs", { timeout: 3 * patience }, async () => {
  const chat = await ChatPage.open(browser, server.url, {}, long(endless));
  await chat.watchLengths();
  await chat.ask("Tell me a story.");
  await chat.growing(2);
  await chat.page.getByRole("button", { name: "New chat" }).click();
  await chat.page.getByRole("heading", { name: "What shall we talk about?" }).waitFor();
  assert.equal(await chat.answers.count(), 0);
  await chat.send.waitFor();
  await server.runs(0);
  await chat.close();
});

test("Page: two pages are answered at the same time", { timeout: 3 * patience }, async () => {
  const pages = await Promise.all([1, 2].map(() => ChatPage.open(browser, server.url, {}, long(endless))));
  for (const chat of pages) await chat.watchLengths();
  for (const chat of pages) await chat.ask("Tell me a story about an owl.");
  for (const chat of pages) await chat.growing(3);
  await server.runs(2);
  for (const chat of pages) {
    await chat.stop.click();
    assert.match(await (await chat.finished()).innerText(), /stopped/);
    await chat.close();
  }
});

test("Page: what the host refuses is shown with what to do", { timeout: 3 * patience }, async () => {
  const chat = await ChatPage.open(browser, server.url, {}, withSettings({ sampling: { temperature: 1e9 } }));
  await chat.ask("Hello!");
  const answer = await chat.finished();
  assert.match(await answer.innerText(), /temperature[\s\S]*Change it in Settings[\s\S]*Try again/);
  await chat.page.getByRole("button", { name: "Settings" }).click();
  await chat.page.getByRole("button", { name: "Back to defaults" }).click();
  await chat.page.getByRole("button", { name: "Done" }).click();
  await answer.getByRole("button", { name: "Try again" }).click();
  await answer.getByRole("button", { name: "Regenerate" }).waitFor();
  assert.match(await answer.innerText(), /\d+ tokens?/);
  await chat.close();
});

// SPDX-License-Identifier: MIT

// An answer goes on where it was, whatever happens to the connection, the page or the tab: nothing
// is lost and nothing doubled.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Page } from "playwright-core";
import { ChatPage, ended, long, patience, useBrowser, withSettings } from "./browser.ts";
import { LossyProxy } from "./proxy.ts";
import { Server, useServer } from "./server.ts";
import { allThere } from "./shared.ts";

const question = "Tell me a story about a fox.";
const tokens = 1500;
const seeded = withSettings({ sampling: { max_tokens: tokens, ignore_eos: true, seed: 11 } });
const slow = 500; // bytes in each twentieth of a second: the answer would take 15 s or more
const options = { timeout: 4 * patience };

let proxy: LossyProxy;
let undisturbed: string; // the answer as it is where nothing happens
useBrowser();
const server = useServer({ context: 60_000 });

before(async () => {
  await allThere();
  proxy = await LossyProxy.start(server.url);
  const chat = await ChatPage.open(server.url, {}, seeded);
  await chat.ask(question);
  undisturbed = await textOf(await done(chat.page));
  assert.ok(undisturbed.length > tokens, "the answer to compare with is too short");
  await chat.close();
});

after(() => proxy?.stop());

/** The page, once its last answer has ended and is drawn. */
async function done(page: Page): Promise<Page> {
  await page.bringToFront(); // a page behind another draws nothing
  await page.locator(ended).waitFor();
  return page;
}

/** What a reader sees of the last answer, once it is drawn. */
async function textOf(page: Page): Promise<string> {
  await page.evaluate(
    () => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))),
  );
  return (await page.locator(".message:last-child .prose").textContent()) ?? "";
}

async function wholeAnswer(page: Page): Promise<void> {
  const text = await textOf(await done(page));
  assert.equal(text.length, undisturbed.length, "text was lost or doubled");
  assert.ok(text === undisturbed, "the text is another one");
  assert.equal(await page.getByRole("article", { name: "Answer" }).count(), 1);
}

/**
 * Opens the page, and asks; resolves in the middle of the answer, which is slow until proxy.pace
 * changes.
 */
async function inMidAnswer(settings = seeded): Promise<ChatPage> {
  proxy.pace = slow;
  const chat = await ChatPage.open(proxy.url, {}, settings);
  await chat.watchLengths();
  await chat.ask(question);
  await chat.growing(3);
  return chat;
}

/** Resolves when the browser has written n messages to its disk. */
async function kept(page: Page, n: number): Promise<void> {
  await page.waitForFunction(
    (wanted) =>
      new Promise<boolean>((resolve) => {
        const opening = indexedDB.open("penstock");
        opening.onsuccess = () => {
          const db = opening.result;
          const count = db.transaction("messages").objectStore("messages").count();
          count.onsuccess = () => {
            db.close();
            resolve(count.result >= wanted);
          };
        };
      }),
    n,
  );
}

/** Resolves when the last answer has become longer than it is. */
async function grows(page: Page): Promise<void> {
  await page.bringToFront();
  const seen = (await textOf(page)).length;
  await page.waitForFunction(
    (length) => (document.querySelector(".message:last-child .prose")?.textContent?.length ?? 0) > length,
    seen,
  );
}

test("Page: an answer goes on after a reload in its middle", options, async () => {
  const chat = await inMidAnswer();
  await chat.page.reload();
  await grows(chat.page);
  await chat.page.reload();
  await grows(chat.page);
  proxy.pace = Number.POSITIVE_INFINITY;
  await wholeAnswer(chat.page);
  assert.deepEqual(chat.complaints, []);
});

test("Page: an answer goes on after each of several lost connections", options, async () => {
  const chat = await inMidAnswer();
  for (const _ of [1, 2, 3]) {
    const before = proxy.cuts;
    proxy.cut();
    assert.ok(proxy.cuts > before, "there was no connection to lose");
    // It may stand there for less than the time between two looks of a locator.
    await chat.page.waitForFunction(() =>
      document.querySelector('[role="alert"].outage')?.textContent?.includes("Not connected"),
    );
    await chat.online();
    await grows(chat.page);
  }
  proxy.pace = Number.POSITIVE_INFINITY;
  await wholeAnswer(chat.page);
  await chat.onlyGrew();
  assert.deepEqual(chat.complaints, []);
});

test("Page: an answer that ended while the page was away is all there", options, async () => {
  const chat = await inMidAnswer();
  await server.runs(0); // most of it has not come to the page yet: without a reader it would wait for one
  const address = chat.page.url();
  await chat.page.goto(`${proxy.url}/favicon.svg`);
  proxy.pace = Number.POSITIVE_INFINITY;
  await chat.page.goto(address);
  await wholeAnswer(chat.page);
  await chat.page.reload(); // and it is kept now
  await wholeAnswer(chat.page);
  assert.deepEqual(chat.complaints, []);
});

test("Page: an answer goes on in a tab that was frozen", options, async () => {
  const chat = await inMidAnswer();
  await server.runs(0);
  const browserSide = await chat.page.context().newCDPSession(chat.page);
  await browserSide.send("Page.setWebLifecycleState", { state: "frozen" });
  proxy.pace = Number.POSITIVE_INFINITY;
  await browserSide.send("Page.setWebLifecycleState", { state: "active" });
  await wholeAnswer(chat.page);
});

test("Page: an answer that waits for a slot at a reload is asked for again, once", options, async () => {
  const busy = await Server.start({ context: 60_000, flags: ["--parallel", "1"] });
  try {
    const holding = new AbortController(); // no page: one that reads slowly would lose the slot
    const held = fetch(`${busy.url}/v1/completions`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ prompt: "Once", max_tokens: 50_000, ignore_eos: true }),
      signal: holding.signal,
    }).catch((error: Error) => error);
    const quick = busy.slow();
    await busy.runs(1);
    const chat = await ChatPage.open(busy.url, {}, seeded);
    const waiting = chat.page.locator('.message:last-child[data-phase="waiting"]');
    await chat.ask(question);
    await waiting.waitFor();
    await kept(chat.page, 2);
    await chat.page.reload();
    await chat.online();
    await waiting.waitFor();
    holding.abort();
    assert.ok((await held) instanceof Error, "the slot was not held for so long");
    quick();
    await wholeAnswer(chat.page);
    await busy.runs(0); // the one that was asked for first is not computed as well
    await chat.close();
  } finally {
    await busy.stop();
  }
});

test("Page: two tabs show an answer, one of them follows it, and the other takes over", options, async () => {
  const chat = await inMidAnswer();
  const other = await chat.page.context().newPage();
  const frames: string[] = [];
  other.on("websocket", (socket) =>
    socket.on("framesent", ({ payload }) => {
      const { type } = JSON.parse(String(payload));
      if (type !== "watch") frames.push(type); // that asks how far an answer is, not for the answer
    }),
  );
  await other.goto(chat.page.url());
  await other.locator('#status[data-kind="online"]').waitFor();
  await grows(other);
  await grows(other);
  assert.deepEqual(frames, [], "both tabs follow the answer");
  await chat.page.close(); // in the middle of the answer
  while (frames.length === 0) await other.waitForTimeout(20);
  await grows(other);
  assert.deepEqual(frames, ["attach"]);
  proxy.pace = Number.POSITIVE_INFINITY;
  await wholeAnswer(other);
  await other.context().close();
});

test("Page: an answer is stopped from another tab", options, async () => {
  const chat = await inMidAnswer(long(server, 50_000));
  const other = await chat.page.context().newPage();
  await other.goto(chat.page.url());
  await other.getByRole("button", { name: "Stop" }).click();
  proxy.pace = Number.POSITIVE_INFINITY;
  const texts: string[] = [];
  for (const page of [other, chat.page]) {
    texts.push(await textOf(await done(page)));
    await page.locator("summary", { hasText: "stopped" }).waitFor();
  }
  assert.ok(texts[0] === texts[1], "the tabs show different texts");
  assert.ok((texts[0]?.length ?? 0) > 0, "what was shown is lost");
  await server.runs(0);
  await chat.page.context().close();
});

test("Page: two tabs see what is done in the other", options, async () => {
  const chat = await ChatPage.open(server.url, {}, withSettings({ sampling: { max_tokens: 5 } }));
  const other = await chat.page.context().newPage();
  await other.goto(server.url);
  await chat.ask("Hello!");
  await chat.finished();
  const entry = other.getByRole("link", { name: "Hello!" });
  await entry.click();
  await done(other); // the chat is shown
  await other.bringToFront();
  await other.getByRole("textbox", { name: "Your message" }).fill("And then?");
  await other.keyboard.press("Enter");
  await chat.page.getByText("And then?").waitFor();
  await done(chat.page);
  assert.equal(await textOf(chat.page), await textOf(await done(other)));

  await entry.focus();
  await other.keyboard.press("F2");
  await other.getByLabel("Name of the chat").fill("Greetings");
  await other.keyboard.press("Enter");
  await chat.page.getByRole("heading", { name: "Greetings" }).waitFor();
  await other.getByRole("link", { name: "Greetings" }).press("Delete");
  await chat.page.getByRole("heading", { name: "New chat" }).waitFor();
  await other.getByRole("button", { name: "Undo" }).click();
  await chat.page.getByRole("link", { name: "Greetings" }).click();
  await chat.page.getByText("And then?").waitFor();
  assert.equal(await chat.answers.count(), 2);
  assert.deepEqual(chat.complaints, []);
});

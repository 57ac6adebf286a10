// SPDX-License-Identifier: MIT

// What a person asks for comes into sight, wherever the window was: a question that is sent, an
// answer that is asked for again, a chat that is opened, a message that a search has found.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { BrowserContextOptions, Locator } from "playwright-core";
import { importFile, longChat } from "./archive.ts";
import { ChatPage, patience, useBrowser } from "./browser.ts";
import { play } from "./play.ts";
import { useServer } from "./server.ts";
import { devices } from "./sizes.ts";
import { long, some } from "./steady.ts";

const options = { timeout: 4 * patience };
const messages = long ? 300 : 60; // of which eight are drawn at once, and then four at a time
const found = [4, messages / 2, messages - 1]; // messages that a search finds

useBrowser();
const server = useServer();

/** A page with both chats, whose answers come in pieces. */
async function open(device: BrowserContextOptions): Promise<ChatPage> {
  const chat = await ChatPage.open(server.url, device, (page) =>
    play(page, (stream) => {
      for (let line = 0; line < 12; line++) stream.token(`Line ${line} of the new answer.\n\n`);
      stream.end();
    }),
  );
  await chat.online();
  await showSidebar(chat);
  await importFile(chat.page, longChat(messages));
  await chat.page.getByText("2 chats are imported.").waitFor();
  return chat;
}

async function showSidebar({ page }: ChatPage): Promise<void> {
  if (await page.getByRole("searchbox", { name: "Search chats" }).isVisible()) return;
  await page.getByRole("button", { name: "Open the sidebar" }).click();
}

async function openChat(chat: ChatPage, title: string): Promise<void> {
  await showSidebar(chat);
  await chat.page.getByRole("link", { name: title }).click();
  await chat.page.getByRole("heading", { name: title, level: 1 }).waitFor();
  await settled(chat);
}

/** All is drawn, and the window has followed. */
async function settled({ page }: ChatPage): Promise<void> {
  await page.locator('.transcript[aria-busy="false"]:not(:has([aria-busy="true"]))').waitFor();
  await page.evaluate(async () => {
    for (let n = 0; n < 4; n++) await new Promise((drawn) => requestAnimationFrame(drawn));
  });
}

/** Whether the reader sees where an element begins: it is in the window, with nothing over it. */
function isSeen(element: Locator): Promise<boolean> {
  return element.evaluate((it) => {
    const window = document.querySelector("#scroller")?.getBoundingClientRect();
    const { left, right, top, height } = it.getBoundingClientRect();
    const middle = top + Math.min(10, height / 2);
    if (window === undefined || top < window.top - 1 || middle > window.bottom) return false;
    const seen = document.elementFromPoint((left + right) / 2, middle);
    return seen !== null && it.contains(seen);
  });
}

const places: Record<string, (box: Element) => number> = {
  "the top": () => 0,
  "the middle": (box) => box.scrollHeight / 2,
  "just above the end": (box) => box.scrollHeight - box.clientHeight - 600,
  "the end": (box) => box.scrollHeight,
};

/** Scrolls the window to a place, as the reader does. */
async function scrollTo({ page }: ChatPage, place: string): Promise<void> {
  await page.locator("#scroller").evaluate(
    (box, top) => {
      box.scrollTop = top;
      return new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
    },
    await page.locator("#scroller").evaluate(places[place] ?? (() => 0)),
  );
}

/** The chat is opened and scrolled to a place; act asks for an answer, whose end is then seen. */
async function seesAnswer(
  chat: ChatPage,
  title: string,
  place: string,
  act: () => Promise<unknown>,
): Promise<void> {
  await openChat(chat, title);
  await scrollTo(chat, place);
  await act();
  await chat.finished();
  await settled(chat);
  const last = chat.answers.last();
  assert.ok(
    await isSeen(last.locator("p").last()),
    `${title}, from ${place}: the answer's end is out of sight`,
  );
  assert.equal(await chat.page.getByRole("button", { name: "Latest" }).count(), 0, `${title}, from ${place}`);
}

/** Each place on each device; a day has one place, and so both devices. */
const windows = Object.fromEntries(
  Object.keys(places).flatMap((place) =>
    Object.entries(devices).map(([size, device]) => [`${size}, ${place}`, { device, place }] as const),
  ),
);

for (const [name, { device, place }] of some(windows, 2))
  test(
    `Sight: an answer that is asked for, and asked for again, wherever the window was (${name})`,
    options,
    async () => {
      const chat = await open(device);
      for (const title of ["A short chat", "A long chat"])
        await seesAnswer(chat, title, place, async () => {
          await chat.ask(`And at ${place}?`);
          await chat.page
            .locator(".question", { hasText: `And at ${place}?` })
            .waitFor({ state: "attached" });
        });
      await openChat(chat, "A short chat");
      await seesAnswer(chat, "A long chat", place, async () => {
        const again = chat.answers.last().getByRole("button", { name: "Regenerate" });
        await again.dispatchEvent("click"); // a real one would scroll to it
        await chat.page.getByText("2 of 2").waitFor({ state: "attached" });
      });
      assert.deepEqual(chat.complaints, []);
    },
  );

for (const [size, device] of some(devices, 1)) {
  test(
    `Sight: the end of a chat that is opened, and what a search has found (${size})`,
    options,
    async () => {
      const chat = await open(device);
      await openChat(chat, "A short chat");
      await openChat(chat, "A long chat");
      assert.equal(await chat.page.locator(".message").count(), messages, "all are drawn in the end");
      assert.ok(await isSeen(chat.answers.last().locator(".tools")), "the end");
      for (const at of found)
        for (const place of ["the top", "the end"]) {
          await scrollTo(chat, place);
          await showSidebar(chat);
          await chat.page.getByRole("searchbox", { name: "Search chats" }).fill(`needle${at}.`);
          await chat.page
            .locator(".result", { hasText: `needle${at}.` })
            .getByRole("link")
            .click();
          await settled(chat);
          const hit = chat.page.locator(`[data-message]`, { hasText: `needle${at}.` }).last();
          assert.ok(
            await isSeen(hit.locator(".question p, .prose > p").first()),
            `message ${at}, from ${place}`,
          );
        }
      assert.deepEqual(chat.complaints, []);
    },
  );
}

test("Page: of a long chat the end is drawn first", options, async () => {
  const chat = await open(devices.desktop);
  await openChat(chat, "A short chat");
  await chat.page.evaluate(() => {
    const drawn: number[] = [];
    Object.assign(window, { drawn });
    const log = document.querySelector(".transcript");
    if (log === null) throw new Error("there is no transcript");
    new MutationObserver(() => drawn.push(log.children.length)).observe(log, { childList: true });
  });
  await openChat(chat, "A long chat");
  const drawn = await chat.page.evaluate(() => (window as unknown as { drawn: number[] }).drawn);
  assert.ok((drawn[0] ?? messages) <= 20, `${drawn[0]} messages are drawn at once`);
  assert.equal(drawn.at(-1), messages);
});

test("Page: a reader above the end is not taken away by a question that was queued", options, async () => {
  const streams: { token(text: string): void; end(): void }[] = [];
  const chat = await ChatPage.open(server.url, {}, (page) => play(page, (stream) => streams.push(stream)));
  await chat.ask("One?");
  await chat.stop.waitFor();
  streams[0]?.token("A line.\n\n".repeat(80));
  await chat.page.getByText("A line.").nth(79).waitFor();
  await chat.question.fill("Two?");
  await chat.question.press("Enter");
  await chat.page.getByRole("region", { name: "Your next question" }).waitFor();
  await scrollTo(chat, "the top");
  streams[0]?.end();
  await chat.answers.nth(1).waitFor({ state: "attached" });
  streams[1]?.token("Another answer.");
  streams[1]?.end();
  await chat.finished();
  await settled(chat);
  assert.equal(await chat.page.locator("#scroller").evaluate((box) => box.scrollTop), 0);
});

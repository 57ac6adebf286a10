// SPDX-License-Identifier: MIT

// What the tests of the settings share.
import assert from "node:assert/strict";
import type { BrowserContextOptions, Page } from "playwright-core";
import type { Settings } from "../src/settings/settings.ts";
import { ChatPage, noteRequests, withSettings } from "./browser.ts";

export interface Opened {
  chat: ChatPage;
  page: Page;
  requests: Record<string, unknown>[];
}

/** A page with the settings open, and the requests that it sends. */
export async function openSettings(
  server: { url: string },
  settings: Partial<Settings> = {},
  options: BrowserContextOptions = {},
): Promise<Opened> {
  const requests: Record<string, unknown>[] = [];
  const chat = await ChatPage.open(server.url, options, async (page) => {
    if (Object.keys(settings).length > 0) await withSettings(settings)(page);
    noteRequests(page, requests);
  });
  await chat.online();
  await show(chat);
  return { chat, page: chat.page, requests };
}

export async function show({ page }: ChatPage): Promise<void> {
  await page.getByRole("button", { name: "Settings", exact: true }).click();
  const advanced = page.locator("summary", { has: page.getByRole("heading", { name: "Advanced" }) });
  await advanced.waitFor();
  const chain = page.getByRole("heading", { name: "Sampler chain" });
  if (!(await chain.isVisible())) await advanced.click();
  await chain.waitFor();
}

export async function ask(chat: ChatPage, text = "Tell me a story about a frog."): Promise<string> {
  const before = await chat.answers.count();
  await chat.ask(text);
  await chat.answers.nth(before).waitFor();
  return finishedText(chat);
}

/** The text of the last answer, once it is drawn to its end: that takes a frame more. */
export async function finishedText(chat: ChatPage): Promise<string> {
  const answer = await chat.finished();
  await chat.page.evaluate(
    () => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))),
  );
  return (await answer.locator(".prose").innerText()).trim();
}

export async function done({ chat }: Pick<Opened, "chat">): Promise<void> {
  assert.deepEqual(chat.complaints, []);
  await chat.close();
}

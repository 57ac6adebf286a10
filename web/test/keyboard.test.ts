// SPDX-License-Identifier: MIT

// What a person does in the first ten minutes, by the keyboard alone: ask, edit, inspect, compare,
// steer, restrict to JSON, find an old chat.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import type { GenerateRequest } from "../src/host/protocol.ts";
import {
  ChatPage,
  ended,
  long,
  noteRequests,
  patience,
  stored,
  useBrowser,
  withSettings,
} from "./browser.ts";
import { useServer } from "./server.ts";
import { devices } from "./sizes.ts";
import { some } from "./steady.ts";

const options = { timeout: 6 * patience };
const farthest = 150; // presses of Tab to anything in sight

useBrowser();
const server = useServer();
const slow = useServer({ context: 60_000, flags: ["--parallel", "2"] }); // of long answers

/** Presses Tab until what has the focus is called name. */
async function tabTo(page: Page, name: RegExp): Promise<void> {
  const seen: string[] = [];
  for (let n = 0; n < farthest; n++) {
    await page.keyboard.press("Tab");
    const here = await page.evaluate(() => {
      const element = document.activeElement === document.body ? null : document.activeElement;
      const field = element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement;
      const labels = field ? element.labels : undefined;
      return (element?.ariaLabel ?? labels?.[0]?.textContent ?? element?.textContent ?? "").trim();
    });
    if (name.test(here)) return;
    seen.push(here.slice(0, 40));
  }
  assert.fail(`Tab does not lead to ${name}, but to ${[...new Set(seen)].join(" | ")}`);
}

async function pressAt(page: Page, name: RegExp): Promise<void> {
  await tabTo(page, name);
  await page.keyboard.press("Enter");
}

/** Asks with the keys of the device: a phone's Enter breaks the line. */
async function ask(chat: ChatPage, text: string): Promise<void> {
  const answers = await chat.answers.count();
  await chat.online();
  if (!(await chat.question.evaluate((field) => field === document.activeElement))) {
    await chat.page.keyboard.press("m");
    await chat.page.locator("#question:focus").waitFor();
  }
  await chat.page.keyboard.type(text);
  if ((await chat.question.getAttribute("enterkeyhint")) === "enter") await pressAt(chat.page, /^Send/);
  else await chat.page.keyboard.press("Enter");
  await chat.answers.nth(answers).waitFor();
}

/** Leaves the message field, so that letters are shortcuts. */
async function leave(chat: ChatPage): Promise<void> {
  await chat.question.focus();
  await chat.page.keyboard.press("Escape");
  await chat.page.locator("#question:not(:focus)").waitFor();
}

for (const [size, device] of some(devices, 1)) {
  test(
    `Page: ask, edit, inspect, compare, restrict to JSON and find an old chat, by keys alone (${size})`,
    options,
    async () => {
      const requests: GenerateRequest[] = [];
      const chat = await ChatPage.open(server.url, device, async (page) => {
        await withSettings({ sampling: { max_tokens: 24 } })(page);
        noteRequests(page, requests);
      });
      const { page } = chat;
      await ask(chat, "Tell me a story about a frog.");
      await chat.finished();

      await chat.question.focus();
      await page.keyboard.press("ArrowUp");
      await page.getByRole("textbox", { name: "Edit your message" }).waitFor();
      await page.keyboard.press("Control+A");
      await page.keyboard.type("Tell me a story about a cat.");
      await pressAt(page, /^Send$/);
      await page.getByRole("region", { name: "Your message" }).getByText("2 of 2").waitFor();
      await chat.finished();

      await leave(chat);
      await page.keyboard.press("i");
      await page.getByRole("button", { name: "Answer again with a token record" }).waitFor();
      await pressAt(page, /^Answer again with a token record$/);
      await page.getByRole("listbox", { name: "Tokens of the answer" }).waitFor();
      await page.getByRole("region", { name: "Candidates" }).waitFor();
      await page.locator(ended).waitFor({ state: "attached" }); // else the button does nothing yet
      await pressAt(page, /^Write and compare$/);
      await page.locator(".verdict", { hasText: /part|same/ }).waitFor();
      await page.keyboard.press("Escape");
      await page.locator(".drawer").waitFor({ state: "detached" });
      await chat.finished(); // else Escape stops it

      await leave(chat);
      await page.keyboard.press("s");
      await page.getByLabel("Instructions").waitFor();
      await tabTo(page, /^Text$/);
      await page.keyboard.press("ArrowRight");
      await page.getByRole("radio", { name: "JSON", exact: true, checked: true }).waitFor();
      await page.keyboard.press("Escape");
      await page.locator(".drawer").waitFor({ state: "detached" });
      await ask(chat, "Give me four planets.");
      await chat.finished();
      assert.deepEqual(requests.at(-1)?.response_format, { type: "json_object" });

      await leave(chat);
      await page.keyboard.press("n");
      await page.locator(".welcome").waitFor();
      await page.locator("#question:focus").waitFor();
      await leave(chat);
      await page.keyboard.press("/");
      await page.locator("#search:focus").waitFor();
      await page.keyboard.type("planets");
      await page.locator(".result").first().waitFor(); // else a suggestion has that name
      await pressAt(page, /planets/);
      await page.getByRole("region", { name: "Your message" }).getByText("Give me four planets.").waitFor();
      assert.deepEqual(chat.complaints, []);
      await chat.close();
    },
  );
}

test("Page: steer an answer by keys alone", options, async () => {
  const chat = await ChatPage.open(slow.url, {}, long(slow, 50_000));
  const { page } = chat;
  await ask(chat, "Tell me a story.");
  await pressAt(page, /^Steer$/);
  await page.getByRole("button", { name: "Pause", exact: true }).waitFor();
  await chat.answers.getByText(/[1-9]\d* tokens?/).waitFor(); // what is put in comes after the prompt
  await pressAt(page, /^Pause$/);
  await page.locator('[data-phase="paused"]').waitFor();
  const { content } = await stored(page, (m) => m.answer?.phase === "paused");
  await tabTo(page, /^Write into the answer/);
  await page.keyboard.type(" zebra");
  await page.keyboard.press("Enter");
  await stored(page, (m) => m.content.endsWith("zebra") && m.content.startsWith(content));
  await pressAt(page, /^Resume$/);
  await page.locator('[data-phase="streaming"]').waitFor();
  await pressAt(page, /^Stop$/);
  await chat.finished();
  await slow.runs(0);
  assert.deepEqual(chat.complaints, []);
});

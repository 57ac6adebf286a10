// SPDX-License-Identifier: MIT

// Ten minutes of a new user, from an empty browser: everything is done on the page, in one sitting.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { ChatPage, patience, useBrowser } from "./browser.ts";
import { card, drop, giveKey, unfold } from "./plugins.ts";
import { useServer } from "./server.ts";
import { finishedText } from "./settings.ts";
import { examplePlugin } from "./wasm.ts";

const adminKey = "secret-of-the-story";
const question = "Tell me a story about a frog.";

useBrowser();
const server = useServer({
  context: 60_000,
  plugins: ["banned-phrases"],
  flags: ["--admin-key", adminKey, "--parallel", "2"],
});

const chatsOf = (page: Page) => page.getByRole("navigation", { name: "Chats and views" });
const drawerOf = (page: Page) => page.locator(".drawer");

/** Goes to a view as a person does, by the sidebar. */
function go(page: Page, view: "Plugins" | "Live"): Promise<void> {
  return page.getByRole("link", { name: view, exact: true }).click();
}

async function firstAnswer(chat: ChatPage): Promise<string> {
  await chat.ask(question);
  return finishedText(chat);
}

async function banTheFrog(page: Page): Promise<void> {
  await go(page, "Plugins");
  const plugin = await unfold(page, "banned-phrases");
  await plugin.getByRole("button", { name: "Add to Phrases" }).click();
  await page.keyboard.type("frog"); // the new entry has the focus
  await plugin.getByRole("switch", { name: "Use in this chat" }).check();
  await plugin.getByRole("link", { name: "Open the chat" }).click();
}

/**
 * Opens the inspector on the last answer, which has no trace yet, and returns the sentence about
 * the frog.
 */
async function whyItChanged(chat: ChatPage): Promise<string> {
  await chat.answers.last().getByRole("button", { name: "Inspect" }).click();
  const drawer = drawerOf(chat.page);
  await drawer.getByRole("button", { name: /^Answer again with a token record/ }).click();
  const sentence = await frogSentence(chat.page);
  await chat.finished(); // else it still has a slot in the live view
  return sentence;
}

async function frogSentence(page: Page): Promise<string> {
  const story = drawerOf(page).getByRole("region", { name: "The token in focus" }).getByRole("listitem");
  const sentence = story.filter({ hasText: /^plugin:banned-phrases took back/ }).first();
  await sentence.waitFor();
  return sentence.innerText();
}

async function openAdvanced(page: Page): Promise<void> {
  const heading = page.getByRole("heading", { name: "Advanced" });
  const advanced = drawerOf(page).locator("details", { has: heading }).first();
  if ((await advanced.getAttribute("open")) === null) await heading.click();
}

/**
 * Has an answer begin that does not end by itself, and sees it grow: short ones are there at once.
 */
async function longAnswer(chat: ChatPage): Promise<void> {
  const { page } = chat;
  await page.getByRole("button", { name: "New chat" }).first().click();
  await page.getByRole("button", { name: "Settings", exact: true }).click();
  const drawer = drawerOf(page);
  await drawer.getByRole("textbox", { name: "Length" }).fill("50000");
  await openAdvanced(page);
  await drawer.getByRole("switch", { name: "Go on to the limit" }).check();
  await page.getByRole("button", { name: "Settings", exact: true }).click();
  await chat.watchLengths();
  await chat.ask("What is a plugin?");
  await chat.growing(5);
}

/** Finds one's own answer in the live view, holds it and lets it go on there. */
async function steerLive(chat: ChatPage): Promise<void> {
  const { page } = chat;
  await go(page, "Live");
  const own = page.locator('.slot[data-own="true"]');
  assert.match(await own.getByRole("link").innerText(), /What is a plugin/);
  await own.getByText(/tokens\/s/).waitFor();
  await own.getByText("Steer", { exact: true }).click();
  await own.getByRole("button", { name: "Pause" }).click();
  await own.locator(".state", { hasText: "Paused" }).waitFor();
  await own.getByRole("button", { name: "Resume" }).click();
  await own.locator(".state", { hasText: "Paused" }).waitFor({ state: "detached" });
  await own.getByText(/tokens\/s/).waitFor();
  await own.getByRole("link").click();
  await chat.stop.first().click();
  await chat.finished();
}

/** Drops in a plugin that ends an answer at a pattern, and switches it on in the chat. */
async function ownPlugin(page: Page): Promise<void> {
  await go(page, "Plugins");
  await drop(page, [{ name: "regex-stop.wasm", bytes: readFileSync(examplePlugin("regex-stop")) }]);
  await giveKey(page, adminKey);
  const plugin = await unfold(page, "regex-stop");
  await plugin.getByRole("textbox", { name: "Pattern" }).fill("[.!?]");
  await plugin.getByRole("switch", { name: "Use in this chat" }).check();
  await plugin.getByRole("link", { name: "Open the chat" }).click();
}

/**
 * After a reload: the chats, the versions of an answer, why a word changed, and the plugin are
 * still there.
 */
async function allIsThere(chat: ChatPage, ended: string, sentence: string): Promise<void> {
  const { page } = chat;
  await page.reload();
  await chat.online();
  await page.getByText("Tell me about a cat.").first().waitFor();
  assert.equal(await finishedText(chat), ended);
  await page.getByRole("button", { name: "Settings", exact: true }).click();
  await openAdvanced(page);
  await drawerOf(page).getByRole("heading", { name: "Programs, templates, stop rules" }).click();
  assert.equal(await drawerOf(page).getByRole("switch", { name: "Use regex-stop" }).isChecked(), true);
  await chatsOf(page).getByRole("link", { name: question }).click();
  await page.getByText("2 of 2").waitFor();
  await chat.answers.last().getByRole("button", { name: "Inspect" }).click();
  assert.equal(await frogSentence(page), sentence);
  await go(page, "Plugins");
  await card(page, "regex-stop").getByText("Ready").waitFor();
}

test("Story: chat, ban a word, read why it changed, steer a stream, drop in a plugin, reload", {
  timeout: 6 * patience,
}, async () => {
  const chat = await ChatPage.open(server.url);
  const { page } = chat;
  assert.match(await firstAnswer(chat), /frog/i);

  await banTheFrog(page);
  await chat.ask("Tell me another story about a frog.");
  await chat.answers.nth(1).waitFor();
  assert.doesNotMatch(await finishedText(chat), /frog/i);
  const sentence = await whyItChanged(chat);
  assert.match(sentence, /^plugin:banned-phrases took back \d+ tokens?: .*frog/i);

  const quick = server.slow();
  try {
    await longAnswer(chat);
    await steerLive(chat);
  } finally {
    quick();
  }

  await ownPlugin(page);
  await chat.ask("Tell me about a cat.");
  await chat.answers.nth(1).waitFor();
  const ended = await finishedText(chat);
  assert.match(ended, /^[^.!?]+$/, "an answer that goes on for ever ends before its first full stop");

  await allIsThere(chat, ended, sentence);
  assert.deepEqual(chat.complaints, []);
});

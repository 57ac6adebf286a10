// SPDX-License-Identifier: MIT

// The page with the real host and small random models that see and hear. What they answer is no
// sense, but depends on what they are shown.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ChatPage, patience, useBrowser, withSettings } from "./browser.ts";
import { choose, picture, wav } from "./media.ts";
import { useServer } from "./server.ts";

useBrowser();
const server = useServer({ perceives: true });

const red = picture("red.png", [220, 30, 30]);
const blue = picture("blue.png", [30, 30, 220]);
const greedy = withSettings({ sampling: { temperature: 0, max_tokens: 12 } });

/** What the model writes when it is asked, with what was just added. */
async function answer(chat: ChatPage, question: string): Promise<string> {
  const before = await chat.answers.count();
  await chat.ask(question);
  await chat.answers.nth(before).waitFor();
  const text = (await (await chat.finished()).locator(".prose").textContent()) ?? "";
  assert.notEqual(text, "", "it says nothing");
  return text;
}

test("Page: a model that sees answers about pictures, also after a reload, and one that was lost with its connection", {
  timeout: 6 * patience,
}, async () => {
  const chat = await ChatPage.open(server.url, {}, greedy);
  const { page } = chat;
  await chat.online();
  await choose(page, "Pictures", [red]);
  await page.getByRole("img", { name: "red.png" }).waitFor();
  const first = await answer(chat, "What?");
  const again = await chat.finished();
  await again.getByRole("button", { name: "Regenerate" }).click();
  await page.getByText("2 of 2").waitFor();
  assert.equal(await (await chat.finished()).locator(".prose").textContent(), first, "the same picture");
  await page.reload();
  await chat.online();
  await answer(chat, "And now?"); // names the picture on a new connection

  await page.getByRole("button", { name: "New chat" }).first().click();
  await choose(page, "Pictures", [blue]);
  await page.getByRole("img", { name: "blue.png" }).waitFor();
  assert.notEqual(await answer(chat, "What?"), first, "another picture");
  assert.deepEqual(chat.complaints, []);
});

test("Page: a model that hears answers about a sound, and several files go in one question", {
  timeout: 4 * patience,
}, async () => {
  const chat = await ChatPage.open(server.url, {}, greedy);
  await chat.online();
  const sound = { name: "tone.wav", mimeType: "audio/wav", buffer: wav(1) };
  await choose(chat.page, "Sounds", [sound, red, blue]);
  await chat.page.getByRole("img", { name: "blue.png" }).waitFor();
  await answer(chat, "What?");
  assert.deepEqual(chat.complaints, []);
});

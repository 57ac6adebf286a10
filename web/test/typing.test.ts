// SPDX-License-Identifier: MIT

// What keys and a paste do: those of an input method, Escape, the arrows in the search.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Locator } from "playwright-core";
import { archive, importFile } from "./archive.ts";
import { ChatPage, patience, useBrowser } from "./browser.ts";
import { type PlayedStream, play } from "./play.ts";
import { useServer } from "./server.ts";
import { devices } from "./sizes.ts";
import { some } from "./steady.ts";

const options = { timeout: 3 * patience };

useBrowser();
const server = useServer();

/** A page whose answers the test plays. */
async function open(device = {}) {
  const streams: PlayedStream[] = [];
  const chat = await ChatPage.open(server.url, device, (page) =>
    play(page, (stream) => streams.push(stream)),
  );
  await chat.online();
  return { chat, page: chat.page, streams };
}

/** Presses Enter as Safari tells of it at the end of a composition: no part of it, code 229. */
function endComposition(field: Locator): Promise<unknown> {
  return field.evaluate((it) =>
    it.dispatchEvent(
      new KeyboardEvent("keydown", { key: "Enter", keyCode: 229, bubbles: true, cancelable: true }),
    ),
  );
}

test("Page: the Enter that ends a composition does nothing else, in any field", options, async () => {
  const { chat, page, streams } = await open();
  await chat.question.fill("日本");
  await endComposition(chat.question);
  await page.getByRole("button", { name: "Settings", exact: true }).click();
  await page.getByRole("heading", { name: "Advanced" }).click();
  const stops = page.getByRole("textbox", { name: "Stop strings" });
  await stops.fill("終");
  await endComposition(stops);
  assert.equal(await stops.inputValue(), "終");
  await stops.fill("");
  await page.getByRole("button", { name: "Close Settings" }).click();
  assert.equal(await chat.question.inputValue(), "日本");
  await chat.question.press("Enter"); // this one sends
  await page.getByRole("button", { name: "Stop", exact: true }).waitFor();
  await page.getByRole("button", { name: "Steer", exact: true }).click();
  const inject = page.getByRole("textbox", { name: "Write into the answer" });
  await inject.fill("本当");
  await endComposition(inject);
  assert.equal(await inject.inputValue(), "本当");
  streams[0]?.token("One.");
  streams[0]?.end();
  await chat.finished();
  await page.getByRole("region", { name: "Your message" }).hover();
  await page.getByRole("button", { name: "Edit" }).first().click();
  const editor = page.getByRole("textbox", { name: "Edit your message" });
  await editor.fill("日本語");
  await endComposition(editor);
  assert.equal(await editor.inputValue(), "日本語");
  assert.equal(streams.length, 1);
  assert.deepEqual(chat.complaints, []);
});

for (const [size, device] of some(devices, 1)) {
  test(`Page: Escape closes the menu of stages, then the settings (${size})`, options, async () => {
    const { chat, page } = await open(device);
    await page.getByRole("button", { name: "Settings", exact: true }).click();
    await page.getByRole("heading", { name: "Advanced" }).click();
    const add = page.getByRole("button", { name: "Add a stage" });
    await add.click();
    const stage = page.locator(".add-stage li").first();
    await stage.getByRole("button").focus();
    await page.keyboard.press("Escape");
    await stage.waitFor({ state: "detached" });
    await page.locator(".drawer").waitFor();
    await page.keyboard.press("Escape");
    await page.locator(".drawer").waitFor({ state: "detached" });
    assert.deepEqual(chat.complaints, []);
  });
}

test(
  "Page: Escape empties the search, then leaves it; the arrows lead to what it has found",
  options,
  async () => {
    const { chat, page, streams } = await open();
    await importFile(page, archive(3));
    await page.getByText("3 chats are imported.").waitFor();
    await chat.ask("Go on.");
    await chat.stop.waitFor();
    const search = page.getByRole("searchbox", { name: "Search chats" });
    await search.fill("needle1");
    await page.locator(".result").waitFor();
    await search.press("ArrowDown");
    await page.locator(".result a:focus").waitFor();
    await page.keyboard.press("ArrowUp");
    await page.locator("#search:focus").waitFor();
    await page.keyboard.press("Escape");
    assert.equal(await search.inputValue(), "");
    await page.locator("#search:focus").waitFor();
    await page.keyboard.press("Escape");
    await page.locator("#search:not(:focus)").waitFor();
    await chat.stop.waitFor(); // it stopped no answer
    streams[0]?.end();
    await page.keyboard.press("n");
    await page.locator(".welcome").waitFor();
    assert.deepEqual(chat.complaints, []);
  },
);

/** Pastes a text into the message field. */
function paste({ question }: ChatPage, text: string): Promise<unknown> {
  return question.evaluate((field, words) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", words);
    field.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  }, text);
}

test(
  "Page: a long text that is pasted becomes a file, and goes into the message if wanted",
  options,
  async () => {
    const { chat, page, streams } = await open();
    const chip = page.getByRole("button", { name: "Remove Pasted text.txt" });
    const second = page.getByRole("button", { name: "Remove Pasted text 2.txt" });
    await paste(chat, "a word ".repeat(150_000));
    await chip.waitFor();
    await paste(chat, "some words ".repeat(1000));
    await second.waitFor();
    assert.equal(await chat.question.inputValue(), "");
    await page.getByRole("button", { name: "Put it into the message" }).click();
    await second.waitFor({ state: "detached" });
    assert.equal((await chat.question.inputValue()).length, 11_000);
    await chat.question.fill("What is it about?");
    await chat.question.press("Enter");
    await page.waitForFunction(() => document.querySelector(".answer") !== null);
    const [asked] = streams[0]?.request.messages ?? [];
    assert.ok(JSON.stringify(asked).length > 1_000_000, "the text is not sent");
    streams[0]?.end();
    assert.deepEqual(chat.complaints, []);
  },
);

test("Page: a remedy for a question that is too long helps", options, async () => {
  const { chat, page, streams } = await open();
  await chat.ask("A question that is much too long.");
  await chat.answers.waitFor();
  const message =
    "request (40007 tokens) exceeds the available context size (15104 tokens), the answer included";
  streams[0]?.end({ reason: "error", error: { code: "context_length_exceeded", message } });
  const problem = page.locator(".problem");
  await problem.getByText("it has 40,007 tokens, and 15,104 fit").waitFor();
  assert.deepEqual(await problem.getByRole("button").allInnerTexts(), ["Shorten the question"]);
  await problem.getByRole("button", { name: "Shorten the question" }).click();
  await page.getByRole("textbox", { name: "Edit your message" }).fill("A short one.");
  await page.getByRole("textbox", { name: "Edit your message" }).press("Enter");
  await page.getByText("2 of 2").first().waitFor();
  assert.equal(streams.length, 2);
  streams[1]?.end();
  assert.deepEqual(chat.complaints, []);
});

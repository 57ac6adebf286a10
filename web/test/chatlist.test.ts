// SPDX-License-Identifier: MIT

// What a person, or the model, makes of the list of chats: pins, folders, copies, titles, and an
// end of all. The test answers in the host's place.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { BrowserContextOptions, Page } from "playwright-core";
import { archive, importFile } from "./archive.ts";
import { findings } from "./axe.ts";
import { ChatPage, chooseFrom, patience, useBrowser } from "./browser.ts";
import { type PlayedStream, play } from "./play.ts";
import { useServer } from "./server.ts";
import { devices } from "./sizes.ts";
import { some } from "./steady.ts";

const options = { timeout: 3 * patience };

useBrowser();
const server = useServer();

/** A page at noon, with chats that are one day older than each other. */
async function open(chats: number, size: BrowserContextOptions = {}, script = "") {
  const noon = new Date().setHours(12, 0, 0, 0);
  const chat = await ChatPage.open(server.url, size, async (page) => {
    await page.addInitScript(script);
    await page.clock.install({ time: noon });
  });
  await chat.online();
  if (size.isMobile) await chat.page.getByRole("button", { name: "Open the sidebar" }).tap();
  await importFile(chat.page, archive(chats, 200, noon));
  await chat.page.getByText(`${chats} chats are imported.`).waitFor();
  return chat;
}

/** The list as it is read: headings, and below them chats. */
const shown = (page: Page) =>
  page
    .locator(".chats section")
    .evaluateAll((groups) =>
      groups.map((group) => [
        group.getAttribute("aria-label"),
        [...group.querySelectorAll(".entry .name")].map(({ textContent }) => textContent),
      ]),
    );

test("Page: what is chosen in the moment in which the page is left is kept", options, async () => {
  // Before the page's own listeners, which have no more time than this one.
  const chat = await open(2, {}, 'addEventListener("pagehide", () => window.lastChoice?.click())');
  const { page } = chat;
  await page.getByRole("link", { name: "Chat number 1" }).click();
  await page.getByText("Question 1", { exact: true }).waitFor();
  for (const [item, group] of [
    ["Pin", [["Pinned", ["Chat number 1"]]]],
    ["Delete", []],
  ] as const) {
    await page.getByRole("button", { name: "Actions for Chat number 1" }).click({ force: true });
    const choice = page.getByRole("menuitem", { name: item, exact: true });
    await choice.evaluate((lastChoice) => void Object.assign(window, { lastChoice }));
    await page.reload();
    await page.getByRole("link", { name: "Chat number 0" }).waitFor();
    assert.deepEqual(await shown(page), [...group, ["Today", ["Chat number 0"]]]);
  }
  // A page in another tab writes it at once, so that it never comes after what is newer.
  const other = await page.context().newPage();
  await other.goto(server.url);
  await other.getByRole("link", { name: "Chat number 0" }).waitFor();
  const left = JSON.stringify([{ put: "chat", chat: { id: "left", title: "Left" } }]);
  await page.evaluate((writes) => localStorage.setItem("penstock.unwritten", writes), left);
  await page.waitForFunction(() => localStorage.getItem("penstock.unwritten") === null);
  await other.evaluate(() => 0); // the other page has begun to write, and the next one reads after it
  await page.reload();
  await page.getByRole("link", { name: "Left" }).waitFor();
  assert.deepEqual(chat.complaints, []);
});

test("Page: chats are pinned, put into folders and duplicated, and stay so", options, async () => {
  const chat = await open(4);
  const { page } = chat;
  const [one, two, three] = ["Chat number 1", "Chat number 2", "Chat number 3"] as const;
  await chooseFrom(page, `Actions for ${three}`, "Pin");
  await page.getByRole("region", { name: "Pinned" }).waitFor();
  for (const name of [one, two]) {
    await chooseFrom(page, `Actions for ${name}`, "Put into a folder");
    await page.getByLabel("Folder of the chat").fill("  Work ");
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "Work" }).getByRole("link", { name }).waitFor();
    await page.waitForFunction((title) => document.activeElement?.textContent === title, name);
  }
  assert.deepEqual(await shown(page), [
    ["Pinned", [three]],
    ["Work", [one, two]],
    ["Today", ["Chat number 0"]],
  ]);
  await chooseFrom(page, `Actions for ${one}`, "Duplicate");
  await page.getByRole("heading", { name: `${one} (copy)` }).waitFor();
  await page.getByText("Question 1", { exact: true }).waitFor();
  const folder = page.getByRole("button", { name: "Work" });
  await folder.click();
  await page.reload();
  await page.getByText("Question 1", { exact: true }).waitFor();
  assert.deepEqual(await shown(page), [
    ["Pinned", [three]],
    ["Work", []],
    ["Today", ["Chat number 0"]],
  ]);
  await folder.click();
  await chooseFrom(page, `Actions for ${two}`, "Change the folder");
  await page.getByLabel("Folder of the chat").fill("");
  await page.keyboard.press("Enter");
  await page.getByRole("region", { name: "Previous 7 days" }).waitFor();
  await chooseFrom(page, `Actions for ${three}`, "Unpin");
  await page.getByRole("region", { name: "Pinned" }).waitFor({ state: "detached" });
  assert.deepEqual(await shown(page), [
    ["Work", [`${one} (copy)`, one]],
    ["Today", ["Chat number 0"]],
    ["Previous 7 days", [two, three]],
  ]);
  assert.deepEqual(chat.complaints, []);
});

for (const [size, device] of some(devices, 1)) {
  test(
    `Page: all chats are deleted once that is confirmed, and brought back (${size})`,
    options,
    async () => {
      const chat = await open(3, device);
      const { page } = chat;
      const links = page.locator(".entry");
      await chooseFrom(page, "More", "Delete all chats…");
      const dialog = page.getByRole("dialog", { name: "Delete all 3 chats?" });
      await dialog.waitFor();
      assert.deepEqual(await findings(page), []);
      await page.waitForFunction(() => document.activeElement?.textContent === "Cancel");
      await page.keyboard.press("Enter");
      await dialog.waitFor({ state: "detached" });
      assert.equal(await links.count(), 3);
      for (const last of [false, true]) {
        await chooseFrom(page, "More", "Delete all chats…");
        await dialog.getByRole("button", { name: "Delete", exact: true }).click();
        await page.getByText("3 chats are deleted.").waitFor();
        assert.equal(await links.count(), 0);
        if (last) break;
        await page.getByRole("button", { name: "Undo" }).click();
        await links.nth(2).waitFor();
      }
      await page.reload();
      await chat.online();
      assert.equal(await links.count(), 0);
      assert.deepEqual(chat.complaints, []);
    },
  );
}

test("Page: the model names a chat, unless that is switched off", options, async () => {
  const asked: PlayedStream[] = [];
  const chat = await ChatPage.open(server.url, {}, (page) => play(page, (stream) => void asked.push(stream)));
  const { page } = chat;
  const say = async (n: number, text: string) => {
    while (asked.length < n) await page.waitForTimeout(10);
    asked[n - 1]?.token(text);
    asked[n - 1]?.end();
  };
  await chat.ask("What is the capital of France?");
  await say(1, "Paris.");
  await chat.finished();
  await page.getByRole("button", { name: "More", exact: true }).click();
  const switched = page.getByRole("menuitemcheckbox", { name: "Titles by the model" });
  assert.equal(await switched.getAttribute("aria-checked"), "false");
  assert.deepEqual(await findings(page), []);
  await switched.click();
  await chat.ask("And of Spain?");
  await say(2, "Madrid.");
  await say(3, "**Capitals of Europe**");
  await page.getByRole("heading", { name: "Capitals of Europe" }).waitFor();
  await page.getByRole("link", { name: "Capitals of Europe" }).waitFor();
  assert.equal(asked[2]?.request.priority, -100);
  assert.deepEqual(
    asked[2]?.request.messages.slice(0, 4).map(({ content }) => content),
    ["What is the capital of France?", "Paris.", "And of Spain?", "Madrid."],
  );
  await page.reload();
  await page.getByRole("heading", { name: "Capitals of Europe" }).waitFor();
  assert.equal(asked.length, 3);
  assert.deepEqual(chat.complaints, []);
});

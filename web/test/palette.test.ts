// SPDX-License-Identifier: MIT

// The palette, and questions of links.
import assert from "node:assert/strict";
import { test } from "node:test";
import { findings } from "./axe.ts";
import { ChatPage, patience, useBrowser, withSettings } from "./browser.ts";
import { useServer } from "./server.ts";
import { devices } from "./sizes.ts";
import { some } from "./steady.ts";

const options = { timeout: 4 * patience };
const short = withSettings({ sampling: { max_tokens: 8 } });
useBrowser();
const server = useServer({ models: ["apple", "pear"], flags: ["--admin-key", "secret"] });

for (const [size, device] of some(devices, 1)) {
  test(`Palette: it finds chats and does what the page can, by keys alone (${size})`, options, async () => {
    const chat = await ChatPage.open(server.url, device, short);
    const { page } = chat;
    await chat.ask("Where do frogs sleep?");
    await chat.finished();
    const field = page.getByRole("combobox", { name: "Find chats and commands" });
    const marked = page.locator('[role="option"][aria-selected="true"]');
    const find = async (words: string, what: RegExp) => {
      await page.keyboard.press("Control+k");
      await page.keyboard.type(words); // the field has the focus at once
      await marked.filter({ hasText: what }).waitFor();
    };
    await chat.question.focus();
    await page.keyboard.press("Control+Shift+O");
    await page.getByRole("heading", { name: "What shall we talk about?" }).waitFor();
    await page.keyboard.press("Control+k");
    await page
      .getByRole("group", { name: "Strategies" })
      .or(page.getByRole("group", { name: "Models" }))
      .first()
      .waitFor();
    assert.deepEqual(await findings(page), []);
    assert.equal(await field.getAttribute("aria-activedescendant"), await marked.getAttribute("id"));
    await page.keyboard.press("Escape");
    await field.waitFor({ state: "detached" });
    await find("frogs sleep", /^Where do frogs sleep/);
    await page.keyboard.press("Enter");
    await chat.finished();
    await find("pear", /^pear/);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Model: pear" }).waitFor();
    await find("open plugins", /^Open Plugins$/);
    await page.keyboard.press("Enter");
    await page.locator("main.plugins").waitFor();
    await find("theme", /^Theme: system/);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.locator('html[data-theme="dark"]').waitFor({ state: "attached" });
    await page.keyboard.press("Control+k");
    await page.keyboard.type("no such thing");
    await page.getByText("Nothing has these words.").waitFor();
    assert.deepEqual(chat.complaints, []);
  });
}

test("Address: ?q= fills the field of a new chat, and sends nothing", options, async () => {
  const sent: string[] = [];
  const chat = await ChatPage.open(server.url, {}, async (page) => {
    await short(page);
    page.on("websocket", (socket) =>
      socket.on("framesent", ({ payload }) => sent.push(JSON.parse(String(payload)).type)),
    );
  });
  const { page } = chat;
  await chat.online();
  await chat.question.fill("my own draft");
  await page.goto(`${server.url}/?q=${encodeURIComponent("Why are frogs\u202E green?")}`);
  await chat.online();
  await page.getByText("The question comes from the link. Read it before you send it.").waitFor();
  assert.equal(await chat.question.inputValue(), "Why are frogs green?");
  assert.equal(new URL(page.url()).search, "");
  assert.ok(!sent.includes("generate"), sent.join(" "));
  await page.getByRole("button", { name: "Undo" }).click();
  assert.equal(await chat.question.inputValue(), "my own draft");
  await page.reload();
  await chat.online();
  assert.equal(await chat.question.inputValue(), "my own draft");
  assert.deepEqual(chat.complaints, []);
});

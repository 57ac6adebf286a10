// SPDX-License-Identifier: MIT

// Several models: which is loaded, which wrote an answer, and the same question to another.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ChatPage, patience, useBrowser, withSettings, words } from "./browser.ts";
import { useServer } from "./server.ts";
import { phone } from "./sizes.ts";

const short = withSettings({ sampling: { max_tokens: 8 } });
useBrowser();
const server = useServer({ models: ["apple", "pear"], flags: ["--admin-key", "secret"] });

test("Page: an answer says which model wrote it, and another can answer, too", {
  timeout: 4 * patience,
}, async () => {
  const chat = await ChatPage.open(server.url, phone, short);
  await chat.online();
  await chat.page.getByRole("combobox", { name: "Model" }).selectOption("apple");
  await chat.question.fill("Hello!");
  await chat.send.click();
  const answer = await chat.finished();
  assert.match(await words(answer), /apple ·/);
  await answer.getByText(/\d %/).waitFor(); // how full the context of that model is
  await answer.getByRole("button", { name: "Answer with another model" }).press("Enter");
  await chat.page.getByRole("menuitem", { name: "pear" }).press("Enter");
  await chat.page.getByText("2 of 2").waitFor();
  const other = await chat.finished();
  assert.match(await words(other), /pear ·/);
  await other.getByText(/\d %/).waitFor();
  assert.deepEqual(chat.complaints, []);
});

test("Page: models are loaded and unloaded with the admin key", { timeout: 4 * patience }, async () => {
  const chat = await ChatPage.open(`${server.url}/#/models`, {}, short);
  const { page } = chat;
  const apple = page.getByRole("listitem").filter({ has: page.getByRole("heading", { name: "apple" }) });
  const loaded = async () => {
    const { data } = await (await fetch(`${server.url}/v1/models`)).json();
    return data.find(({ id }: { id: string }) => id === "apple").status.value;
  };
  await apple.getByText(/million parameters · \d+ MB/).waitFor();
  if ((await loaded()) === "unloaded") await fetch(`${server.url}/props?model=apple`);
  await apple.getByRole("button", { name: "Unload apple" }).press("Enter");
  const key = page.getByRole("textbox", { name: "Admin key" });
  await key.fill("wrong");
  await key.press("Enter");
  await page.getByText("The server did not accept that key.").waitFor();
  await key.fill("secret");
  await key.press("Enter");
  await apple.getByText("Not loaded").waitFor();
  assert.equal(await loaded(), "unloaded");
  await apple.getByRole("button", { name: "Load apple" }).press("Enter");
  await apple.getByText("Loaded", { exact: true }).waitFor();
  assert.equal(await loaded(), "loaded");
  await apple.getByRole("button", { name: "Chat with apple" }).press("Enter");
  await page.locator(".welcome").getByText("apple answers").waitFor();
  assert.equal(await page.getByRole("combobox", { name: "Model" }).inputValue(), "apple");
  assert.deepEqual(chat.complaints, []);
});

// SPDX-License-Identifier: MIT

// What a person sees of a host that goes away, comes back, or asks for a key.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { ChatPage, launch, long, patience } from "./browser.ts";
import { Server } from "./server.ts";

let browser: Browser;

before(async () => {
  browser = await launch();
});

after(async () => {
  await browser?.close();
});

test("Page: survives a restart of the host, and tells of it", { timeout: 4 * patience }, async (t) => {
  const first = await Server.start({ context: 60_000 });
  t.after(() => first.stop("SIGKILL"));
  const chat = await ChatPage.open(browser, first.url, {}, long(50_000));
  await chat.watchLengths();
  await chat.ask("Tell me a story.");
  await chat.growing(2);

  await first.stop("SIGKILL");
  const answer = await chat.finished();
  assert.match(await answer.innerText(), /connection to Penstock was lost[\s\S]*reconnects by itself/);
  await chat.page.getByRole("alert").filter({ hasText: "Not connected" }).waitFor();
  assert.match(await chat.status.innerText(), /Reconnecting/);
  await chat.question.fill("Are you there?");
  assert.equal(await chat.send.isDisabled(), true);

  const second = await Server.start({ address: first.address });
  t.after(() => second.stop());
  await chat.online();
  assert.equal(await chat.page.getByRole("alert").filter({ hasText: "Not connected" }).count(), 0);
  await chat.page.getByRole("button", { name: "New chat" }).click();
  await chat.page.getByRole("button", { name: "Settings" }).click();
  await chat.page.getByRole("button", { name: "Back to defaults" }).click();
  await chat.page.getByRole("button", { name: "Done" }).click();
  assert.equal(await chat.question.inputValue(), "Are you there?", "what was typed is lost");
  await chat.send.click();
  assert.match(await (await chat.finished()).innerText(), /\d+ tokens?/);
  await chat.close();
});

test("Page: asks for the key that the host wants, and remembers it", { timeout: 3 * patience }, async (t) => {
  const server = await Server.start({ flags: ["--api-key", "gate?keeper>~"] }); // base64 writes it with + and /
  t.after(() => server.stop());
  const chat = await ChatPage.open(browser, server.url);
  const dialog = chat.page.getByRole("dialog", { name: "This server wants a key" });
  await dialog.getByLabel("API key").fill("wrong");
  await dialog.getByRole("button", { name: "Connect" }).click();
  await dialog.getByText("did not accept that key").waitFor();
  await dialog.getByLabel("API key").fill("gate?keeper>~");
  await dialog.getByLabel("API key").press("Enter");
  await chat.ask("Hello!");
  assert.match(await (await chat.finished()).innerText(), /\d+ tokens?/);
  await chat.page.reload();
  await chat.online();
  await chat.page.getByRole("button", { name: "Settings" }).click();
  await chat.page.getByRole("button", { name: "Forget API key" }).click();
  await dialog.waitFor();
  assert.equal(await dialog.getByText("did not accept that key").isVisible(), false);
  await chat.close();
});

// SPDX-License-Identifier: MIT

// How the page shows what each stage of the chain did, with the real host and the built-in model.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { ChatPage, launch, patience } from "./browser.ts";
import { Server } from "./server.ts";

let browser: Browser;
let server: Server;

before(async () => {
  browser = await launch();
  server = await Server.start();
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

test("Page: a token shows the stages that led to it, where they are asked for", {
  timeout: 2 * patience,
}, async () => {
  const chat = await ChatPage.open(browser, server.url);
  await chat.ask("Give me four planets.");
  const plain = await chat.finished();
  assert.equal(await plain.locator(".trace").isVisible(), false);

  await chat.page.getByRole("button", { name: "Settings" }).click();
  await chat.page.getByLabel("Trace").check();
  await chat.page.getByRole("button", { name: "Done" }).click();
  await chat.ask("Give me four planets.");
  const answer = await chat.finished();
  await answer.getByText("How the tokens were chosen").click();
  const tokens = answer.locator(".trace .tokens button");
  await tokens.nth(2).waitFor(); // they are drawn after the answer's text
  await tokens.first().click();
  assert.equal(await tokens.first().getAttribute("aria-pressed"), "true");
  const stages = await answer.locator(".trace td:first-child").allInnerTexts();
  assert.equal(stages[0], "model");
  assert.ok(stages.includes("top_k") && stages.at(-1) === "dist", `the stages are ${stages}`);
  assert.deepEqual(chat.complaints, []);
  await chat.close();
});

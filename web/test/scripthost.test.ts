// SPDX-License-Identifier: MIT

// Scripts with the real host and the built-in model.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { ChatPage, patience, useBrowser, withSettings } from "./browser.ts";
import { giveKey } from "./plugins.ts";
import { Server, useServer } from "./server.ts";

const key = "secret";
useBrowser();
const server = useServer({ plugins: [], flags: ["--admin-key", key] });

const run = (page: Page) => page.getByRole("region", { name: "The answer with this script" });

/** A story, and beside it the script. */
async function opened(url: string) {
  const chat = await ChatPage.open(url, {}, withSettings({ sampling: { temperature: 0 } }));
  await chat.ask("Tell me a story about a frog.");
  await chat.finished();
  const { page } = chat;
  await page.getByRole("button", { name: "Script", exact: true }).click();
  const editor = page.getByRole("textbox", { name: "Script" });
  await editor.waitFor();
  return { chat, page, editor };
}

test("Script: one of the gallery changes the answer, and one's own tells what it logs and notes", {
  timeout: 4 * patience,
}, async () => {
  const { chat, page, editor } = await opened(server.url);
  const link = await page.getByRole("link", { name: "What a script sees" }).getAttribute("href");
  assert.match(await (await fetch(link ?? "")).text(), /penstock/);
  await run(page).getByText("Once upon a time there was a frog").waitFor(); // without a script
  await page.locator(".gallery summary").click();
  await page.getByRole("button", { name: /^force-prefix/ }).click();
  await run(page).getByText("In a dark wood, ").waitFor();
  await run(page).getByText("with prepare").waitFor();
  assert.equal(await run(page).locator("mark").innerText(), "In");
  await run(page).getByText("Differs from the run before at token 1: In, before Once.").waitFor();

  await editor.fill(
    'export function accept(t) {\n  if (penstock.piece(t) === " frog") console.log("a", "frog");\n}',
  );
  await run(page)
    .getByText(/^Token \d+, ␣frog: a frog$/m)
    .waitFor();
  await page.getByRole("button", { name: "Write it into the chat and inspect it" }).click();
  await page.getByRole("region", { name: "Candidates" }).waitFor();
  await page.getByRole("listbox").getByRole("option", { name: /frog/ }).first().click();
  await page.getByText("plugin:script notes: a frog").waitFor();
  assert.deepEqual(chat.complaints, []);
});

test("Script: the host's errors are at their lines", { timeout: 4 * patience }, async () => {
  const { page, editor } = await opened(server.url);
  const problem = page.locator("#script-error");
  const line = page.locator('.gutter [data-wrong="true"]');
  await editor.fill("export function sample(c) {\n  c.filter(;\n}");
  await problem.getByText(/SyntaxError/).waitFor();
  assert.equal(await line.innerText(), "2");
  await editor.fill("export function sample(c) {\n  log('seen');\n  null.foo;\n}");
  await problem.getByText(/^Line 3: TypeError: .*\nConsole: seen$/).waitFor();
  assert.equal(await line.innerText(), "3");
  await editor.fill("export function sample(c) {}");
  await page.locator("#script-error:empty").waitFor({ state: "attached" });
});

test("Script: it is saved into the plugin folder, and used as any plugin", {
  timeout: 4 * patience,
}, async () => {
  const { page, editor } = await opened(server.url);
  const source = "export function sample(c) { c.filter(s => !s.includes('frog')); }";
  await editor.fill(source);
  await run(page).getByText("with sample").waitFor();
  await page.getByText("Save as a plugin").click();
  await page.getByRole("textbox", { name: "Name of the plugin" }).fill("frogless");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await giveKey(page, key);
  await page.getByText(/^frogless.* is there\.$/).waitFor();
  assert.equal(readFileSync(join(server.plugins, "frogless.js"), "utf8"), source);
  const listed = await (await fetch(`${server.url}/v1/plugins`)).text();
  assert.match(listed, /frogless/);
});

test("Script: a host that takes no scripts is asked for none", { timeout: 4 * patience }, async () => {
  const off = await Server.start({ flags: ["--scripts", "off"] });
  try {
    const { page, editor } = await opened(off.url);
    await editor.fill("export function sample(c) {}");
    await page
      .locator(".script > .problem")
      .getByText(/plugins\.scripts/)
      .first()
      .waitFor();
  } finally {
    await off.stop();
  }
});

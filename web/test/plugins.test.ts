// SPDX-License-Identifier: MIT

// The plugin picker with a host that has plugins: the examples, and a file that is none.
import assert from "node:assert/strict";
import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { ChatPage, launch, patience } from "./browser.ts";
import { Server } from "./server.ts";

const built = fileURLToPath(new URL("../../build/plugins", import.meta.url));

let browser: Browser;
let server: Server;
let folder: string;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "penstock-plugins-"));
  for (const name of ["multiple-choice.wasm", "banned-phrases.wasm", "llama3.wasm"]) {
    const file = join(built, name);
    if (!existsSync(file)) throw new Error(`there is no ${file}: run \`make plugins\` first`);
    copyFileSync(file, join(folder, name));
  }
  writeFileSync(join(folder, "broken.wasm"), "not WebAssembly");
  browser = await launch();
  server = await Server.start({ flags: ["--plugin-dir", folder] });
});

after(async () => {
  await browser?.close();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test("Page: picks among the host's plugins, and they obey their configuration", {
  timeout: 4 * patience,
}, async () => {
  const chat = await ChatPage.open(browser, server.url);
  await chat.online();
  const { page } = chat;
  await page.getByRole("button", { name: "Settings" }).click();
  const picker = page.getByRole("group", { name: "Plugins" });
  assert.equal(
    await picker.getByRole("checkbox").count(),
    3,
    "what cannot be loaded is offered, or a plugin is not",
  );
  assert.match(await picker.innerText(), /multiple-choice\s+\S.*\s/, "it does not say what the plugin does");

  const config = picker.getByLabel("Configuration of multiple-choice");
  assert.equal(await config.isVisible(), false);
  await picker.getByLabel(/^multiple-choice/).check();
  assert.match((await config.getAttribute("placeholder")) ?? "", /"choices"/);
  await config.fill("{ nonsense");
  assert.equal(await config.evaluate((field: HTMLTextAreaElement) => field.validity.valid), false);
  await config.fill('{"choices": ["teal", "umber"]}');
  assert.equal(await config.evaluate((field: HTMLTextAreaElement) => field.validity.valid), true);
  assert.equal(await picker.getByLabel("Configuration of llama3").count(), 0, "it has no configuration");
  await page.getByRole("button", { name: "Done" }).click();

  await page.reload(); // what was picked outlives the visit
  await chat.ask("Which colour is it?");
  const answer = await chat.finished();
  assert.match((await answer.locator(".prose").innerText()).trim(), /^(teal|umber)$/);
  assert.deepEqual(chat.complaints, []);
  await chat.close();
});

test("Page: what a plugin wants to be told is said where it was not", { timeout: 3 * patience }, async () => {
  const chat = await ChatPage.open(browser, server.url);
  await chat.online();
  const { page } = chat;
  await page.getByRole("button", { name: "Settings" }).click();
  await page
    .getByRole("group", { name: "Plugins" })
    .getByLabel(/^banned-phrases/)
    .check();
  await page.getByRole("button", { name: "Done" }).click();
  await chat.ask("Tell me a story about a frog.");
  assert.match(await (await chat.finished()).innerText(), /phrases[\s\S]*Change it in Settings/);
  assert.deepEqual(chat.complaints, []);
  await chat.close();
});

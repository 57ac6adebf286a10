// SPDX-License-Identifier: MIT

// axe-core on every view of the page, in both colour schemes and three sizes.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { findings } from "./axe.ts";
import { ChatPage, launch, patience, withSettings } from "./browser.ts";
import { looks } from "./looks.ts";
import { hooks, pluginModule, told } from "./module.ts";
import { Server } from "./server.ts";
import { examplePlugins } from "./wasm.ts";

let browser: Browser;
let server: Server;
let plugins: ReturnType<typeof examplePlugins>;

before(async () => {
  plugins = examplePlugins("banned-phrases", "multiple-choice", "llama3");
  writeFileSync(join(plugins.folder, "teller.wasm"), pluginModule({ name: "teller" }, hooks.telling));
  browser = await launch();
  server = await Server.start({ flags: ["--plugin-dir", plugins.folder] });
});

after(async () => {
  await browser?.close();
  await server?.stop();
  plugins?.remove();
});

/** The way to each view, one after the other in the same chat. */
const views: Record<string, (chat: ChatPage) => Promise<unknown>> = {
  welcome: (chat) => chat.online(),
  chat: async (chat) => {
    await chat.ask("Write a Python function named square.");
    await chat.finished();
  },
  "values of a plugin": async (chat) => {
    const answer = await chat.finished();
    assert.equal(await answer.getByText(told).isVisible(), false, "they are not folded away");
    await answer.getByText(/^\d+ values of teller$/).click();
    const first = `teller, token 1: ${told}`;
    assert.ok((await answer.locator("pre", { hasText: told }).innerText()).startsWith(first));
  },
  inspector: async (chat) => {
    await chat.page.getByRole("button", { name: "Inspect" }).last().click();
    await chat.page.getByRole("region", { name: "Candidates" }).waitFor();
  },
  settings: async (chat) => {
    await chat.page.getByRole("button", { name: "Close Inspector" }).click();
    await chat.page.getByRole("button", { name: "Settings", exact: true }).click();
    await chat.page.getByLabel("Instructions").waitFor();
  },
  advanced: async (chat) => {
    await chat.page.getByRole("heading", { name: "Advanced" }).click();
    await chat.page.getByRole("heading", { name: "Sampler chain" }).waitFor();
  },
  models: async (chat) => {
    await chat.page.goto(`${server.url}/#/models`);
    await chat.page.getByText("A question loads").waitFor();
  },
  plugins: async (chat) => {
    await chat.page.goto(`${server.url}/#/plugins`);
    await chat.page.getByText("banned-phrases").first().waitFor();
  },
  live: async (chat) => {
    await chat.page.goto(`${server.url}/#/live`);
    await chat.page.getByText("Places").first().waitFor();
  },
};

for (const [look, options] of Object.entries(looks)) {
  test(`Page: axe finds nothing in any view (${look})`, { timeout: 6 * patience }, async () => {
    const chat = await ChatPage.open(
      browser,
      server.url,
      options,
      withSettings({ trace: true, plugins: [{ name: "teller" }] }),
    );
    for (const [name, go] of Object.entries(views)) {
      await go(chat);
      assert.deepEqual(await findings(chat.page), [], `${name}, ${look}`);
      const width = await chat.page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(
        width <= (options.viewport?.width ?? 0),
        `${name}, ${look}: the page is ${width} pixels wide`,
      );
    }
    assert.deepEqual(chat.complaints, []);
    await chat.close();
  });
}

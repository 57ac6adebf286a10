// SPDX-License-Identifier: MIT

// Nothing scrolls but what is meant to, in every view and size.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { ChatPage, launch, patience, withSettings } from "./browser.ts";
import { sizes } from "./looks.ts";
import { type PlayedStream, play } from "./play.ts";
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

const longAnswer = (stream: PlayedStream) => {
  stream.token("A line of a long answer.\n\n".repeat(60));
  stream.end();
};

/** How far the document reaches beyond the window, and how far it is scrolled. */
function beyond({ page }: ChatPage): Promise<number> {
  return page.evaluate(() => {
    const { scrollHeight, scrollTop } = document.documentElement;
    return Math.max(scrollHeight, document.body.scrollHeight) - innerHeight + scrollTop + window.scrollY;
  });
}

const views: Record<string, (chat: ChatPage) => Promise<unknown>> = {
  welcome: (chat) => chat.online(),
  chat: async (chat) => {
    await chat.ask("Go on.");
    await chat.finished();
    await chat.ask("And on.");
    await chat.answers.nth(1).waitFor();
    await chat.finished();
  },
  "the end, with no field focused": async (chat) => {
    await chat.page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
    await chat.page.keyboard.press("End");
    await chat.page.mouse.move(200, 20);
    await chat.page.mouse.wheel(0, 2000);
  },
  "settings, the last part": async (chat) => {
    await chat.page.getByRole("button", { name: "Settings", exact: true }).click();
    const foot = chat.page.locator(".settings-foot");
    await foot.waitFor();
    await foot.scrollIntoViewIfNeeded();
    await foot.evaluate((element) => element.scrollIntoView());
  },
  "settings, JSON": async (chat) => {
    await chat.page.getByRole("radio", { name: "JSON schema" }).check();
    assert.equal(await beyond(chat), 0);
    await chat.page.getByRole("button", { name: "Close Settings" }).click();
  },
  plugins: async (chat) => {
    await chat.page.goto(`${server.url}/#/plugins`);
    await chat.page.locator("main").waitFor();
  },
  live: async (chat) => {
    await chat.page.goto(`${server.url}/#/live`);
    await chat.page.locator("main").waitFor();
  },
};

for (const [size, options] of Object.entries(sizes)) {
  test(`Page: the document is as high as the window (${size})`, { timeout: 4 * patience }, async () => {
    const chat = await ChatPage.open(browser, server.url, options, async (page) => {
      await withSettings({ format: { kind: "text" } })(page);
      await play(page, longAnswer);
    });
    for (const [name, go] of Object.entries(views)) {
      await go(chat);
      assert.equal(await beyond(chat), 0, name);
    }
    assert.deepEqual(chat.complaints, []);
    await chat.close();
  });
}

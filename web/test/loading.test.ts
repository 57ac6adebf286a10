// SPDX-License-Identifier: MIT

// What the page shows while the server loads its first model.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { ChatPage, launch, patience, withSettings } from "./browser.ts";
import { sizes } from "./looks.ts";
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

for (const [size, options] of Object.entries(sizes)) {
  test(`Page: shows how far the model is, and goes on by itself (${size})`, {
    timeout: 3 * patience,
  }, async () => {
    let progress: number | undefined = 0.25; // undefined: it is loaded
    const chat = await ChatPage.open(browser, server.url, options, async (page) => {
      await withSettings({ sampling: { max_tokens: 8 } })(page);
      // As the host answers meanwhile; host/host_test.go has that part.
      await page.route(/\/(v1\/|props)/, (route) =>
        progress === undefined
          ? route.continue()
          : route.fulfill({
              status: 503,
              json: { error: { code: "loading_model", message: "the model is being loaded", progress } },
            }),
      );
    });
    const bar = chat.page.getByRole("progressbar", { name: "The server loads its model" });
    await bar.waitFor();
    assert.equal(await bar.getAttribute("value"), "25");
    assert.equal(await chat.page.getByText("Not connected").count(), 0, "it is no failure");
    await chat.question.fill("Hello!");
    progress = 0.75;
    await chat.page.getByText("75 %").first().waitFor();
    progress = undefined;
    await chat.online();
    await bar.waitFor({ state: "detached" });
    await chat.send.click();
    await chat.finished();
    assert.deepEqual(chat.complaints, []);
    await chat.close();
  });
}

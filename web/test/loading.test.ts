// SPDX-License-Identifier: MIT

// What the page shows while the server loads its first model.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ChatPage, patience, useBrowser, withSettings } from "./browser.ts";
import { useServer } from "./server.ts";

useBrowser();
const server = useServer();

test("Page: shows how far the model is, and goes on by itself", {
  timeout: 3 * patience,
}, async () => {
  let progress: number | undefined = 0.25; // undefined: it is loaded
  const chat = await ChatPage.open(server.url, {}, async (page) => {
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
});

// SPDX-License-Identifier: MIT

// A message that is sent while its files are still read.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { patience, useBrowser } from "./browser.ts";
import { choose } from "./media.ts";
import { blue, openPerceiving, red, url } from "./perceiving.ts";
import { useServer } from "./server.ts";

useBrowser();
const server = useServer();

/** Holds up the code that reads files until the returned function is called. */
async function heldUp(page: Page): Promise<() => void> {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route(/filescode/, async (route) => {
    await released;
    await route.continue();
  });
  return release;
}

for (const key of ["Enter", "Send"]) {
  test(`Page: a question that is sent while its pictures are read goes out with them (${key})`, {
    timeout: 3 * patience,
  }, async () => {
    const { chat, asked } = await openPerceiving(server);
    const { page } = chat;
    const release = await heldUp(page);
    await choose(page, "Pictures", [red, blue]);
    await chat.question.fill("What?");
    if (key === "Enter") await chat.question.press("Enter");
    else await chat.send.click();
    await page.getByText("Reading the files, then sending…").waitFor();
    release();
    await chat.finished();
    assert.deepEqual(asked, [[[url(red), url(blue), { type: "text", text: "What?" }]]]);
    assert.deepEqual(chat.complaints, []);
  });
}

test("Page: a question that is sent while its files are read stays where one of them is refused", {
  timeout: 3 * patience,
}, async () => {
  const { chat, asked } = await openPerceiving(server);
  const { page } = chat;
  const release = await heldUp(page);
  const cut = { ...red, name: "cut.png", buffer: red.buffer.subarray(0, 40) };
  await choose(page, "Pictures", [cut]);
  await choose(page, "Pictures", [blue]);
  await chat.question.fill("What?");
  await chat.question.press("Enter");
  release();
  await page.getByRole("alert").getByText("cut.png was not added").waitFor();
  await page.getByRole("img", { name: "blue.png" }).waitFor();
  await page.getByText("Reading the files").waitFor({ state: "hidden" });
  assert.equal(await chat.question.inputValue(), "What?");
  assert.deepEqual(asked, []);
  assert.equal(await page.getByRole("alert").count(), 1);
});

// SPDX-License-Identifier: MIT

// A chat as an HTML file, opened without any server.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { ChatPage, patience, useBrowser, withSettings } from "./browser.ts";
import { useServer } from "./server.ts";

useBrowser();
const server = useServer();
const folder = mkdtempSync(join(tmpdir(), "penstock-export-"));
after(() => rmSync(folder, { recursive: true }));

test("Page: a chat as HTML opens by itself, and tells how its tokens were chosen", {
  timeout: 2 * patience,
}, async () => {
  const chat = await ChatPage.open(
    server.url,
    {},
    withSettings({ trace: true, sampling: { max_tokens: 8, seed: 3 } }),
  );
  const { page } = chat;
  await chat.ask("Hello!");
  const text = await (await chat.finished()).locator(".prose").innerText();
  await page.getByRole("button", { name: "Actions for Hello!", exact: true }).click({ force: true });
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("menuitem", { name: "Export as HTML" }).click(),
  ]);
  assert.equal(download.suggestedFilename(), "penstock Hello.html");
  const path = join(folder, "chat.html");
  await download.saveAs(path);
  await chat.close();

  const alone = await ChatPage.open(pathToFileURL(path).href);
  await alone.page.getByRole("heading", { name: "Hello!" }).waitFor();
  assert.ok((await alone.page.locator("article").innerText()).includes(text.slice(0, 10)));
  await alone.page.getByText(/How its \d+ tokens were chosen/).click();
  const tokens = alone.page.locator(".run button");
  await tokens.first().click();
  await alone.page.keyboard.press("ArrowRight");
  assert.equal(await tokens.nth(1).getAttribute("aria-pressed"), "true");
  assert.match(await alone.page.getByRole("status").innerText(), /chose|first choice/);
  assert.deepEqual(alone.complaints, []);
});

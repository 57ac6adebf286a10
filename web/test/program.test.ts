// SPDX-License-Identifier: MIT

// A program's branches: plugin beam, built by its real compiler, on the real server.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page, WebSocketRoute } from "playwright-core";
import { findings } from "./axe.ts";
import { ChatPage, patience, stored, useBrowser, withSettings } from "./browser.ts";
import { useServer } from "./server.ts";
import { sizes } from "./sizes.ts";
import { some } from "./steady.ts";

useBrowser();
const server = useServer({ context: 8000, plugins: ["beam"] });

const searching = withSettings({
  trace: true,
  sampling: { max_tokens: 200, ignore_eos: true },
  plugins: [{ name: "beam", config: { width: 4 } }],
});

/**
 * What the server sends, of which the page gets the rest when the test has looked at what came
 * before.
 */
class Held {
  private readonly waiting: string[] = [];
  private type = "branches"; // of the frame after which, or "end": before which, nothing goes on
  private passed = false;
  private page: WebSocketRoute | undefined;

  async between(page: Page): Promise<void> {
    await page.routeWebSocket(/\/v1\/ws$/, (socket) => {
      this.page = socket;
      socket.connectToServer().onMessage((frame) => {
        this.waiting.push(String(frame));
        this.send();
      });
    });
  }

  /** Lets frames go on until one of this type; "": all. */
  until(type: "end" | ""): void {
    this.type = type;
    this.passed = false;
    this.send();
  }

  private send(): void {
    for (let next = this.waiting[0]; next !== undefined && !this.passed; next = this.waiting[0]) {
      const { type } = JSON.parse(next);
      if (type === this.type && type === "end") return;
      this.waiting.shift();
      this.page?.send(next);
      this.passed = type === this.type;
    }
  }
}

test("Inspector: a program's branches grow as a tree, with scores and the way of the answer", {
  timeout: 6 * patience,
}, async () => {
  const frames = new Held();
  const chat = await ChatPage.open(server.url, {}, async (page) => {
    await searching(page);
    await frames.between(page);
  });
  const { page } = chat;
  await chat.ask("Tell me a story about a frog.");
  await page.getByRole("button", { name: "Inspect" }).press("Enter");
  const tree = page.getByRole("tree", { name: "Branches" });
  const rows = tree.getByRole("treeitem");
  await rows.first().waitFor();
  const begun = await rows.count();
  frames.until("end");
  await page.waitForFunction((n) => document.querySelectorAll('[role="treeitem"]').length > n, begun);
  await page.getByText(/A program writes this answer.*\d branch(es)? still live/).waitFor();
  frames.until("");

  await page.locator('.message[data-phase="done"]').last().waitFor({ state: "attached" });
  const badge = tree.getByText("the answer", { exact: true });
  await badge.waitFor();
  assert.ok((await tree.locator('[data-standing="dropped"]').count()) > 0, "nothing was dropped");
  const earlier = page.getByRole("button", { name: /^Show [\d,]+ rows before these$/ });
  while ((await earlier.count()) > 0) await earlier.press("Enter");
  const texts = await rows.allInnerTexts();
  for (const text of texts) assert.match(text, /−?\d+\.\d\d$/, "a row without a score");
  const letters = (text: string) => text.replace(/\s/g, "");
  const way = await tree.locator('[data-standing="chosen"] code').allInnerTexts();
  const { content } = await stored(page, (m) => m.answer?.phase === "done");
  assert.ok(way.join("").length > 0 && letters(content).startsWith(letters(way.join(""))), way.join("|"));

  const detail = page.getByRole("region", { name: "The branch in focus" });
  await rows.and(tree.locator('[tabindex="0"]')).focus();
  for (const [key, at] of [
    ["Home", 0],
    ["ArrowDown", 1],
    ["End", texts.length - 1],
    ["ArrowUp", texts.length - 2],
  ] as const) {
    await page.keyboard.press(key);
    await rows.nth(at).and(page.locator('[aria-selected="true"]:focus')).waitFor();
    await detail.getByText(/Branch \d+/).waitFor();
  }
  for (const [size, { viewport }] of some(sizes, 1)) {
    await page.setViewportSize(viewport);
    assert.deepEqual(await findings(page), [], size);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= viewport.width, `${size}: the page is ${width} pixels wide`);
  }
  await page.setViewportSize(sizes.desktop.viewport);

  await page.reload();
  await chat.online();
  await (await chat.finished()).getByRole("button", { name: "Inspect" }).click();
  await badge.waitFor();
  while ((await earlier.count()) > 0) await earlier.press("Enter");
  assert.deepEqual(await rows.allInnerTexts(), texts, "the tree is not what it was");
  await page.getByRole("switch", { name: "Show dropped branches" }).uncheck();
  await tree.locator('[data-standing="dropped"]').first().waitFor({ state: "detached" });
  assert.deepEqual(chat.complaints, []);
});

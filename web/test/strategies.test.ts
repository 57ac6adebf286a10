// SPDX-License-Identifier: MIT

// What only this page has: strategies at the message field, other words, answers side by side, and
// rules, on the real server.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { findings } from "./axe.ts";
import { ChatPage, patience, stored, useBrowser, withSettings } from "./browser.ts";
import { useServer } from "./server.ts";
import { devices } from "./sizes.ts";
import { some } from "./steady.ts";

useBrowser();
const server = useServer({
  context: 8000,
  plugins: ["beam", "best-of", "choice"],
  flags: ["--parallel", "8"],
});
const timeout = 4 * patience;
const question = "Tell me a story about a frog.";

const strategy = (page: Page) => page.getByRole("button", { name: /^Strategy: |^More strategies$/ });
const atHand = (page: Page, name: string) => page.getByRole("button", { name, exact: true, pressed: true });
const panel = (page: Page, name: string) => page.getByRole("dialog", { name });

/** Something in the text is marked under one of these names, a frame after the rest is drawn. */
async function marked(page: Page, ...names: string[]): Promise<void> {
  const one = (names: string[]) => names.some((name) => (CSS.highlights.get(name)?.size ?? 0) > 0);
  await page.waitForFunction(one, names);
}

test("Strategies: a program is one click at the message field, has its form, and its tree grows in the chat", {
  timeout,
}, async () => {
  const chat = await ChatPage.open(server.url, {}, async (page) => {
    page.once("close", server.slow());
    const sampling = { max_tokens: 400, ignore_eos: true };
    await withSettings({ sampling })(page);
  });
  const { page } = chat;
  await chat.online();
  await atHand(page, "Normal").waitFor();
  await page.getByRole("button", { name: "Best of 4" }).click();
  await atHand(page, "Best of 4").waitFor();
  assert.deepEqual(await findings(page), []);
  await chat.ask(question);
  const tree = page.getByRole("tree", { name: "Branches so far" });
  await tree.getByRole("treeitem").nth(1).waitFor(); // beams may end too early for that
  await chat.finished();
  await tree.waitFor({ state: "detached" });
  await strategy(page).click();
  await panel(page, "Strategy").getByRole("radio", { name: "Beam" }).check();
  await page.keyboard.press("Escape");
  await atHand(page, "Beam").waitFor();
  await strategy(page).click();
  await panel(page, "Strategy").getByRole("radio", { name: "Beam" }).and(page.locator(":checked")).waitFor();
  await page.keyboard.press("n");
  assert.equal(await chat.answers.count(), 1, "a letter in a panel begins no other chat");
  await panel(page, "Strategy").getByLabel("Width").fill("3");
  const choice = panel(page, "Strategy").getByRole("radio", { name: "Choice" });
  await choice.check();
  await panel(page, "Strategy").getByText("Fill in what is required; then it counts.").waitFor();
  assert.deepEqual(await findings(page), [], "form");
  await page.keyboard.press("Escape");
  await panel(page, "Strategy").waitFor({ state: "hidden" });
  await atHand(page, "Normal").waitFor();
  assert.deepEqual(chat.complaints, []);
});

test("Other words: an uncertain word is pressed, another is chosen, and the answer goes on from there beside it", {
  timeout,
}, async () => {
  // Without a token record: the answer is computed again.
  const chat = await ChatPage.open(
    server.url,
    {},
    withSettings({ sampling: { temperature: 1.3, seed: 7, max_tokens: 60 } }),
  );
  const { page } = chat;
  await chat.ask(question);
  const answer = await chat.finished();
  const { content } = await stored(page, (m) => m.answer?.phase === "done");
  await answer.getByRole("button", { name: "Other words" }).click();
  const words = page.getByRole("region", { name: "Other words" });
  await words.getByText(/^The model was unsure of \d+ words?\./).waitFor();
  await marked(page, "unsure-1", "unsure-2", "unsure-3");
  // The last one that is tinted is pressed in the text.
  const place = await page.evaluate(() => {
    const [range] = [
      ...(CSS.highlights.get("unsure-1") ?? []),
      ...(CSS.highlights.get("unsure-2") ?? []),
    ].slice(-1);
    const box = (range as Range).getBoundingClientRect();
    return { x: box.x + box.width / 2, y: box.y + box.height / 2, word: String(range) };
  });
  await page.mouse.click(place.x, place.y);
  await words.locator(".fork > p code").first().filter({ hasText: place.word.trim() }).waitFor();
  assert.deepEqual(await findings(page), []);
  const road = words.getByRole("listitem").getByRole("button").first();
  const word = ((await road.locator("code").textContent()) ?? "").replaceAll("␣", " ");
  await road.click();
  const pair = page.getByRole("region", { name: "Two versions of this answer" });
  await pair.getByRole("article").nth(1).waitFor();
  const other = await stored(page, (m) => m.answer?.phase === "done" && m.content !== content);
  let same = 0;
  while (content[same] === other.content[same]) same++;
  assert.ok(same > 0 && other.content.slice(Math.max(0, same - word.length)).includes(word), other.content);
  await marked(page, "differs");
  await pair.getByRole("button", { name: "Keep version 1" }).click();
  await pair.waitFor({ state: "detached" });
  assert.equal((await stored(page, (m) => m.content === content)).content, content);
  assert.deepEqual(chat.complaints, []);
});

for (const [size, options] of some(devices, 1)) {
  test(`Side by side: one question, three answers, and one is kept (${size})`, { timeout }, async () => {
    const chat = await ChatPage.open(server.url, options, withSettings({ sampling: { max_tokens: 20 } }));
    const { page } = chat;
    await chat.online();
    await strategy(page).click();
    const form = panel(page, "Strategy");
    await form.getByRole("radio", { name: "Side by side" }).check();
    await form.getByRole("button", { name: "Add an answer" }).click();
    await form.getByRole("group", { name: "Answer 3" }).getByLabel("Plugin").selectOption("best-of");
    assert.deepEqual(await findings(page), [], "form");
    await page.keyboard.press("Escape");
    await strategy(page).filter({ hasText: "3 side by side" }).waitFor();
    await chat.ask(question);
    const columns = page.getByRole("region", { name: "Three versions of this answer" });
    await columns.locator('.message[data-phase="done"]').nth(2).waitFor();
    for (const title of ["temperature 0.2", "temperature 1.2", "with best-of"])
      await columns.getByText(title, { exact: true }).waitFor();
    assert.deepEqual(await findings(page), [], "columns");
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= options.viewport.width, `the page is ${width} pixels wide`);
    await columns.getByRole("button", { name: "Keep version 2" }).press("Enter");
    await page.getByText("2 of 3").waitFor();
    await page.reload();
    await page.getByText("2 of 3").waitFor();
    await page.getByRole("button", { name: "Side by side", exact: true }).press("Enter");
    await columns.getByText("with best-of", { exact: true }).waitFor();
    assert.deepEqual(chat.complaints, []);
  });
}

test("Strategies: a script gets a name, is chosen in another chat, and goes to somebody else as a link", {
  timeout,
}, async () => {
  const chat = await ChatPage.open(server.url, {}, withSettings({ sampling: { max_tokens: 20 } }));
  const { page } = chat;
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await chat.online();
  await page.getByRole("button", { name: "Script", exact: true }).click();
  const editor = page.getByRole("textbox", { name: "Script" });
  await editor.fill("export function stop() { return undefined; } // frogs");
  await page.getByLabel("Name", { exact: true }).fill("My way");
  await page.getByRole("button", { name: "Keep as a strategy" }).click();
  await page.getByText("“My way” is a strategy now").waitFor();
  await page.getByRole("button", { name: "Copy a link" }).click();
  await page.getByText("A link is copied.").waitFor();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  await page.getByRole("button", { name: "New chat" }).first().click();
  await page.getByRole("button", { name: "My way" }).click();
  await atHand(page, "My way").waitFor();
  const other = await ChatPage.open(link);
  await other.page.getByText("This script came in an imported file or a link").waitFor();
  assert.match(await other.page.getByRole("textbox", { name: "Script" }).inputValue(), /frogs/);
  assert.deepEqual([...chat.complaints, ...other.complaints], []);
});

test("Rules: a rule in plain words holds, and the answer shows where it backed up", { timeout }, async () => {
  const chat = await ChatPage.open(
    server.url,
    {},
    withSettings({ sampling: { temperature: 0, max_tokens: 80 } }),
  );
  const { page } = chat;
  await chat.online();
  const button = page.getByRole("button", { name: /^Rules$|^\d rules?$/ });
  await button.click();
  const rules = panel(page, "Rules");
  const field = rules.getByLabel("A rule");
  await field.waitFor();
  await page.keyboard.type("never mind"); // the field has the focus, and "n" begins no other chat
  assert.equal(await field.inputValue(), "never mind");
  await field.fill("be kind");
  await rules.getByText("Nothing is known that would see to this.").waitFor();
  await rules.getByRole("button", { name: "never say frog" }).click();
  await rules.getByText("Becomes a policy: the script ban-phrases").waitFor();
  await field.press("Enter");
  await rules.getByRole("switch", { name: /^never say frog/ }).waitFor();
  await field.fill("at most 2 sentences");
  await field.press("Enter");
  await button.filter({ hasText: "2 rules" }).waitFor();
  assert.deepEqual(await findings(page), []);
  await page.keyboard.press("Escape");
  await chat.ask(question);
  const answer = await chat.finished();
  const { content } = await stored(page, (m) => m.answer?.phase === "done");
  assert.doesNotMatch(content, /frog/i);
  assert.ok((content.match(/[.!?](?=\s)/g) ?? []).length <= 2, content);
  await answer.getByRole("button", { name: /^Backed up/ }).click();
  const words = page.getByRole("region", { name: "Other words" });
  await words.getByText(/backed up at \d+ places?/).waitFor();
  await marked(page, "backed-up");
  const backed = words.getByText("rule-never-say-frog");
  for (let n = 2; n < 82 && !(await backed.isVisible()); n++) {
    await words.getByRole("button", { name: "Next word" }).click();
    await words.getByText(new RegExp(`^${n} of `)).waitFor();
  }
  await words.locator("s", { hasText: /frog/i }).waitFor();
  assert.deepEqual(chat.complaints, []);
});

// SPDX-License-Identifier: MIT

// The sampler chain with native stages and plugins, as a person puts it together.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { BrowserContextOptions, Locator } from "playwright-core";
import type { Settings } from "../src/settings/settings.ts";
import { type ChatPage, patience, useBrowser } from "./browser.ts";
import { hooks, pluginModule } from "./module.ts";
import { useServer } from "./server.ts";
import { ask, done, openSettings, show } from "./settings.ts";

const timeout = 4 * patience;
const usual = ["Penalties", "DRY", "Top-nσ", "Top-k", "Typical-p", "Top-p", "Min-p", "XTC", "Temperature"];

useBrowser();
const server = useServer({
  plugins: [
    ...["multiple-choice", "banned-phrases", "regex-stop", "llama3"],
    { file: "row.wasm", bytes: pluginModule({ name: "row", view: "logits" }, hooks.looking) },
  ],
});

function open(settings: Partial<Settings> = {}, options: BrowserContextOptions = {}) {
  return openSettings(server, settings, options);
}

function stages(chat: ChatPage): Promise<string[]> {
  return chat.page
    .locator(".stages .stage-name > span")
    .evaluateAll((names) => names.map((name) => name.firstChild?.textContent ?? ""));
}

test("Chain: stages are dragged with the mouse, and put back with Escape", { timeout }, async () => {
  // High enough for the whole chain: near the ends of what is seen, dragging scrolls.
  const opened = await open({ sampling: { max_tokens: 8 } }, { viewport: { width: 1280, height: 1800 } });
  const { chat, page, requests } = opened;
  assert.deepEqual(await stages(chat), usual);
  const grip = (name: string) => page.getByRole("button", { name: `Move ${name}`, exact: true });
  const drag = async (name: string, to: string) => {
    const [from, target] = [await middle(grip(name)), await middle(grip(to))];
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.mouse.move(target.x, target.y - 5, { steps: 4 });
    await page.locator('.stages > li[data-dragged="true"]').waitFor();
  };
  await drag("Top-k", "Penalties");
  await page.mouse.up();
  await page
    .getByRole("status")
    .filter({ hasText: "Top-k is now stage 1 of 9" })
    .waitFor({ state: "attached" });
  const moved = ["Top-k", ...usual.filter((name) => name !== "Top-k")];
  assert.deepEqual(await stages(chat), moved);
  await drag("DRY", "Top-k");
  await page.keyboard.press("Escape");
  await page.locator('.stages[data-dragging="false"]').waitFor();
  await page.mouse.up();
  assert.deepEqual(await stages(chat), moved);
  await ask(chat);
  assert.deepEqual(requests[0]?.samplers, [
    ...["top_k", "penalties", "dry", "top_n_sigma", "typ_p", "top_p", "min_p", "xtc", "temperature"],
  ]);
  await done(opened);
});

async function middle(locator: Locator): Promise<{ x: number; y: number }> {
  const box = await locator.boundingBox();
  assert.ok(box !== null);
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

test("Chain: stages are moved, switched off, taken out and added with the keyboard", {
  timeout,
}, async () => {
  const opened = await open({ sampling: { max_tokens: 8 } });
  const { chat, page, requests } = opened;
  const grip = page.getByRole("button", { name: "Move Temperature" });
  await grip.focus();
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowUp");
  await page
    .getByRole("status")
    .filter({ hasText: "Temperature is now stage 7 of 9" })
    .waitFor({ state: "attached" });
  assert.ok(await grip.evaluate((element) => element === document.activeElement), "the focus was lost");
  await page.getByRole("button", { name: /^Min-p/ }).focus();
  await page.keyboard.press("Alt+ArrowUp");
  assert.deepEqual((await stages(chat)).slice(5), ["Top-p", "Min-p", "Temperature", "XTC"]);
  await page.getByRole("switch", { name: "Use Top-p" }).press("Space");
  await page.getByRole("button", { name: /^DRY/ }).press("Enter");
  await page.getByRole("button", { name: "Remove DRY" }).press("Enter");
  await page.getByRole("button", { name: "Add a stage" }).press("Enter");
  await page.getByRole("button", { name: "Add Adaptive-p" }).press("Enter");
  await page.getByLabel("Adaptive-p: Target").fill("0.4");
  await ask(chat);
  assert.deepEqual(requests[0], {
    messages: [{ role: "user", content: "Tell me a story about a frog." }],
    max_tokens: 8,
    adaptive_target: 0.4,
    samplers: ["penalties", "top_n_sigma", "top_k", "typ_p", "min_p", "temperature", "xtc", "adaptive_p"],
  });
  await page.reload();
  await chat.online();
  await show(chat);
  await page.locator('.stage[data-off="true"]', { hasText: "Top-p" }).waitFor();
  await done(opened);
});

test("Chain: a plugin as a stage decides the answer, and can be switched off", { timeout }, async () => {
  const opened = await open({ sampling: { max_tokens: 12 } });
  const { chat, page, requests } = opened;
  await page.getByRole("button", { name: "Add a stage" }).click();
  assert.equal(await page.getByRole("button", { name: "Add regex-stop" }).count(), 0, "it is no stage");
  await page.getByRole("button", { name: "Add multiple-choice" }).click();
  await page.getByText("fill in what is required first").waitFor();
  await page.getByRole("button", { name: "Edit as JSON" }).click();
  await page.getByLabel("Configuration").fill('{"choices": ["teal", "umber"]}');
  await page.getByText("fill in what is required first").waitFor({ state: "detached" });
  await page.getByLabel("If it fails").selectOption("go on without it");
  assert.match(await ask(chat, "Which colour is it?"), /^(teal|umber)$/);
  const used = [{ name: "multiple-choice", config: { choices: ["teal", "umber"] }, on_error: "skip" }];
  assert.deepEqual(requests[0]?.plugins, used);
  await page.getByRole("button", { name: "Move multiple-choice", exact: true }).press("ArrowDown");
  await page.getByRole("switch", { name: "Use multiple-choice" }).uncheck();
  assert.doesNotMatch(await ask(chat, "Which colour is it?"), /^(teal|umber)$/);
  assert.equal("plugins" in (requests[1] ?? {}), false);
  await page.getByRole("switch", { name: "Use multiple-choice" }).check();
  assert.match(await ask(chat, "Which colour is it?"), /^(teal|umber)$/);
  assert.deepEqual((requests[2]?.samplers as string[] | undefined)?.slice(0, 2), [
    "penalties",
    "plugin:multiple-choice",
  ]);
  await done(opened);
});

test("Chain: what a plugin lacks or where it cannot stand is said before the host does", {
  timeout,
}, async () => {
  const opened = await open({
    chain: ["top_k", "plugin:row", "temperature"],
    plugins: [{ name: "row" }, { name: "gone" }, { name: "multiple-choice" }],
  });
  const { chat, page, requests } = opened;
  await page.getByText("so it must stand before Top-k, which drops tokens").waitFor();
  await page.getByText("This server has no plugin gone, so it is left out.").waitFor();
  await page.getByText("fill in what is required first").waitFor();
  await chat.ask("Hello!");
  assert.match(await (await chat.finished()).innerText(), /choices/);
  assert.deepEqual(requests[0]?.plugins, ["row", "multiple-choice"]);
  await page.getByRole("button", { name: "Remove gone" }).click();
  await page.getByText("This server has no plugin gone").waitFor({ state: "detached" });
  await done(opened);
});

test("Chain: stop rules and templates are a list apart", { timeout }, async () => {
  const opened = await open();
  const { chat, page, requests } = opened;
  await page.getByRole("heading", { name: "Programs, templates, stop rules" }).click();
  await page.getByRole("switch", { name: "Use regex-stop" }).click();
  await page.getByLabel("Pattern").fill("[.!]");
  assert.doesNotMatch(await ask(chat), /[.!]/);
  assert.deepEqual(requests[0], {
    messages: [{ role: "user", content: "Tell me a story about a frog." }],
    plugins: [{ name: "regex-stop", config: { pattern: "[.!]" } }],
  });
  await page.getByRole("switch", { name: "Use llama3" }).waitFor();
  await done(opened);
});

// SPDX-License-Identifier: MIT

// The settings of a chat, as a person changes them, and what the real host makes of them.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import type { BrowserContextOptions, Locator } from "playwright-core";
import type { Settings } from "../src/settings/settings.ts";
import { ChatPage, choose, patience, useBrowser } from "./browser.ts";
import { useServer } from "./server.ts";
import { ask, done, finishedText, openSettings, show } from "./settings.ts";
import { phone } from "./sizes.ts";

const timeout = 4 * patience;

useBrowser();
const server = useServer({ plugins: ["banned-phrases"] });

/** Waits until a field holds a value: the page draws what a click does a little later. */
async function holds(field: Locator, value: string): Promise<void> {
  for (const until = Date.now() + patience; (await field.inputValue()) !== value; ) {
    assert.ok(Date.now() < until, `the field holds "${await field.inputValue()}", not "${value}"`);
    await field.page().waitForTimeout(20);
  }
}

function open(settings: Partial<Settings> = {}, options: BrowserContextOptions = {}) {
  return openSettings(server, settings, options);
}

test("Settings: they go into the request, count from the next answer on, and outlive a reload", {
  timeout,
}, async () => {
  const opened = await open();
  const { chat, page, requests } = opened;
  await page.getByLabel("Instructions").fill("Be brief.");
  await page.getByLabel("Temperature", { exact: true }).fill("0,5");
  await page.getByLabel("Length", { exact: true }).fill("24");
  await page.getByLabel("Seed", { exact: true }).fill("7");
  await page.getByLabel("Stop strings").fill("\\n\\n");
  await page.getByLabel("Stop strings").press("Enter");
  await page.getByLabel("Stop strings").fill("END"); // kept when the field is left
  await page.getByLabel("Token record").check();
  await ask(chat, "Hello!");
  const want = {
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: "Hello!" },
    ],
    temperature: 0.5,
    max_tokens: 24,
    seed: 7,
    stop: ["\n\n", "END"],
    trace: true,
  };
  assert.deepEqual(requests, [want]);
  await page.reload();
  await chat.online();
  await show(chat);
  assert.equal(await page.getByLabel("Temperature", { exact: true }).inputValue(), "0.5");
  await page.getByRole("button", { name: "Remove END" }).click();
  await page.getByRole("button", { name: "Reset “Temperature”" }).first().click();
  await ask(chat, "Again!");
  const { temperature: _, ...rest } = want;
  assert.deepEqual({ ...requests[1], messages: want.messages }, { ...rest, stop: ["\n\n"] });
  await page.getByLabel("Temperature", { exact: true }).fill("nonsense");
  await page.getByRole("button", { name: "Back to defaults" }).click();
  await holds(page.getByLabel("Temperature", { exact: true }), "");
  await holds(page.getByLabel("Length", { exact: true }), "");
  await page.getByRole("button", { name: "Undo" }).click();
  await holds(page.getByLabel("Length", { exact: true }), "24");
  await page.getByRole("button", { name: "Back to defaults" }).click();
  await page.getByRole("button", { name: "New chat" }).first().click();
  await ask(chat, "Hello!");
  assert.deepEqual(requests[2], { messages: [{ role: "user", content: "Hello!" }] });
  await done(opened);
});

test("Settings: each chat has its own, and a new one begins with the defaults", { timeout }, async () => {
  const opened = await open({ sampling: { max_tokens: 4 } });
  const { chat, page, requests } = opened;
  const limit = page.getByLabel("Length", { exact: true });
  await ask(chat, "First chat");
  await page.getByRole("button", { name: "New chat" }).first().click();
  assert.equal(await limit.inputValue(), "4");
  await page.locator("#question:focus").waitFor();
  await limit.fill("6");
  await ask(chat, "Second chat");
  await page.getByRole("link", { name: "First chat" }).click();
  await chat.answers.getByText(/^4 tokens /).waitFor({ state: "attached" });
  assert.equal(await limit.inputValue(), "4");
  await ask(chat, "Again");
  assert.deepEqual(
    requests.map((request) => request.max_tokens),
    [4, 6, 4],
  );
  await done(opened);
});

test("Settings: the host tells its defaults, and a wrong number is marked and not sent", {
  timeout,
}, async () => {
  const opened = await open();
  const { chat, page, requests } = opened;
  const temperature = page.getByLabel("Temperature", { exact: true });
  await page.locator('input[placeholder="0.8"]').first().waitFor();
  assert.equal(await temperature.getAttribute("placeholder"), "0.8");
  assert.equal(await page.getByLabel("Top-k: Keep at most").getAttribute("placeholder"), "40");
  for (const wrong of ["200", "hot", "-1"]) {
    await temperature.fill(wrong);
    await page.getByText("It must be a number from 0 to 100. Until then it is not sent.").waitFor();
    assert.equal(await temperature.getAttribute("aria-invalid"), "true");
  }
  await ask(chat, "Hello!");
  assert.equal("temperature" in (requests[0] ?? {}), false);
  await temperature.fill("1");
  await temperature.press("ArrowDown");
  assert.equal(await temperature.inputValue(), "0.95");
  assert.equal(await temperature.getAttribute("aria-invalid"), "false");
  await ask(chat, "Hello!");
  assert.equal(requests[1]?.temperature, 0.95);
  await done(opened);
});

test("Settings: presets are set, saved, overwritten, renamed, exported, deleted and imported", {
  timeout,
}, async () => {
  const opened = await open({}, { acceptDownloads: true });
  const { chat, page, requests } = opened;
  const pill = (name: string) => page.getByRole("group", { name: "Preset" }).getByRole("button", { name });
  const pressed = async (name: string) =>
    assert.equal(await pill(name).getAttribute("aria-pressed"), "true", name);
  await pressed("Balanced");
  await page.getByLabel("Length", { exact: true }).fill("8");
  await pressed("Balanced"); // it decides about the chain alone
  await pill("Precise").click();
  await pressed("Precise");
  assert.equal(await ask(chat), await ask(chat));
  assert.deepEqual([requests[0]?.temperature, requests[0]?.max_tokens], [0, 8]);

  await page.getByLabel("Instructions").fill("Be brief.");
  await page.getByRole("button", { name: "Save as preset…" }).click();
  await page.getByLabel("Name of the preset").fill("Precise");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("A built-in preset has this name.").waitFor();
  await page.getByLabel("Name of the preset").fill("Mine");
  await page.keyboard.press("Enter");
  await page.getByText("Saved as “Mine”.").waitFor();
  await pressed("Mine");
  await page.getByLabel("Seed", { exact: true }).fill("5");
  await page.getByRole("button", { name: "Save as preset…" }).click();
  await page.getByLabel("Name of the preset").fill("Mine");
  await page.getByRole("button", { name: "Overwrite" }).click();
  await page.getByRole("button", { name: "Rename…" }).click();
  await page.getByLabel("Name of the preset").fill("Ours");
  await page.keyboard.press("Enter");
  await pressed("Ours");

  const waiting = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export" }).click();
  const file = await (await waiting).path();
  await page.locator(".settings").getByRole("button", { name: "Delete", exact: true }).click();
  await pill("Ours").waitFor({ state: "detached" });
  await pill("Balanced").click();
  await page.getByLabel("Instructions").fill("");
  await page.getByLabel("File with presets").setInputFiles({
    name: "odd.json",
    mimeType: "application/json",
    buffer: Buffer.from("{"),
  });
  await page.getByText("There are no presets in this file.").waitFor();
  await page.getByLabel("File with presets").setInputFiles(file);
  await pill("Ours").click();
  assert.equal(await page.getByLabel("Instructions").inputValue(), "Be brief.");
  assert.equal(await page.getByLabel("Seed", { exact: true }).inputValue(), "5");
  await done(opened);
});

test("Settings: an answer is bound to a schema or an expression, and a mistake in one is said", {
  timeout,
}, async () => {
  const opened = await open({ sampling: { max_tokens: 300, temperature: 0 } });
  const { chat, page } = opened;
  await page.getByRole("radio", { name: "JSON schema" }).check();
  await page.getByRole("button", { name: "A choice" }).click();
  await ask(chat, "Hello!");
  const { sentiment } = JSON.parse(await chat.answers.last().locator("code").innerText()); // it is shown as code
  assert.match(sentiment, /^(positive|neutral|negative)$/);
  const field = page.getByRole("textbox", { name: "JSON schema" });
  await field.fill("{ nonsense");
  await page.getByText("This is not JSON yet").waitFor();
  assert.equal(await field.getAttribute("aria-invalid"), "true");
  await chat.ask("Hello!");
  await chat.answers.nth(1).getByText("json_schema cannot become a grammar").waitFor();
  await chat.answers.nth(1).getByRole("button", { name: "Open Settings" }).waitFor();
  await page.getByRole("radio", { name: "Regular expression" }).check();
  await page.getByRole("textbox", { name: "Regular expression" }).fill("owl|frog");
  assert.match(await ask(chat, "Hello!"), /^(owl|frog)$/);
  await page.getByRole("radio", { name: "JSON schema" }).check(); // what was written is still there
  assert.equal(await field.inputValue(), "{ nonsense");
  await done(opened);
});

test("Settings: an answer comes again with the seed of the last one", { timeout }, async () => {
  const opened = await open({ sampling: { max_tokens: 30, temperature: 2 } });
  const { chat, page, requests } = opened;
  const first = await ask(chat);
  await page.getByRole("button", { name: /Keep the seed of the last answer/ }).click();
  await chat.answers.last().getByRole("button", { name: "Regenerate" }).click();
  await page.getByText("2 of 2").waitFor();
  assert.equal(await finishedText(chat), first);
  assert.equal(typeof requests[1]?.seed, "number");
  await page.getByRole("button", { name: "Draw a seed" }).click();
  assert.notEqual(await page.getByLabel("Seed", { exact: true }).inputValue(), String(requests[1]?.seed));
  await done(opened);
});

test("Settings: the copied curl command sends what the page would", { timeout }, async () => {
  const settings = { system: 'It\'s "brief".\n$HOME', sampling: { seed: 7, max_tokens: 12 }, stop: ["\n\n"] };
  const opened = await open(settings, { permissions: ["clipboard-read", "clipboard-write"] });
  const { chat, page, requests } = opened;
  const answer = await ask(chat, "Who's there?");
  await page.getByRole("heading", { name: "Use it in a program" }).click();
  await page.getByRole("button", { name: "Copy the request" }).click();
  await page.getByRole("button", { name: "Copied" }).waitFor();
  const command = await page.evaluate(() => navigator.clipboard.readText());
  const stream = execFileSync("sh", ["-c", command], { stdio: ["ignore", "pipe", "ignore"] }).toString();
  const pieces = stream.match(/^data: \{.*$/gm)?.map((line) => JSON.parse(line.slice(6))) ?? [];
  const text = pieces.map((piece) => piece.choices[0]?.delta.content ?? "").join("");
  assert.equal(text.trim(), answer);
  assert.match(stream, /data: \[DONE\]/);
  await page.getByRole("button", { name: "WebSocket", exact: true }).click();
  const { request } = JSON.parse(await page.getByLabel("The request").inputValue());
  assert.deepEqual(request, requests[0]);
  await done(opened);
});

test("Settings: a key is never written into the command", { timeout }, async () => {
  const chat = await ChatPage.open(server.url, {}, (page) =>
    page.addInitScript(() => localStorage.setItem("penstock.key", "secret")),
  );
  await chat.online();
  await show(chat);
  await chat.page.getByRole("heading", { name: "Use it in a program" }).click();
  const command = await chat.page.getByLabel("The request").inputValue();
  assert.match(command, /-H "Authorization: Bearer \$PENSTOCK_API_KEY"/);
  assert.doesNotMatch(command, /secret/);
  await done({ chat });
});

test("Settings: a model that is gone stays chosen, and the page says so", { timeout }, async () => {
  const opened = await open({ model: "old" });
  const { chat, page, requests } = opened;
  await page.getByText("This server does not have old; penstock-tiny answers in its place.").waitFor();
  const field = page.locator(".settings").getByRole("button", { name: /^Model: / });
  await field.getByText("old (not on this server)").waitFor();
  await ask(chat, "Hello!");
  await choose(field, "penstock-tiny");
  await ask(chat, "Hello!");
  await choose(field, "The server's own: penstock-tiny");
  await ask(chat, "Hello!");
  assert.deepEqual(
    requests.map((request) => request.model),
    ["old", "penstock-tiny", undefined],
  );
  await done(opened);
});

test("Settings: they fit a phone", { timeout }, async () => {
  const opened = await open(
    { plugins: [{ name: "banned-phrases", config: { phrases: ["frog"] } }], stop: ["x".repeat(80)] },
    phone,
  );
  const { page } = opened;
  await page.getByRole("button", { name: /^banned-phrases/ }).tap();
  await page.getByRole("button", { name: /^DRY/ }).tap();
  for (const name of ["Format", "Reasoning", "Time and priority", "Use it in a program"])
    if ((await page.locator("details", { hasText: name }).last().getAttribute("open")) === null)
      await page.getByRole("heading", { name }).tap();
  await page.getByRole("radio", { name: "Grammar" }).check();
  const wide = await page
    .locator(".drawer")
    .evaluate((drawer) =>
      [...drawer.querySelectorAll("*")]
        .filter(
          (part) =>
            part.getBoundingClientRect().right > innerWidth &&
            part.closest(".hidden, textarea, .pill") === null,
        )
        .map((part) => part.outerHTML.slice(0, 80)),
    );
  assert.deepEqual(wide, []);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
  await done(opened);
});

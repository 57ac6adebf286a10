// SPDX-License-Identifier: MIT

// What the inspector tells of an answer, with the real host, the built-in model and the plugin
// banned-phrases.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Locator, Page } from "playwright-core";
import type { TokenTrace } from "../src/host/protocol.ts";
import type { Settings } from "../src/settings/settings.ts";
import { drawnCat } from "../src/trace/sampletraces.ts";
import { ChatPage, patience, useBrowser, withSettings, words } from "./browser.ts";
import { play } from "./play.ts";
import { useServer } from "./server.ts";

const question = "Tell me a story about a frog.";
const banning: Partial<Settings> = {
  trace: true,
  sampling: { temperature: 0 },
  plugins: [{ name: "banned-phrases", config: { phrases: ["frog"] } }],
};

useBrowser();
const server = useServer({ plugins: ["banned-phrases"] });

/** Asks for the story and opens the inspector on it. */
async function inspected(settings: Partial<Settings>): Promise<ChatPage> {
  const chat = await ChatPage.open(server.url, {}, withSettings(settings));
  await chat.ask(question);
  await inspect(await chat.finished());
  return chat;
}

async function inspect(answer: Locator): Promise<void> {
  await answer.getByRole("button", { name: "Inspect" }).click();
}

const drawerOf = (page: Page) => page.locator(".drawer");
const optionsOf = (page: Page) => page.getByRole("listbox").getByRole("option");
const focusOf = (page: Page) => page.getByRole("listbox").getByRole("option", { selected: true });

test("Inspector: a stranger sees why a word changed", { timeout: 3 * patience }, async () => {
  const chat = await inspected(banning);
  const { page } = chat;
  const drawer = drawerOf(page);
  await drawer.getByText(/^plugin:banned-phrases took back ␣frog/).waitFor();
  assert.doesNotMatch(await chat.answers.last().locator(".prose").innerText(), /frog/);

  // It begins at the first token that came instead, and shows the lost one before it.
  const detail = drawer.getByRole("region", { name: "The token in focus" });
  const story = await detail.getByRole("listitem").allInnerTexts();
  const word = (await detail.locator("h3 code").innerText()).trim();
  assert.equal(story[0], "plugin:banned-phrases took back 1 token: ␣frog.");
  assert.match(
    story[1] ?? "",
    new RegExp(`^The model’s first choice was ␣frog \\(\\d+ %\\)\\. ${word} was 2nd`),
  );
  assert.equal(story[2], "plugin:banned-phrases banned ␣frog.");
  assert.match(story.find((line) => line.startsWith("greedy")) ?? "", new RegExp(`^greedy chose ${word}`));
  const lost = drawer.getByRole("option", { name: "frog, taken back by plugin:banned-phrases" });
  assert.match(
    await lost.first().evaluate((e) => getComputedStyle(e.firstElementChild ?? e).textDecorationLine),
    /line-through/,
  );

  // The table: the frog was likeliest, and cut before the first stage; the other word was chosen
  // in the end.
  const columns = await detail.getByRole("columnheader").allInnerTexts();
  assert.match(columns[1] ?? "", /^model\s+1,536 left/);
  assert.match(columns[2] ?? "", /^plugins' rules\s+1,535 left\s+[\d.]+ .s\s+[\d.]+ %/);
  assert.match(columns.at(-1) ?? "", /^greedy\s+1 left/);
  const frog = detail.getByRole("row", { name: /^␣frog/ });
  assert.match((await frog.getByRole("cell").allInnerTexts()).slice(0, 2).join("|"), /\d+ %\s*\|\s*cut/);
  await detail.getByRole("row", { name: `${word} (chosen)` }).waitFor();
  await detail.getByText(/^Choosing it took/).waitFor();

  // The lost token has a story of its own.
  await lost.first().click();
  assert.equal((await detail.getByRole("listitem").allInnerTexts()).at(0), await firstChoiceLine(detail));
  await detail.getByText("plugin:banned-phrases took ␣frog back. Nobody saw it.").waitFor();
  assert.deepEqual(chat.complaints, []);
});

async function firstChoiceLine(detail: Locator): Promise<string> {
  return detail.getByText(/^The model’s first choice was ␣frog \(/).innerText();
}

test("Inspector: the keyboard steps through, colours change, and the token is marked in the chat", {
  timeout: 3 * patience,
}, async () => {
  const chat = await inspected(banning);
  const { page } = chat;
  const options = optionsOf(page);
  await options.first().click();
  assert.equal(await options.count(), await page.locator(".token[role=option]").count());
  const at = async () => Number(await focusOf(page).getAttribute("data-at"));
  for (const [key, wanted] of [
    ["ArrowRight", 1],
    ["ArrowDown", 2],
    ["ArrowLeft", 1],
    ["Home", 0],
  ] as const) {
    await page.keyboard.press(key);
    assert.equal(await at(), wanted, key);
  }
  await page.locator('[role="option"][data-at="0"]:focus').waitFor();
  await page.keyboard.press("End");
  assert.equal(await at(), (await options.count()) - 1);
  assert.match(await focusOf(page).innerText(), /im_end/); // why the answer ended is a choice, too
  await page.getByRole("button", { name: "Previous change" }).click();
  assert.match((await focusOf(page).getAttribute("aria-label")) ?? "", /plugin:banned-phrases/);

  await options.nth(0).click();
  const first = await options.nth(0).innerText();
  await page.waitForFunction(
    (text) => [...(CSS.highlights.get("inspected-token") ?? [])].map(String).join("") === text,
    first.trim(), // with the next frame
  );

  const legend = page.getByRole("list", { name: "Legend" });
  assert.match(await legend.innerText(), /plugin:banned-phrases/);
  await page.getByRole("radio", { name: "Probability" }).check({ force: true });
  assert.match(await legend.innerText(), /90 % or more/);
  await page.getByRole("radio", { name: "Stage" }).check({ force: true });
  assert.match(await legend.innerText(), /plugins' rules/);
  assert.deepEqual(chat.complaints, []);
});

test("Inspector: a trace is there after a reload", {
  timeout: 3 * patience,
}, async () => {
  const chat = await inspected(banning);
  const { page } = chat;
  const headline = page.locator(".headline p");
  const said = await headline.innerText();
  await page.waitForFunction(tracesKept, 1);
  await page.reload();
  await inspect(await chat.finished());
  assert.equal(await headline.innerText(), said);
  assert.deepEqual(chat.complaints, []);
});

/** Resolves to whether so many answers have traces in the browser. */
function tracesKept(wanted: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open("penstock-traces");
    let made = true;
    opening.onupgradeneeded = () => {
      made = false; // the page has not made it yet
      opening.transaction?.abort();
    };
    opening.onerror = () => (made ? reject(opening.error) : resolve(false));
    opening.onsuccess = () => {
      const db = opening.result;
      const counting =
        db.objectStoreNames.contains("answers") && db.transaction("answers").objectStore("answers").count();
      if (!counting) {
        db.close();
        resolve(false);
        return;
      }
      counting.onsuccess = () => {
        db.close();
        resolve(counting.result === wanted);
      };
    };
  });
}

test("Inspector: an answer without a trace is written again with one, the same", {
  timeout: 3 * patience,
}, async () => {
  const chat = await inspected({ sampling: { temperature: 1 } });
  const { page } = chat;
  const text = await chat.answers.last().locator(".prose").innerText();
  await page.getByText("This answer has no token record.").waitFor();
  await page.getByRole("button", { name: "Answer again with a token record" }).click();
  await optionsOf(page).first().waitFor();
  assert.equal(await (await chat.finished()).locator(".prose").innerText(), text);
  await page.getByText("The answer in numbers").click();
  await page
    .getByRole("definition")
    .filter({ hasText: /Top-k → .* → random draw/ })
    .waitFor();
  await page.getByRole("table", { name: "Time for a token, on average" }).waitFor();
  assert.deepEqual(chat.complaints, []);
});

test("Inspector: two answers side by side, the same seed without the plugin", {
  timeout: 3 * patience,
}, async () => {
  const chat = await inspected(banning);
  const { page } = chat;
  await page.setViewportSize({ width: 1280, height: 400 }); // the button is far below the verdict
  await page.getByLabel(/^Write another, same seed/).selectOption({ label: "without plugin banned-phrases" });
  await page.getByRole("button", { name: "Write and compare" }).click();
  const verdict = page
    .getByRole("status")
    .filter({ hasText: /^They part at token \d+: ␣\w+ on one side, ␣frog on the other/ });
  await verdict.waitFor();
  const { y = -1 } = (await verdict.boundingBox()) ?? {};
  assert.ok(y > 0 && y < 400, `the verdict is at ${y}`);
  await chat.finished();
  const [one, other] = [1, 2].map((n) => page.getByRole("listbox", { name: `Tokens of version ${n}` }));
  assert.ok(one && other);
  assert.match(await words(other), /frog/); // it may be out of sight
  const place = Number(/token (\d+)/.exec(await verdict.innerText())?.[1]);
  assert.equal(await other.locator(".common").count(), place - 1);
  assert.equal((await words(other.getByRole("option", { selected: true }))).trim(), "frog");
  assert.match(
    await page.getByRole("region", { name: "The token in focus of version 1" }).innerText(),
    /took back 1 token: ␣frog/,
  );
  const facts = page.getByRole("table", { name: "Side by side" });
  assert.match(await facts.getByRole("row", { name: /^Tokens taken back/ }).innerText(), /[1-9]\d*\s+0$/);
  assert.match(await facts.getByRole("row", { name: /^Speed/ }).innerText(), /tokens\/s.*tokens\/s/s);
  // One steps, the other follows.
  await other.getByRole("option", { selected: true }).click();
  await page.keyboard.press("Home");
  assert.equal(await one.getByRole("option", { selected: true }).getAttribute("data-at"), "0");
  assert.deepEqual(chat.complaints, []);
});

test("Inspector: an answer is deleted while it is compared, and while it is inspected", {
  timeout: 3 * patience,
}, async () => {
  const chat = await inspected(banning);
  const { page } = chat;
  const drawer = drawerOf(page);
  await drawer.getByRole("button", { name: "Write and compare" }).click();
  await drawer.getByText(/^They part at token|tokens are the same\.$/).waitFor();
  await (await chat.finished()).getByRole("button", { name: "Delete" }).click();
  await drawer.locator(".verdict").waitFor({ state: "detached" });
  await optionsOf(page).first().waitFor();
  await chat.answers.last().getByRole("button", { name: "Delete" }).click();
  await drawer.getByText("below an answer to see how each of its tokens was chosen").waitFor();
  assert.deepEqual(chat.complaints, []);
});

test("Inspector: 2,000 tokens, and traces that make no sense, stay quick", {
  timeout: 3 * patience,
}, async () => {
  const chat = await ChatPage.open(server.url, {}, async (page) => {
    await withSettings({ trace: true })(page);
    await play(page, (stream) => {
      const odd = [
        {},
        { id: 1, token: "\u202e\n", stages: [null] },
        7,
        { id: 2, token: "x".repeat(9000), stages: [] },
      ];
      for (let n = 0; n < 2000; n++) stream.token(" cat", (odd[n] ?? drawnCat()) as TokenTrace);
      stream.end();
    });
  });
  await chat.ask("Anything.");
  await inspect(await chat.finished());
  const { page } = chat;
  await page.waitForFunction(() => document.querySelectorAll(".tokens [role=option]").length === 2000);
  await optionsOf(page).first().click();
  await page.keyboard.press("End");
  assert.equal(await focusOf(page).getAttribute("data-at"), "1999");
  await page.waitForFunction(() => {
    const box = document.querySelector(".tokens")?.getBoundingClientRect();
    const own = document.querySelector(".tokens [aria-selected=true]")?.getBoundingClientRect();
    return box && own && own.top >= box.top && own.bottom <= box.bottom;
  });
  // A step touches the two tokens that it is about, not the others.
  const touched = await page.evaluate(touchedBy, "ArrowLeft");
  assert.ok(touched > 0 && touched <= 4, `a step changes ${touched} elements`);
  assert.equal(await focusOf(page).getAttribute("data-at"), "1998");
  assert.deepEqual(chat.complaints, []);
});

/** How many elements of the list a key changes. */
async function touchedBy(key: string): Promise<number> {
  const list = document.querySelector(".tokens");
  if (list === null) throw new Error("there is no list");
  const touched = new Set<Node>();
  const watching = new MutationObserver((records) => {
    for (const { target } of records) touched.add(target);
  });
  watching.observe(list, { subtree: true, attributes: true, childList: true, characterData: true });
  list.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  while (touched.size === 0) await new Promise((drawn) => requestAnimationFrame(drawn));
  watching.disconnect();
  return touched.size;
}

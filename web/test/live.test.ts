// SPDX-License-Identifier: MIT

// What the live view shows of the real host: slots, ticks, queue and plugins, as they are.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Locator, Page } from "playwright-core";
import { ChatPage, long, moving, patience, useBrowser } from "./browser.ts";
import { Server, useServer } from "./server.ts";

const plugins = ["dynamic-temperature", "watermark"];

// Few slots share the context, so that an answer may go on for as long as a test takes, and one
// more has to wait.
useBrowser();
const server = useServer({ context: 60_000, flags: ["--parallel", "2"] });

/** Shows the live view of a page, in which its answers go on. */
async function showLive(page: Page): Promise<void> {
  await page.evaluate(() => {
    location.hash = "#/live";
  });
  await page.getByRole("region", { name: "Ticks" }).waitFor();
}

/** A page whose answers do not end by themselves. */
async function endless(): Promise<ChatPage> {
  const chat = await ChatPage.open(server.url, moving, long(server, 50_000));
  await chat.online();
  await chat.watchLengths();
  return chat;
}

async function begin(chat: ChatPage, question: string): Promise<void> {
  await chat.ask(question);
  await chat.growing(2);
}

/**
 * Goes from the live view to the chat of the page's own answer, and stops it: it would outlive the
 * page.
 */
async function stopOwn(chat: ChatPage, link: Locator): Promise<void> {
  await link.click();
  await chat.stop.first().click();
  await chat.finished();
}

const busy = (page: Page) => page.locator(".slot");
const slider = (page: Page) => page.getByRole("slider", { name: /ticks of the last seconds/ });

/** The number of the newest tick that the page knows of. */
async function newest(page: Page): Promise<number> {
  return Number(await slider(page).getAttribute("aria-valuemax"));
}

async function ticksAfter(page: Page, number: number): Promise<void> {
  await page.waitForFunction(
    (n) => Number(document.querySelector(".strip [role=slider]")?.getAttribute("aria-valuemax")) > n,
    number,
  );
}

test("Live: two pages see the same slots, each its own answer by its chat and nothing of the other's", {
  timeout: 3 * patience,
}, async () => {
  const [mine, theirs, third] = [await endless(), await endless(), await endless()];
  await begin(mine, "Tell me of my frog.");
  await begin(theirs, "Tell me of their toad.");
  await showLive(mine.page);
  await mine.page.locator('.slot[data-own="true"]').waitFor();
  await mine.page.locator('.slot[data-own="false"]').waitFor();
  assert.equal(await busy(mine.page).count(), 2);
  const own = mine.page.locator('.slot[data-own="true"]');
  assert.match(await own.getByRole("link").innerText(), /my frog/);
  const others = await mine.page.locator('.slot[data-own="false"]').innerText();
  assert.match(others, /Another client[\s\S]*of 50,000 tokens/);
  assert.doesNotMatch(await mine.page.locator("main").innerText(), /toad/);
  assert.match(await mine.page.locator('[data-figure="slots"]').innerText(), /2 of 2 in use/);

  const before = await newest(mine.page);
  await ticksAfter(mine.page, before + 20);
  await own.getByText(/tokens\/s/).waitFor();

  await third.ask("Tell me of the third.");
  await mine.page.getByText("1 answer waits: 1 for a slot.").waitFor();
  await showLive(third.page);
  const waiting = third.page.getByRole("region", { name: "Queue" }).getByRole("listitem");
  await waiting.getByText(/Place 1, for .*All slots are taken\./).waitFor();
  assert.match(await waiting.getByRole("link").innerText(), /the third/);
  await stopOwn(third, waiting.getByRole("link"));
  await mine.page.getByText("The queue is empty.").waitFor();

  await stopOwn(mine, own.getByRole("link"));
  assert.match(await mine.page.getByRole("log").innerText(), /Tell me of my frog\./);
  await showLive(theirs.page);
  await theirs.page.waitForFunction(() => document.querySelectorAll(".slot").length === 1);
  await stopOwn(theirs, theirs.page.locator('.slot[data-own="true"]').getByRole("link"));
  assert.deepEqual([mine.complaints, theirs.complaints, third.complaints], [[], [], []]);
  for (const chat of [mine, theirs, third]) await chat.close();
  await server.runs(0);
});

test("Live: says in words what an answer waits for, and who waits in the queue", {
  timeout: 2 * patience,
}, async () => {
  const viewer = await ChatPage.open(`${server.url}/#/live`, moving);
  await viewer.page.getByText(/All 2 slots are free\. Ask something in a chat/).waitFor();
  await viewer.page.getByText("The queue is empty.").waitFor();
  const other = await ChatPage.open(server.url);
  await other.online();
  await other.page.evaluate(() => {
    const socket = new WebSocket(new URL("v1/ws", location.href).href.replace("http", "ws"));
    const request = { prompt: "x", max_tokens: 50_000, ignore_eos: true };
    socket.onopen = () => socket.send(JSON.stringify({ type: "generate", id: "held", request }));
    socket.onmessage = ({ data }) => {
      if (JSON.parse(data).type === "started") socket.send('{"type":"pause","id":"held"}');
    };
    Object.assign(window, { socket }); // lest it is collected
  });
  await viewer.page.getByText("Its reader has paused it.").waitFor();
  assert.match(await busy(viewer.page).innerText(), /^\d\s+Another client\s+Paused/);
  assert.equal(await viewer.page.getByText(/1 slot is free/).count(), 1);
  await other.close(); // its connection cancels the answer
  await viewer.page.getByText(/All 2 slots are free/).waitFor();
  assert.deepEqual(viewer.complaints, []);
  await viewer.close();
});

test("Live: ticks can be read by pointer and keyboard, as a table, and in colours that can be told apart", {
  timeout: 2 * patience,
}, async () => {
  const chat = await endless();
  await begin(chat, "Tell me a story.");
  await showLive(chat.page);
  await ticksAfter(chat.page, await newest(chat.page));
  const chart = slider(chat.page);
  assert.equal(await chart.getAttribute("aria-valuetext"), "No tick is chosen");
  await chart.focus();
  await chat.page.keyboard.press("ArrowLeft");
  await chat.page.locator('[role="slider"][aria-valuetext^="Tick"]').waitFor();
  const at = Number(await chart.getAttribute("aria-valuenow"));
  for (const [key, tick] of [
    ["ArrowLeft", at - 1],
    ["ArrowRight", at],
  ] as const) {
    await chat.page.keyboard.press(key);
    await chat.page.locator(`[role="slider"][aria-valuenow="${tick}"]`).waitFor();
  }
  assert.match(
    (await chart.getAttribute("aria-valuetext")) ?? "",
    /^Tick \d+: tokens \d+ (decoded|of prompts)( and \d+ of prompts)?; \d+ pass(es)?; model [\d.]+ [µm]s, sampling [\d.]+ [µm]s, .*in all [\d.]+ [µm]s\.$/,
  );
  await chat.page.keyboard.press("Escape");
  await chat.page.locator('[role="slider"][aria-valuetext="No tick is chosen"]').waitFor();
  await chart.hover({ position: { x: 300, y: 100 } });
  await chat.page
    .locator(".reading")
    .getByText(/^Tick \d+:/)
    .waitFor();
  await chat.page.getByText("The last ticks as a table").click();
  const rows = chat.page.getByRole("region", { name: "The last ticks" }).locator("tbody tr");
  await rows.nth(11).waitFor();
  assert.equal(await rows.count(), 12);
  assert.ok(Number(await rows.first().locator("th").innerText()) > at);
  for (const scheme of ["light", "dark"] as const) {
    await chat.page.emulateMedia({ colorScheme: scheme });
    const [panel = 0, ...series] = (await chat.page.evaluate(chartColours)).map(luminance);
    assert.equal(series.length, 6);
    for (const own of series) {
      const contrast = (Math.max(own, panel) + 0.05) / (Math.min(own, panel) + 0.05);
      assert.ok(contrast >= 3, `${scheme}: a contrast of ${contrast}`);
    }
  }
  await chat.page.mouse.move(0, 0);
  await chat.page.waitForFunction(decodeIsDrawn);
  await stopOwn(chat, busy(chat.page).getByRole("link"));
  assert.deepEqual(chat.complaints, []);
  await chat.close();
});

/** Runs in the page: the colour of the panel, then those of the chart. */
function chartColours(): string[] {
  return [...document.querySelectorAll(".strip, .strip [data-series]")].map(
    (element) => getComputedStyle(element).backgroundColor,
  );
}

/** How bright a colour is, as WCAG has it: 0 to 1. */
function luminance(colour: string): number {
  const [r = 0, g = 0, b = 0] = (colour.match(/[\d.]+/g) ?? []).map((text) => {
    const part = Number(text) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Runs in the page: whether the chart has bars in the colour of decoded tokens. */
function decodeIsDrawn(): boolean {
  const chart = document.querySelector<HTMLCanvasElement>(".strip canvas");
  const swatch = document.querySelector('.strip [data-series="decode"]');
  const [r, g, b] = (
    /\d+, \d+, \d+/.exec(swatch === null ? "" : getComputedStyle(swatch).backgroundColor)?.[0] ?? ""
  )
    .split(", ")
    .map(Number);
  const pixels = chart?.getContext("2d")?.getImageData(0, 0, chart.width, chart.height).data ?? [];
  let found = 0;
  for (let i = 0; i < pixels.length; i += 4) {
    if (pixels[i] === r && pixels[i + 1] === g && pixels[i + 2] === b) found++;
  }
  return found > 50;
}

test("Live: watches only while it is shown and can be seen", { timeout: 2 * patience }, async () => {
  const sent: string[] = [];
  let live = 0;
  const chat = await ChatPage.open(server.url, {}, async (page) => {
    page.on("websocket", (socket) => {
      socket.on("framesent", ({ payload }) => {
        if (String(payload).includes('"watch"')) sent.push(String(payload));
      });
      socket.on("framereceived", ({ payload }) => {
        if (String(payload).startsWith('{"type":"live"')) live++;
      });
    });
  });
  await chat.online();
  assert.deepEqual(sent, []);
  const [on, off] = ['{"type":"watch","every_ms":250}', '{"type":"watch","every_ms":0}'];
  // The browser tells of a frame a moment after it was sent.
  const told = async (...frames: string[]) => {
    for (const end = Date.now() + patience; sent.length < frames.length && Date.now() < end; )
      await chat.page.evaluate("0");
    assert.deepEqual(sent, frames);
  };
  await showLive(chat.page);
  await told(on);
  const become = (state: string) =>
    chat.page.evaluate((visibility) => {
      Object.defineProperty(document, "visibilityState", { value: visibility, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }, state);
  await become("hidden");
  await told(on, off);
  await become("visible");
  await told(on, off, on);
  await chat.page.goBack();
  await chat.page.getByRole("textbox", { name: "Your message" }).waitFor();
  await told(on, off, on, off);
  assert.ok(live > 0);
  // An answer that waits long for a token is watched, too. Then others are asked for.
  for (let watched = -1; watched !== sent.length; ) {
    await chat.ask("Hello!"); // its answer comes after all that was on its way
    await chat.finished();
    const before = live;
    watched = sent.length;
    await chat.ask("Hello again!");
    await chat.finished();
    if (watched === sent.length) assert.equal(live, before, "live frames came after the view was left");
  }
  assert.deepEqual(chat.complaints, []);
  await chat.close();
});

test("Live: counts what plugins did, and goes on after a restart of the host", {
  timeout: 4 * patience,
}, async (t) => {
  const first = await Server.start({ plugins });
  t.after(() => first.stop("SIGKILL"));
  const viewer = await ChatPage.open(`${first.url}/#/live`, moving);
  const panel = viewer.page.getByRole("region", { name: "Plugins", exact: true });
  await panel.getByText(/Not called yet:.*watermark/).waitFor();
  const body = { prompt: "Once", max_tokens: 20, ignore_eos: true, plugins: ["dynamic-temperature"] };
  const answer = await fetch(`${first.url}/v1/completions`, { method: "POST", body: JSON.stringify(body) });
  assert.equal(answer.status, 200, await answer.text());
  const row = panel.getByRole("row", { name: /^dynamic-temperature/ });
  await row
    .getByText(/^\d\d+$/)
    .first()
    .waitFor();
  assert.match(await row.innerText(), /Ready/);
  await viewer.page.getByText(/Of \d+ tokens since the model was loaded/).waitFor();
  const memory = viewer.page.getByRole("region", { name: "Memory" });
  await memory.getByText(/kept from earlier [1-9]/).waitFor(); // once the answer has ended
  await ticksAfter(viewer.page, 15);

  await first.stop("SIGKILL");
  await viewer.page.locator('#status:not([data-kind="online"])').waitFor();
  const second = await Server.start({ address: first.address, plugins });
  t.after(() => second.stop());
  await viewer.online();
  await viewer.page.getByText("No answer has had two tokens yet.").waitFor();
  await viewer.close();
});

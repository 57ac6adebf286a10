// SPDX-License-Identifier: MIT

// Measures how smoothly the page draws: the time between two frames while the last 400 of an
// answer's 10,000 tokens come, 100 a second, or 300 of a mixed one, and while a reader scrolls
// through the answer. An endless list, table or block of code is the worst that a model can write.
// Then the processor time of what a reader waits for: a long chat that is opened, a long text that
// is pasted, in the page and in a bare field, and a long answer in the inspector. Then how soon a
// fresh page can be used over a slow network. npm run frames
import type { Page } from "playwright-core";
import type { TokenTrace } from "../src/host/protocol.ts";
import { left, stage } from "../src/trace/sampletraces.ts";
import { importFile, longChat } from "./archive.ts";
import { ChatPage, launch, withSettings } from "./browser.ts";
import { type PlayedStream, play } from "./play.ts";
import { Server } from "./server.ts";
import { sum, tasksOf } from "./tasks.ts";

const tokens = 10_000;
const streamed = 400; // of them; the others come at once
const usualRate = 100; // tokens a second
const rates: Record<string, number> = { mixed: 300 };
const pasted = "a few words ".repeat(83_334); // a million characters
const scrolled = 4; // seconds

const prose = "A frog sat by the pond and waited for the rain that the wind had told of. ";
const texts: Record<string, string> = {
  mixed: `## A story\n\n${prose}**${prose}**\n\n- one \`word\`\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n\`\`\`go\nfunc main() {}\n\`\`\`\n\n`,
  paragraphs: `${prose.repeat(4)}\n\n`,
  "one paragraph": prose,
  "one list": "- A frog by the pond, with `code` and *more*\n",
  "one table": "| frog | pond | *rain* | 42 |\n",
  "one block of code": "func frog(pond int) string { return fmt.Sprint(pond, 42) } // rain\n",
};
const openings: Record<string, string> = {
  "one table": "| a | b | c | d |\n|---|---|---|---|\n",
  "one block of code": "```go\n",
};

/** The text of an answer in tokens of four characters. */
function pieces(kind: string): string[] {
  const text = texts[kind] ?? "";
  const whole = (openings[kind] ?? "") + text.repeat(Math.ceil((tokens * 4) / text.length));
  return whole.match(/[\s\S]{1,4}/g)?.slice(0, tokens) ?? [];
}

/** Streams pieces at a rate. */
async function tell(stream: PlayedStream, all: readonly string[], rate: number): Promise<void> {
  const begun = Date.now();
  for (let sent = 0; sent < all.length; ) {
    const due = Math.min(all.length, Math.floor(((Date.now() - begun) / 1000) * rate));
    while (sent < due) stream.token(all[sent++] ?? "");
    await new Promise((next) => setTimeout(next, 5));
  }
}

/** Notes the time of each frame, in the page. */
const note = `
  times = [];
  (function note(times) {
    requestAnimationFrame((time) => {
      times.push(time);
      if (times === globalThis.times) note(times);
    });
  })(times);
`;

const pause = () => new Promise<void>((next) => setTimeout(next, 50));

/** How long the answer's text is once nothing more of it is drawn. */
async function settled(chat: ChatPage): Promise<number> {
  for (let before = -1; ; ) {
    const now = await chat.answers.evaluate((answer) => answer.textContent?.length ?? 0);
    if (now === before) return now;
    before = now;
    await new Promise((next) => setTimeout(next, 2000));
  }
}

/** Milliseconds between the frames of some seconds. work is done meanwhile, step by step. */
async function frames(
  page: Page,
  seconds: number,
  work: (second: number) => Promise<void>,
): Promise<number[]> {
  await page.evaluate(note);
  const begun = Date.now();
  for (let at = 0; at < seconds; at = (Date.now() - begun) / 1000) await work(at);
  const times = await page.evaluate<number[]>("times");
  return times.slice(1).map((time, i) => time - (times[i] ?? time));
}

function row(kind: string, what: string, list: number[]): string {
  const sorted = list.toSorted((a, b) => a - b);
  const at = (part: number) => (sorted[Math.floor(part * (sorted.length - 1))] ?? 0).toFixed(1);
  const perSecond = (1000 * list.length) / list.reduce((sum, ms) => sum + ms, 0);
  return `| ${kind} | ${what} | ${perSecond.toFixed(1)} | ${at(0.5)} | ${at(0.95)} | ${at(1)} |`;
}

/** Milliseconds of the main thread until the end of a chat of 300 messages can be read. */
async function opening({ page }: ChatPage): Promise<number> {
  await importFile(page, longChat(300));
  await page.getByRole("link", { name: "A short chat" }).click();
  await page.getByRole("heading", { name: "A short chat", level: 1 }).waitFor();
  const tasks = await tasksOf(page, async () => {
    await page.getByRole("link", { name: "A long chat" }).click();
    await page.getByText("Answer 299 ").waitFor();
  });
  await page.getByRole("button", { name: "New chat" }).first().click();
  return sum(tasks);
}

/** Milliseconds of the main thread for a paste into a field. */
async function pasting(page: Page, field: string): Promise<number> {
  const tasks = await tasksOf(page, () =>
    page.locator(field).evaluate((element, text) => {
      const clipboardData = new DataTransfer();
      clipboardData.setData("text/plain", text);
      (element as HTMLElement).focus();
      const event = new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true });
      if (element.dispatchEvent(event)) document.execCommand("insertText", false, text);
      return new Promise<void>((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => drawn())));
    }, pasted),
  );
  return sum(tasks);
}

const inspected = 13_000; // tokens
const steps = 20; // of the arrow keys
const stages = ["logit_bias", "penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc"];

/** A record as long as those of the usual chain. */
function record(token: string): TokenTrace {
  const names = Array.from({ length: 9 }, (_, n) => [` word${n}`, 0.3 / (n + 1)]);
  const survey = (n: number) => left(n, { ...Object.fromEntries(names), [token]: 0.1 }, [3, 0.1]);
  const before = survey(1536);
  const after = [...stages, "temperature", "dist"].map((name, n) => stage(name, 0.01, survey(1536 >> n)));
  return { id: 1, token, how: "chosen", by: "dist", before, stages: after };
}

/** Milliseconds of the main thread in the inspector: for the first tokens, and for a step. */
async function inspecting(url: string): Promise<{ first: number; step: number }> {
  const words = `${prose}\n\n`.match(/\s*\S+/g) ?? [];
  const chat = await ChatPage.open(
    url,
    {},
    async (page) => {
      await withSettings({ trace: true })(page);
      await play(page, (stream) => {
        for (let n = 0; n < inspected; n++) {
          const word = words[n % words.length] ?? "";
          stream.token(word, record(word));
        }
        stream.end();
      });
    },
    browser,
  );
  const { page } = chat;
  await chat.ask("Go on.");
  await chat.finished();
  await page.waitForTimeout(5000); // until it is kept
  await page.reload();
  const inspect = (await chat.finished()).getByRole("button", { name: "Inspect" });
  const options = page.locator(".tokens [role=option]");
  const first = await tasksOf(page, async () => {
    await inspect.click();
    await options.first().waitFor();
  });
  await page.waitForFunction(
    (n) => document.querySelectorAll(".tokens [role=option]").length === n,
    inspected,
  );
  await options.nth(6000).click();
  const keys = await tasksOf(page, async () => {
    for (let n = 0; n < steps; n++) {
      await page.keyboard.press("ArrowRight");
      await page.evaluate(
        () => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))),
      );
    }
  });
  await chat.close();
  return { first: sum(first), step: sum(keys) / steps };
}

const slow = { offline: false, latency: 400, downloadThroughput: 50_000, uploadThroughput: 50_000 };

/** Milliseconds until a fresh page's message field is there, at 400 kbit/s and 400 ms a request. */
async function usable(url: string, locale: string): Promise<{ wall: number; processor: number }> {
  const context = await browser.newContext({ locale });
  const page = await context.newPage();
  const network = await context.newCDPSession(page);
  await network.send("Network.enable");
  await network.send("Network.emulateNetworkConditions", slow);
  let wall = 0;
  const tasks = await tasksOf(page, async () => {
    await page.goto(url, { waitUntil: "commit" });
    const there = await page.waitForFunction(() => document.querySelector("#question") && performance.now());
    wall = Number(await there.jsonValue()); // looked for in each frame
  });
  await context.close();
  return { wall, processor: sum(tasks) };
}

const browser = await launch();
const server = await Server.start();
try {
  console.log("| answer | | frames a second | median ms | p95 ms | longest ms |\n|---|---|---|---|---|---|");
  for (const kind of Object.keys(texts)) {
    const streams: PlayedStream[] = [];
    const chat = await ChatPage.open(server.url, {}, (page) => play(page, (s) => streams.push(s)), browser);
    await chat.ask("Go on.");
    await chat.answers.waitFor();
    while (streams.length === 0) await pause();
    const [stream] = streams as [PlayedStream];
    const all = pieces(kind);
    for (const piece of all.slice(0, -streamed)) stream.token(piece);
    const before = await settled(chat);
    const rate = rates[kind] ?? usualRate;
    const telling = tell(stream, all.slice(-streamed), rate);
    console.log(row(kind, "grows", await frames(chat.page, streamed / rate, pause)));
    await telling;
    const grown = (await settled(chat)) - before;
    if (grown < streamed) throw new Error(`${kind}: the answer grew by ${grown} characters only`);
    stream.end();
    await chat.finished();
    await chat.page.mouse.move(400, 300);
    const place = () => chat.page.locator("#scroller").evaluate((box) => box.scrollTop);
    const end = await place();
    const scroll = () => chat.page.mouse.wheel(0, -120).then(() => pause());
    console.log(row(kind, "is scrolled", await frames(chat.page, scrolled, scroll)));
    if (end - (await place()) < 1000) throw new Error(`${kind}: it was not scrolled`);
    await chat.close();
  }
  const chat = await ChatPage.open(server.url, {}, undefined, browser);
  await chat.online();
  console.log("\n| | ms of the main thread |\n|---|---|");
  console.log(`| a chat of 300 messages, until its end is there | ${(await opening(chat)).toFixed(0)} |`);
  console.log(`| a million characters pasted | ${(await pasting(chat.page, "#question")).toFixed(0)} |`);
  await chat.page.goto("about:blank");
  await chat.page.setContent("<textarea></textarea>");
  console.log(`| the same into a bare field | ${(await pasting(chat.page, "textarea")).toFixed(0)} |`);
  await chat.close();
  const { first, step } = await inspecting(server.url);
  console.log(`| an answer of 13,000 tokens in the inspector, the first of them | ${first.toFixed(0)} |`);
  console.log(`| a step from one to the next | ${step.toFixed(0)} |`);
  for (const locale of ["en", "de", "zh-CN"])
    for (let run = 1; run <= 3; run++) {
      const { wall, processor } = await usable(server.url, locale);
      const times = `${wall.toFixed(0)} ms, ${processor.toFixed(0)} of them of the main thread`;
      console.log(`| a fresh page in ${locale} at 400 kbit/s and 400 ms, run ${run} | ${times} |`);
    }
} finally {
  await browser.close();
  await server.stop();
}

// SPDX-License-Identifier: MIT

// What the page may cost: bytes of the first load, and work of the browser's main thread while an
// answer streams.
import assert from "node:assert/strict";
import { get } from "node:http";
import { test } from "node:test";
import { ChatPage, moving, patience, useBrowser } from "./browser.ts";
import { type PlayedStream, play } from "./play.ts";
import { useServer } from "./server.ts";
import { sum, tasksOf } from "./tasks.ts";

const firstLoad = 100 * 1024; // bytes as they are sent
const fonts = 30 * 1024; // bytes that come after the first paint
const rate = 100; // tokens a second
const seconds = 4;
// Both in drawings of the whole answer, of which this browser's main thread tells how long they
// take on this machine.
const longTask = 6;
const mostLongTasks = 1; // the browser may collect garbage
const most = 240; // at 60 frames a second it takes 100 to 150, and fewer where there are fewer frames
const drawings = 40; // to measure one

useBrowser();
const server = useServer();

/** How many bytes the host sends of a file to a browser. */
function sent(url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    get(url, { headers: { "Accept-Encoding": "gzip, deflate" } }, (response) => {
      let bytes = 0;
      response.on("data", (piece: Buffer) => {
        bytes += piece.length;
      });
      response.on("end", () => resolve(bytes));
      response.on("error", reject);
    }).on("error", reject);
  });
}

test("Page: the first load is small and comes from the host alone", { timeout: 2 * patience }, async () => {
  const urls: string[] = [];
  const chat = await ChatPage.open(server.url, {}, async (page) =>
    page.on("request", (request) => urls.push(request.url())),
  );
  await chat.online();
  await chat.question.waitFor();
  const strangers = urls.filter((url) => !url.startsWith(`${server.url}/`));
  assert.deepEqual(strangers, []);
  let bytes = 0;
  for (const url of urls.filter((url) => !/\/v1\/|\.woff2$/.test(url))) bytes += await sent(url);
  console.log(`the first load: ${bytes} bytes`);
  assert.ok(bytes > 10_000, `the first load was not seen: ${urls.join(" ")}`);
  assert.ok(bytes <= firstLoad, `the first load is ${bytes} bytes, ${firstLoad} are allowed`);
  await chat.page.evaluate(() => document.fonts.ready.then((loaded) => loaded.size));
  await chat.page.waitForFunction(() => document.fonts.check("16px Geist"));
  const later = urls.filter((url) => url.endsWith(".woff2"));
  assert.equal(later.length, 1, `fonts: ${later.join(" ")}`);
  const font = (await (await fetch(later[0] ?? "")).arrayBuffer()).byteLength;
  assert.ok(font > 1000 && font <= fonts, `the font is ${font} bytes, ${fonts} are allowed`);
  const widths = await chat.page.evaluate(() => {
    const line = document.createElement("span");
    line.style.font = "16px Geist";
    line.style.fontVariantNumeric = "tabular-nums";
    document.body.append(line);
    return ["1111", "0000"].map((figures) => {
      line.textContent = figures;
      return line.getBoundingClientRect().width;
    });
  });
  assert.equal(widths[0], widths[1], "figures are as wide as each other");
});

test("Page: the message field waits for the document and the files that this names, and for nothing else", {
  timeout: 2 * patience,
}, async () => {
  const document = await (await fetch(server.url)).text();
  const named = [...document.matchAll(/(?:src|href)="([^"]+)"/g)].map(
    ([, at]) => `${new URL(at ?? "", server.url)}`,
  );
  const served = new Set([`${server.url}/`, ...named]);
  assert.ok(served.size > 3, document);
  let models: Promise<unknown> | undefined;
  const chat = await ChatPage.open(server.url, {}, (page) => {
    models = page.waitForRequest((request) => request.url().endsWith("/v1/models"), { timeout: patience });
    return page.route("**/*", (route) => {
      if (served.has(route.request().url())) return route.continue(); // all else is never answered
    });
  });
  await chat.question.fill("Hello!");
  assert.equal(await chat.question.inputValue(), "Hello!");
  await models; // it has asked, and has no answer
});

/**
 * What each view loads when it is opened first, as it is sent, besides what the views before it
 * have.
 */
const views: Record<string, { most: number; go(chat: ChatPage): Promise<unknown> }> = {
  settings: {
    most: 24 * 1024,
    go: async ({ page }) => {
      await page.getByRole("button", { name: "Settings", exact: true }).click();
      await page.getByLabel("Instructions").waitFor();
    },
  },
  tools: {
    most: 8 * 1024, // the SDK of MCP is loaded with the first server
    go: async ({ page }) => {
      await page.locator("summary", { has: page.getByRole("heading", { name: "Tools" }) }).click();
      await page.getByRole("button", { name: "Add server" }).waitFor();
    },
  },
  answer: {
    most: 36 * 1024, // Markdown
    go: async (chat) => {
      await chat.ask("Hello!");
      await chat.finished();
    },
  },
  inspector: {
    most: 24 * 1024, // with its style
    go: async (chat) => {
      await chat.answers.last().getByRole("button", { name: "Inspect" }).click();
      await chat.page.getByText("This answer has no token record.").waitFor();
    },
  },
  files: {
    most: 16 * 1024,
    go: async ({ page }) => {
      const file = { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("x") };
      await page.getByLabel("Files", { exact: true }).setInputFiles(file);
      await page.getByRole("button", { name: "Remove notes.txt" }).click();
    },
  },
  script: {
    most: 15 * 1024, // besides highlight.js, which an answer with code loads as well
    go: async ({ page }) => {
      await page.getByRole("button", { name: "Script", exact: true }).click();
      await page.getByRole("textbox", { name: "Script" }).waitFor();
    },
  },
  strategies: {
    most: 8 * 1024,
    go: async ({ page }) => {
      await page.getByRole("button", { name: /^Strategy:/ }).click();
      await page.getByRole("radio", { name: "Side by side" }).waitFor();
      await page.keyboard.press("Escape");
    },
  },
  rules: {
    most: 8 * 1024,
    go: async ({ page }) => {
      await page.getByRole("button", { name: "Rules", exact: true }).click();
      await page.getByLabel("A rule").waitFor();
      await page.keyboard.press("Escape");
    },
  },
  models: { most: 8 * 1024, go: (chat) => open(chat, "Models") },
  plugins: { most: 16 * 1024, go: (chat) => open(chat, "Plugins") },
  live: { most: 16 * 1024, go: (chat) => open(chat, "Live") },
};

async function open({ page }: ChatPage, view: string): Promise<void> {
  await page.getByRole("link", { name: view, exact: true }).click();
  await page.locator(`main.${view.toLowerCase()}`).waitFor();
}

test("Page: each view loads little when it is opened", { timeout: 3 * patience }, async () => {
  const urls = new Set<string>();
  const chat = await ChatPage.open(server.url, {}, async (page) =>
    page.on("request", (request) => urls.add(request.url())),
  );
  await chat.online();
  for (const [name, { most, go }] of Object.entries(views)) {
    const before = new Set(urls);
    await go(chat);
    let bytes = 0;
    const loaded = [...urls].filter((one) => /\/assets\/(?!highlight-)/.test(one) && !before.has(one));
    for (const url of loaded) bytes += await sent(url);
    console.log(`${name}: ${bytes} bytes`);
    assert.ok(bytes > 500 && bytes <= most, `${name} loads ${bytes} bytes, ${most} are allowed`);
  }
});

const words = [
  "A **story** of a frog, who said:\n\n",
  "1. one `word`\n2. two *words*\n\n",
  "| a | b |\n|---|---|\n| 1 | 2 |\n\n",
  "```go\nfunc main() { println(1) }\n```\n\n",
  "Plain text goes on and on, as it does in stories about frogs and ponds.\n\n",
];

/** Streams words for so long at the rate, as a model would: a few letters at a time. */
async function tell(stream: PlayedStream, seconds: number): Promise<void> {
  const pieces = words.join("").match(/[\s\S]{1,4}/g) ?? [];
  const begun = Date.now();
  for (let sent = 0; sent < rate * seconds; ) {
    const due = Math.min(rate * seconds, Math.floor(((Date.now() - begun) / 1000) * rate));
    while (sent < due) stream.token(pieces[sent++ % pieces.length] ?? "");
    await new Promise((next) => setTimeout(next, 5));
  }
  stream.end();
}

test("Page: a streaming answer leaves the browser time", { timeout: 3 * patience }, async () => {
  let lasts = 1; // seconds: that has each of the words
  const chat = await ChatPage.open(server.url, moving, (page) => play(page, (s) => void tell(s, lasts)));
  await chat.online();
  await chat.ask("Warm up."); // what is loaded once, such as the colours of code, is no work of streaming
  await chat.finished();
  lasts = seconds;
  const tasks = await tasksOf(chat.page, async () => {
    await chat.ask("Tell me a story.");
    await chat.finished();
  });
  const drawing = sum(await tasksOf(chat.page, () => drawAgain(chat))) / drawings;
  const busy = sum(tasks) / drawing;
  const long = tasks.filter((task) => task > longTask * drawing).map((task) => (task / drawing).toFixed(1));
  console.log(
    `${tasks.length} tasks, ${(sum(tasks) / 1000).toFixed(2)} s of ${seconds} s, ${busy.toFixed(0)} drawings of ` +
      `${drawing.toFixed(2)} ms; the longest ${(Math.max(...tasks) / drawing).toFixed(1)} drawings`,
  );
  assert.ok(tasks.length > rate, `the trace has only ${tasks.length} tasks`);
  assert.ok(
    long.length <= mostLongTasks,
    `tasks of over ${longTask} drawings of the answer: ${long.join(", ")}`,
  );
  assert.ok(busy < most, `the answer cost ${busy.toFixed(0)} drawings of it, ${most} are allowed`);
  assert.deepEqual(chat.complaints, []);
});

/** Draws the last answer anew, frame by frame. */
async function drawAgain(chat: ChatPage): Promise<void> {
  await chat.answers.last().evaluate(async (answer, times) => {
    const prose = answer.querySelector(".prose") ?? answer;
    const copy = prose.cloneNode() as Element;
    prose.after(copy);
    for (let n = 0; n < times; n++) {
      copy.replaceChildren(...(prose.cloneNode(true) as Element).childNodes);
      await new Promise(requestAnimationFrame);
    }
    copy.remove();
  }, drawings);
}

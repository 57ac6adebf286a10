// SPDX-License-Identifier: MIT

// How the page shows what comes over the WebSocket, with the host's part played by the test.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, BrowserContextOptions } from "playwright-core";
import { ChatPage, launch, patience } from "./browser.ts";
import { type PlayedStream, play } from "./play.ts";
import { Server } from "./server.ts";

let browser: Browser;
let server: Server;

before(async () => {
  browser = await launch();
  server = await Server.start();
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

function open(answer: (stream: PlayedStream) => void, options: BrowserContextOptions = {}) {
  return ChatPage.open(browser, server.url, options, (page) => play(page, answer));
}

function says(text: string) {
  return (stream: PlayedStream) => {
    for (const piece of text.match(/[\s\S]{1,5}/g) ?? []) stream.token(piece);
    stream.end({ usage: { prompt_tokens: 1, completion_tokens: 7 } });
  };
}

const hostile = `# Heading

**bold** <script>window.hit = 1</script>

<img src="x" onerror="window.hit = 2"> ![x](https://example.org/pixel.png)

[click](javascript:window.hit=3) <iframe src="javascript:window.hit=4"></iframe>

\`\`\`html
<script>window.hit = 5</script>
\`\`\`
`;

test("Page: Markdown is drawn, and nothing in it runs or loads", { timeout: 2 * patience }, async () => {
  const chat = await open(says(hostile));
  await chat.online();
  const loaded: string[] = [];
  chat.page.on("request", (request) => {
    if (!request.url().startsWith(`${server.url}/v1/`)) loaded.push(request.url());
  });
  await chat.ask(hostile); // a question is shown as it is
  const answer = await chat.finished();
  await answer.getByRole("heading", { name: "Heading" }).waitFor();
  assert.equal(await answer.locator("strong").innerText(), "bold");
  assert.equal(await chat.page.locator(".message :is(script, img, iframe)").count(), 0);
  assert.equal(await answer.locator("a").count(), 1, "only the image's address is a link");
  assert.match(await answer.locator("pre").innerText(), /<script>window.hit = 5/);
  assert.equal(await chat.page.evaluate("window.hit"), undefined);
  assert.deepEqual(loaded, []);
  assert.deepEqual(chat.complaints, []);
  await chat.close();
});

test("Page: a built page allows no inline script", { timeout: 2 * patience }, async () => {
  const chat = await open(says("x"));
  await chat.online();
  await chat.page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "window.hit = 1";
    document.body.append(script);
  });
  assert.equal(await chat.page.evaluate("window.hit"), undefined);
  assert.match(chat.complaints.join(), /Content Security Policy/);
  await chat.close();
});

test("Page: goes along with the answer only for a reader at its end", { timeout: 2 * patience }, async () => {
  let stream: PlayedStream | undefined;
  const chat = await open((played) => {
    stream = played;
  });
  const place = () => chat.page.locator("#scroller").evaluate((box) => box.scrollTop);
  const left = () =>
    chat.page.locator("#scroller").evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight);
  await chat.ask("Go on.");
  await chat.stop.waitFor();
  stream?.token("line\n\n".repeat(80));
  await chat.page.getByText("line").nth(79).waitFor();
  assert.ok((await left()) < 2, "it did not go along");

  await chat.page.locator("#scroller").evaluate((box) => box.scrollTo(0, 100));
  const latest = chat.page.getByRole("button", { name: "Latest" });
  await latest.waitFor();
  stream?.token("more\n\n".repeat(40));
  await chat.page.getByText("more").nth(39).waitFor({ state: "attached" });
  assert.equal(await place(), 100, "it took the reader away");
  await latest.click();
  assert.ok((await left()) < 2);
  stream?.end();
  await chat.finished();
  await chat.close();
});

test("Page: errors of a stream, of the connection, and frames nobody knows", {
  timeout: 2 * patience,
}, async () => {
  let end = () => {};
  const chat = await open((stream) => {
    stream.frame({ type: "news" } as never);
    stream.frame({ type: "error", error: { message: "the frame was too large" } });
    const error = { code: "queue_full", message: "too many requests are waiting" };
    end = () => stream.end({ reason: "error", error });
  });
  await chat.ask("Hello!");
  await chat.page.getByRole("alert").filter({ hasText: "the frame was too large" }).waitFor();
  end();
  const answer = await chat.finished();
  assert.match(await answer.innerText(), /too many requests are waiting[\s\S]*Wait a moment[\s\S]*Try again/);
  assert.deepEqual(chat.complaints, []);
  await chat.close();
});

test("Page: keys, copying, and messages that build on each other", { timeout: 2 * patience }, async () => {
  const requests: unknown[] = [];
  const chat = await open(
    (stream) => {
      requests.push(stream.request.messages);
      says("**Hello**")(stream);
    },
    { permissions: ["clipboard-read", "clipboard-write"] },
  );
  await chat.online();
  await chat.question.pressSequentially("one");
  await chat.question.press("Shift+Enter");
  await chat.question.pressSequentially("two");
  await chat.question.press("Enter");
  const answer = await chat.finished();
  await answer.getByRole("button", { name: "Copy" }).click();
  await answer.getByRole("button", { name: "Copied" }).waitFor();
  assert.equal(await chat.page.evaluate(() => navigator.clipboard.readText()), "**Hello**");
  await chat.ask("And?");
  await chat.finished();
  assert.deepEqual(requests.at(-1), [
    { role: "user", content: "one\ntwo" },
    { role: "assistant", content: "**Hello**" },
    { role: "user", content: "And?" },
  ]);
  assert.equal(await chat.answers.first().getByRole("button", { name: "Regenerate" }).count(), 0);
  await chat.close();
});

test("Page: fits a phone", { timeout: 2 * patience }, async () => {
  const chat = await open(says(`${"word".repeat(60)}\n\n    ${"code ".repeat(60)}`), {
    viewport: { width: 360, height: 640 },
    isMobile: true,
    hasTouch: true,
  });
  await chat.ask("w".repeat(300));
  await chat.finished();
  assert.equal(await chat.page.evaluate(() => document.documentElement.scrollWidth), 360);
  assert.equal(await chat.page.locator("#scroller").evaluate((box) => box.scrollWidth - box.clientWidth), 0);
  assert.ok((await chat.send.boundingBox())?.width, "the send button is out of sight");
  await chat.close();
});

// SPDX-License-Identifier: MIT

// How the page shows what comes over the WebSocket, with the host's part played by the test.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { BrowserContextOptions } from "playwright-core";
import { ChatPage, patience, useBrowser } from "./browser.ts";
import { type PlayedStream, play } from "./play.ts";
import { useServer } from "./server.ts";
import { seed, some } from "./steady.ts";

useBrowser();
const server = useServer();

function open(answer: (stream: PlayedStream) => void, options: BrowserContextOptions = {}) {
  return ChatPage.open(server.url, options, (page) => play(page, answer));
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

[click](javascript:window.hit=3) [data](data:text/html,<script>window.hit=6</script>) [own](v1/models) <iframe src="javascript:window.hit=4"></iframe>

\`\`\`html
<script>window.hit = 5</script>
\`\`\`
`;

test("Page: Markdown is drawn, and nothing in it runs or loads", { timeout: 2 * patience }, async () => {
  const chat = await open(says(hostile));
  await chat.online();
  const loaded: string[] = [];
  chat.page.on("request", (request) => {
    const url = request.url().replace(server.url, "");
    if (!/^\/(v1\/|assets\/(markdown(drawing)?|highlight|bidi)-|favicon)/.test(url)) loaded.push(url);
  });
  await chat.ask(hostile); // a question is shown as it is
  const answer = await chat.finished();
  await answer.getByRole("heading", { name: "Heading" }).waitFor();
  assert.equal(await answer.locator("strong").innerText(), "bold");
  assert.equal(await chat.page.locator(".message :is(script, img, iframe)").count(), 0);
  assert.equal(await answer.locator("a").count(), 1, "only the image's address is a link");
  await answer.locator("pre .hljs-tag").first().waitFor();
  assert.match(await answer.locator("pre").innerText(), /<script>window.hit = 5/);
  assert.equal(await chat.page.evaluate("window.hit"), undefined);
  assert.deepEqual(loaded, []);
  assert.deepEqual(chat.complaints, []);
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
});

test("Page: a press counts for its button, though that moves away under the pointer", {
  timeout: 2 * patience,
}, async () => {
  const streams: PlayedStream[] = [];
  const chat = await open((stream) => {
    streams.push(stream);
    stream.token("One line.");
    if (streams.length === 1) stream.end();
  });
  const { page } = chat;
  await chat.ask("Go on.");
  await (await chat.finished()).getByRole("button", { name: "Regenerate" }).click();
  await page.getByText("2 of 2").waitFor();
  await page.getByText("One line.").waitFor();
  const previous = page.getByRole("button", { name: "Previous version" });
  const press = async (meanwhile: () => Promise<unknown>) => {
    await previous.hover(); // waits until it stands still
    await page.mouse.down();
    await meanwhile();
    await page.mouse.up();
  };

  const { x = 0, y = 0 } = (await previous.boundingBox()) ?? {};
  await press(() => page.mouse.move(x, y - 200));
  await page.getByText("2 of 2").waitFor(); // it was taken back

  await press(async () => {
    streams[1]?.token("\n\nA line more.");
    await page.getByText("A line more.").waitFor();
    assert.ok(((await previous.boundingBox())?.y ?? 0) > y + 8, "it has moved");
  });
  await page.getByText("1 of 2").waitFor();
  streams[1]?.end();
  assert.deepEqual(chat.complaints, []);
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
  await chat.page.getByText("the frame was too large").waitFor();
  end();
  const answer = await chat.finished();
  assert.match(await answer.innerText(), /more requests than it can take; wait a moment[\s\S]*Try again/);
  assert.deepEqual(chat.complaints, []);
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
  const copied = answer.getByRole("button", { name: "Copied" }); // for two seconds
  await Promise.all([copied.waitFor(), answer.getByRole("button", { name: "Copy" }).click()]);
  assert.equal(await chat.page.evaluate(() => navigator.clipboard.readText()), "**Hello**");
  await chat.ask("And?");
  await chat.finished();
  assert.deepEqual(requests.at(-1), [
    { role: "user", content: "one\ntwo" },
    { role: "assistant", content: "**Hello**" },
    { role: "user", content: "And?" },
  ]);
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
});

test("Page: formulas, coloured code with a button, tables and tasks", { timeout: 2 * patience }, async () => {
  const text = `So $x^2$ and \\(\\sqrt[3]{y}\\), not $5 or $10.

$$
\\left(\\begin{array}{c} a \\\\ b \\end{array}\\right) \\phase{7} \\pmb{x} \\fcolorbox{red}{aqua}{A} \\widehat{abc}
$$

$\\nonsense$

\`\`\`python
def f(): return "x"
\`\`\`

| ${"wide | ".repeat(30)}
|${"---|".repeat(30)}
| ${"cell | ".repeat(30)}

- [x] done
- [ ] not yet
`;
  const chat = await open(says(text), { permissions: ["clipboard-read", "clipboard-write"] });
  await chat.ask("Show me.");
  const answer = await chat.finished();
  await answer.locator(".katex").nth(2).waitFor();
  assert.equal(await answer.locator(".katex").count(), 3);
  assert.match((await answer.locator(".math.failed").innerText()) ?? "", /nonsense/);
  assert.equal(
    await chat.page.evaluate(() => document.fonts.ready.then((fonts) => fonts.check("16px KaTeX_Main"))),
    true,
  );
  assert.match(await answer.locator(".prose > p").first().innerText(), /not \$5 or \$10\./);

  await answer.locator(".hljs-keyword", { hasText: "def" }).waitFor();
  assert.equal(await answer.locator(".code .head span").innerText(), "python");
  const code = answer.locator(".code");
  await Promise.all([
    code.getByRole("button", { name: "Copied" }).waitFor(),
    code.getByRole("button", { name: "Copy" }).click(),
  ]);
  assert.equal(await chat.page.evaluate(() => navigator.clipboard.readText()), 'def f(): return "x"\n');

  const table = answer.getByRole("region", { name: "Table" });
  assert.ok(await table.evaluate((box) => box.scrollWidth > box.clientWidth), "the table does not scroll");
  assert.equal(await chat.page.locator("#scroller").evaluate((box) => box.scrollWidth - box.clientWidth), 0);
  assert.equal(await answer.getByRole("checkbox", { name: "Done", exact: true }).isChecked(), true);
  assert.deepEqual(chat.complaints, [], "the page's policy was broken, or there was an error");
});

test("Page: reasoning is open while it grows, then folded; tool calls are shown", {
  timeout: 2 * patience,
}, async () => {
  let stream: PlayedStream | undefined;
  const chat = await open((played) => {
    stream = played;
  });
  await chat.ask("What is the weather in Bonn?");
  await chat.stop.waitFor();
  stream?.parts({ reasoning: "They want the **weather**." });
  const thoughts = chat.page.locator(".reasoning .prose");
  await thoughts.getByText("weather").waitFor();
  await chat.page.getByText("Thinking…").waitFor();
  stream?.parts({ content: "I shall look." });
  await thoughts.waitFor({ state: "detached" });
  const summary = chat.page.getByText(/Thought for [\d.]+ m?s/);
  await summary.click();
  await thoughts.getByText("weather").waitFor();
  const id = "call_1";
  stream?.parts({ calls: [{ index: 0, id, function: { name: "weather", arguments: '{"city":' } }] });
  stream?.parts({ calls: [{ index: 0, function: { arguments: '"Bonn\u202e"}' } }] });
  stream?.end({ reason: "tool_calls" });
  const answer = await chat.finished();
  const calls = answer.getByRole("list", { name: "Tool calls" });
  assert.match(await calls.innerText(), /Calls weather\s+\{\n {2}"city": "Bonn"\n\}/);
  assert.equal(await calls.locator("[data-name='U+202E']").count(), 1);
  assert.match(await answer.innerText(), /asks for a tool/);
  assert.equal(await answer.getByRole("button", { name: "Continue" }).count(), 0);
  assert.deepEqual(chat.complaints, []);
});

const endless: Record<string, string> = {
  "a megabyte without a space": "x".repeat(1 << 20),
  "a fence that never ends": `\`\`\`js\n${"let x = 1;\n".repeat(10_000)}`,
  "a huge table": `| a | b |\n|---|---|\n${"| 1 | 2 |\n".repeat(5_000)}`,
  "a table with many columns": `|${" a |".repeat(3000)}\n|${"---|".repeat(3000)}\n${`|${" 1 |".repeat(3000)}\n`.repeat(10)}`,
  "a long list": "- item\n".repeat(10_000),
  "deep quotes": `${">".repeat(20_000)} deep\n`.repeat(5),
  "deep lists": Array.from({ length: 400 }, (_, i) => `${"  ".repeat(i)}- x`).join("\n"),
  "emphasis marks": "*a **b _c ".repeat(20_000),
  brackets: "[![".repeat(30_000),
  formulas: "$x_1$ ".repeat(2000),
  "directions turned over": "\u202eabc \u2066def ".repeat(5000),
  "marks upon marks": `a${"\u0301".repeat(100_000)}`,
};

test("Page: hostile answers are drawn whole, and the page answers meanwhile", {
  timeout: 10 * patience,
}, async (t) => {
  t.diagnostic(`PENSTOCK_TEST_SEED=${seed} draws the same again`);
  let text = "";
  const chat = await open((stream) => {
    for (let at = 0; at < text.length; at += 4000) stream.token(text.slice(at, at + 4000));
    stream.token("\n\nThe end.");
    stream.end();
  });
  for (const [name, content] of some(endless, 2)) {
    text = content;
    await chat.page.getByRole("button", { name: "New chat" }).first().click();
    await chat.ask(name);
    await chat.page.getByRole("button", { name: "Add files" }).click({ trial: true });
    await chat.question.fill(`still here during ${name}`);
    const answer = await chat.finished();
    const drawn = await answer
      .locator(".prose")
      .evaluate((prose) => (prose.textContent ?? "").replace(/\W/g, "").length);
    const letters = text.replace(/\W/g, "").length;
    assert.ok(drawn >= letters, `of ${name} ${drawn} letters are drawn, not ${letters}`);
    assert.equal(await chat.question.inputValue(), `still here during ${name}`);
  }
  assert.equal(await chat.page.evaluate("window.hit"), undefined);
  assert.deepEqual(chat.complaints, []);
});

test("Page: of a long answer only the end is drawn again", { timeout: 4 * patience }, async () => {
  const parts = [
    "A paragraph of words that goes on and on. ".repeat(400),
    `\`\`\`go\n${"fmt.Println(1)\n".repeat(800)}\`\`\``,
    "1. An item of a list\n".repeat(600),
    `| a | b |\n|---|---|\n${"| one | two |\n".repeat(600)}`,
  ];
  const text = parts.join("\n\n");
  let stream: PlayedStream | undefined;
  const chat = await open((played) => {
    stream = played;
  });
  await chat.ask("Go on.");
  await chat.stop.waitFor();
  await chat.page.evaluate(() => {
    const worst = { removed: 0, draws: 0 };
    Object.assign(window, { worst });
    const log = document.querySelector(".message:last-child .prose");
    if (log === null) throw new Error("there is no answer");
    new MutationObserver((changes) => {
      const removed = changes.flatMap(({ removedNodes }) =>
        [...removedNodes].map((node) => node.textContent?.length ?? 0),
      );
      worst.removed = Math.max(
        worst.removed,
        removed.reduce((sum, length) => sum + length, 0),
      );
      worst.draws++;
    }).observe(log, { childList: true, subtree: true });
  });
  for (let at = 0; at < text.length; at += 200) {
    stream?.token(text.slice(at, at + 200));
    if (at % 2000 > 0) continue;
    const draws = (n: number) => (window as unknown as { worst: { draws: number } }).worst.draws > n;
    await chat.page.waitForFunction(draws, at / 2000);
  }
  stream?.end();
  await chat.finished();
  const worst = await chat.page.evaluate(
    () => (window as unknown as { worst: { removed: number; draws: number } }).worst,
  );
  assert.ok(worst.draws > 10, `it was drawn ${worst.draws} times`);
  assert.ok(worst.removed < 20_000, `${worst.removed} of ${text.length} letters were drawn again at once`);
});

test("Page: character references are read by the browser's own table", {
  timeout: 2 * patience,
}, async () => {
  const chat = await open(says("&copy; &notit; &amp;lt; &#x41; &hearts; &nonsense;"));
  await chat.ask("Hello!");
  const prose = (await chat.finished()).locator(".prose");
  assert.equal((await prose.innerText()).trim(), "© &notit; &lt; A ♥ &nonsense;");
});

// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { ChatPage, long, stored, useBrowser } from "./browser.ts";
import { useServer } from "./server.ts";

useBrowser();
const server = useServer({ context: 60_000, flags: ["--parallel", "2"] }); // two slots: each then has the whole context

/** A page with an answer that runs, and its controls. */
async function steer(): Promise<{ chat: ChatPage; page: Page }> {
  const chat = await ChatPage.open(server.url, {}, long(server, 50_000, { temperature: 1 }));
  await chat.ask("Tell me a story.");
  await chat.answers.getByText(/[1-9]\d* tokens?/).waitFor(); // else there is nothing to steer yet
  await chat.page.getByRole("button", { name: "Steer", exact: true }).click();
  return { chat, page: chat.page };
}

/**
 * Pauses the answer, and returns how many tokens it has once those that were on their way have
 * come.
 */
async function pause(page: Page): Promise<number> {
  await page.getByRole("button", { name: "Pause" }).click();
  await page.locator('[data-phase="paused"]').waitFor();
  for (let last = -1, same = 0; ; ) {
    await others(); // takes longer than a token; a browser on a busy machine may take longer still
    const words = await page.getByText(/Paused after [\d,]+ token/).textContent();
    const now = Number(/[\d,]+/.exec(words ?? "")?.[0].replaceAll(",", ""));
    same = now === last ? same + 1 : 0;
    if (same === 3) return now;
    last = now;
  }
}

/** As many other answers as there are slots. */
async function others(): Promise<void> {
  const body = JSON.stringify({
    messages: [{ role: "user", content: "Hello" }],
    max_tokens: 50,
    ignore_eos: true,
  });
  const init = { method: "POST", headers: { "Content-Type": "application/json" }, body };
  const answers = await Promise.all([1, 2].map(() => fetch(`${server.url}/v1/chat/completions`, init)));
  for (const answer of answers) assert.equal(answer.status, 200);
}

/** What the host says of an answer from its beginning, to another reader, who stops it. */
async function fromHost(stream: string): Promise<{ content: string; text: string; tokens: number }> {
  const reader = await ChatPage.open(server.url);
  const told = await reader.page.evaluate(async (name) => {
    const socket = new WebSocket(`${location.origin.replace("http", "ws")}/v1/ws`, "penstock.v1");
    const heard = { content: "", text: "", tokens: 0 };
    await new Promise<void>((resolve, reject) => {
      socket.onerror = () => reject(new Error("the host does not take the connection"));
      socket.onopen = () => {
        socket.send(JSON.stringify({ type: "attach", id: "a", stream: name, after: -1 }));
        socket.send(JSON.stringify({ type: "cancel", id: "a" }));
      };
      socket.onmessage = ({ data }) => {
        const frame = JSON.parse(data);
        if (frame.type === "token") {
          heard.text += frame.text;
          heard.tokens++;
        }
        if (frame.type === "rewound") {
          if (!heard.text.endsWith(frame.removed))
            reject(new Error("the text does not end with what is taken back"));
          heard.text = heard.text.slice(0, heard.text.length - frame.removed.length);
          heard.tokens -= frame.tokens;
        }
        if (frame.type === "parts")
          heard.content = (frame.reset ? "" : heard.content) + (frame.content ?? "");
        if (frame.type === "error") reject(new Error(frame.error.message));
        if (frame.type === "end") resolve();
      };
    });
    socket.close();
    return heard;
  }, stream);
  await reader.close();
  return told;
}

test("Steering: a paused answer stands still, gives up its slot, and outlives a reload", async () => {
  const { chat, page } = await steer();
  const tokens = await pause(page);
  const { content } = await stored(page, (m) => m.answer?.tokens === tokens);
  await page.reload();
  await page.getByRole("button", { name: "Resume" }).waitFor();
  await page.getByText(`Paused after ${tokens.toLocaleString("en")} tokens`).waitFor();
  const again = await stored(page, (m) => m.answer?.phase === "paused");
  assert.equal(again.content, content, "it stood still");
  await page.getByRole("button", { name: "Resume" }).click();
  await page.locator('[data-phase="streaming"]').waitFor();
  await stored(page, (m) => m.content.length > content.length && m.content.startsWith(content));
  await chat.stop.click();
  await chat.finished();
  assert.deepEqual(chat.complaints, []);
});

test("Steering: what is taken back and put in is on the page exactly as on the host", async () => {
  const { chat, page } = await steer();
  const tokens = await pause(page);
  const before = await stored(page, (m) => m.answer?.tokens === tokens);
  await page.getByRole("button", { name: "Take back 5 tokens" }).click();
  const five = await stored(page, (m) => m.answer?.tokens === tokens - 5);
  await stored(page, (m) => before.content.startsWith(m.content) && m.content.length < before.content.length);
  assert.equal(five.answer?.phase, "paused");
  await page.getByRole("button", { name: "Take back from", exact: false }).last().focus();
  for (const key of ["ArrowLeft", "ArrowLeft", "Enter"]) await page.keyboard.press(key);
  await stored(page, (m) => m.answer?.tokens === tokens - 8);
  await page.getByRole("textbox", { name: "Write into the answer" }).fill(" And then a *zebra* sang.");
  await page.keyboard.press("Enter");
  const sung = await stored(page, (m) => m.content.endsWith(" And then a *zebra* sang."));
  assert.equal(sung.answer?.phase, "paused", "it still stands");
  await page.locator(".prose", { hasText: "zebra" }).waitFor();
  await page.getByRole("slider", { name: "Temperature" }).fill("0");
  await stored(page, (m) => m.answer?.set?.temperature === 0);
  await page.getByRole("button", { name: "Resume" }).click();
  await page.locator('[data-phase="streaming"]').waitFor();
  const last = await pause(page);
  const { content, answer } = await stored(page, (m) => m.answer?.tokens === last);
  assert.ok(content.startsWith(sung.content));
  await chat.close();
  const host = await fromHost(answer?.stream ?? "");
  assert.equal(host.content, content);
  assert.equal(host.tokens, answer?.tokens);
  assert.deepEqual(chat.complaints, []);
});

test("Steering: the controls stay where they are while text grows, and insert a word with its space", async () => {
  const { chat, page } = await steer();
  const place = async (name: string) =>
    (await page.getByRole("button", { name, exact: true }).boundingBox())?.y;
  await page.getByRole("button", { name: "Pause" }).waitFor();
  const { content } = await stored(page, (m) => m.content !== "");
  const before = [await place("Steer"), await place("Pause")];
  await stored(page, (m) => m.content.length > content.length + 2000);
  assert.deepEqual([await place("Steer"), await place("Pause")], before);
  await pause(page);
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByRole("button", { name: "Pause" }).waitFor();
  await pause(page);
  const last = await stored(page, (m) => m.answer?.phase === "paused" && m.content.length > content.length);
  await page.getByRole("textbox", { name: "Write into the answer" }).fill("zebra");
  await page.keyboard.press("Enter");
  await stored(page, (m) => m.content.endsWith(/\s$/.test(last.content) ? "zebra" : " zebra"));
  await chat.stop.first().click();
  await chat.finished();
  assert.deepEqual(chat.complaints, []);
});

test("Steering: a fork goes on beside its source", async () => {
  const { chat, page } = await steer();
  const tokens = await pause(page);
  const source = await stored(page, (m) => m.answer?.tokens === tokens);
  await page.getByRole("button", { name: "Fork" }).click();
  const pair = page.getByRole("region", { name: "Two versions of this answer" });
  await pair.getByRole("article").nth(1).waitFor();
  assert.equal(await pair.getByRole("article").count(), 2);
  const [left, right] = await pair
    .getByRole("article")
    .evaluateAll((answers) => answers.map((answer) => answer.getBoundingClientRect().left));
  assert.ok((left ?? 0) < (right ?? 0), "they stand beside each other");
  await pair.getByRole("button", { name: "Show one of them" }).press("Enter");
  await pair.waitFor({ state: "detached" });
  await page.getByText("2 of 2").waitFor();
  await page.locator('[data-phase="streaming"]').waitFor();
  const fork = await stored(page, (m) => m.id !== source.id && m.content.length > source.content.length);
  assert.ok(fork.content.startsWith(source.content));
  assert.notEqual(fork.answer?.seed, source.answer?.seed);
  await page.getByRole("button", { name: "Previous version" }).click(); // it moves while the fork is written
  await page.getByText("1 of 2").waitFor();
  await page.getByRole("button", { name: "Resume" }).click();
  await server.runs(2);
  const stop = page.getByRole("region", { name: "Steer this answer" }).getByRole("button", { name: "Stop" });
  await stop.click();
  await chat.finished();
  await page.getByRole("button", { name: "Next version" }).click();
  await stop.click();
  await chat.finished();
  await server.runs(0);
  assert.deepEqual(chat.complaints, []);
});

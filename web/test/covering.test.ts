// SPDX-License-Identifier: MIT

// Nothing covers the text of a chat, and no button moves from under the pointer.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { ChatPage, patience, useBrowser } from "./browser.ts";
import { type PlayedStream, play } from "./play.ts";
import { useServer } from "./server.ts";
import { sizes } from "./sizes.ts";

const options = { timeout: 3 * patience };

useBrowser();
const server = useServer();

/** The lines of the chat's text over which something else lies. */
function covered(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const lines: string[] = [];
    for (const text of document.querySelectorAll(".prose > *, .question p")) {
      const range = document.createRange();
      range.selectNodeContents(text);
      for (const { left, right, top, bottom } of range.getClientRects())
        for (const x of [left + 2, (left + right) / 2, right - 2])
          for (const y of [top + 3, bottom - 3]) {
            const seen = document.elementFromPoint(x, y);
            if (
              seen !== null &&
              seen.closest("#scroller") !== null &&
              !text.contains(seen) &&
              !seen.contains(text)
            )
              lines.push(`${text.textContent?.slice(0, 20)} under ${seen.outerHTML.slice(0, 60)}`);
          }
    }
    return [...new Set(lines)];
  });
}

const narrow = { viewport: { width: 500, height: 700 } };

for (const [size, device] of Object.entries({ ...sizes, narrow })) {
  test(`Page: nothing covers the text of a chat (${size})`, options, async () => {
    const chat = await ChatPage.open(server.url, device, (page) =>
      play(page, (stream) => {
        stream.token("Short.");
        stream.end({ usage: { prompt_tokens: 1, completion_tokens: 2 } });
      }),
    );
    const { page } = chat;
    const questions = [
      "One?",
      "Two words that go on for so long that they take more than a line. ".repeat(3),
      "Three?",
    ];
    for (const [n, question] of questions.entries()) {
      await chat.ask(question);
      await chat.answers.nth(n).waitFor();
      await chat.finished();
    }
    await page.locator("#scroller").evaluate((box) => box.scrollTo(0, 0));
    for (const message of await page.locator(".message").all()) {
      if (device !== sizes.phone) await message.hover();
      await message.getByRole("button").last().focus();
      assert.deepEqual(await covered(page), []);
    }
    assert.deepEqual(chat.complaints, []);
  });
}

test("Page: a second click on Regenerate regenerates again", options, async () => {
  const streams: PlayedStream[] = [];
  const chat = await ChatPage.open(server.url, {}, (page) => play(page, (stream) => streams.push(stream)));
  const { page } = chat;
  const answer = async (n: number) => {
    await chat.answers.waitFor();
    while (streams[n] === undefined) await page.waitForTimeout(10);
    streams[n]?.token("One line.");
    streams[n]?.end({
      usage: { prompt_tokens: 1, completion_tokens: n + 1 },
      timings: { predicted_per_second: 10 ** n },
    });
    await chat.finished();
  };
  await chat.ask("Go on.");
  await answer(0);
  const box = await chat.answers.getByRole("button", { name: "Regenerate" }).boundingBox();
  assert.ok(box);
  for (const n of [1, 2]) {
    await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
    await answer(n);
    await page.getByText(`${n + 1} of ${n + 1}`).waitFor();
  }
  assert.deepEqual(chat.complaints, []);
});

test("Page: the way between the versions stays under the pointer", options, async () => {
  const lengths = [60, 1, 30, 4];
  let at = 0;
  const chat = await ChatPage.open(server.url, {}, (page) =>
    play(page, (stream) => {
      stream.token("A line.\n\n".repeat(lengths[at++] ?? 1));
      stream.end();
    }),
  );
  const { page } = chat;
  for (const [n, question] of ["Go on.", "And more."].entries()) {
    await chat.ask(question);
    await chat.answers.nth(n).waitFor();
    await chat.finished();
  }
  for (const n of [2, 3]) {
    await chat.answers.last().getByRole("button", { name: "Regenerate" }).click();
    await page.getByText(`${n} of ${n}`).waitFor();
    await chat.finished();
  }
  const previous = chat.answers.last().getByRole("button", { name: "Previous version" });
  const { x = 0, y = 0, width = 0, height = 0 } = (await previous.boundingBox()) ?? {};
  for (const n of [2, 1]) {
    await page.mouse.click(x + width / 2, y + height / 2);
    await page.getByText(`${n} of 3`).waitFor();
    await page.evaluate(
      () => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))),
    );
  }
  assert.deepEqual(chat.complaints, []);
});

test("Page: a double click on Send does not stop the answer", options, async () => {
  const streams: PlayedStream[] = [];
  const chat = await ChatPage.open(server.url, {}, (page) => play(page, (stream) => streams.push(stream)));
  await chat.online();
  await chat.question.fill("Go on.");
  await chat.send.dblclick();
  await chat.stop.waitFor();
  await chat.page.locator('.answer[data-phase="waiting"], .answer[data-phase="streaming"]').waitFor();
  streams[0]?.token("One line.");
  await chat.page.getByText("One line.").waitFor();
  streams[0]?.end();
  await chat.finished();
  assert.equal(await chat.page.getByText("stopped").count(), 0);
  assert.deepEqual(chat.complaints, []);
});

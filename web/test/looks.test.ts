// SPDX-License-Identifier: MIT

// What a reader sees at once, and what only when asked for; in three sizes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ChatPage, patience, useBrowser, words } from "./browser.ts";
import { play } from "./play.ts";
import { useServer } from "./server.ts";
import { sizes } from "./sizes.ts";

useBrowser();
const server = useServer({ context: 60_000 });

const timings = { predicted_per_second: 71.4, queued_ms: 0 };
const usage = { prompt_tokens: 12, completion_tokens: 7 };

for (const [size, options] of Object.entries(sizes)) {
  test(`Page: one quiet figure, no holes, and toasts beside the question (${size})`, {
    timeout: 3 * patience,
  }, async () => {
    const chat = await ChatPage.open(server.url, options, (page) =>
      play(page, (stream) => {
        stream.token("An answer.");
        stream.end({ usage, timings });
      }),
    );
    const { page } = chat;
    await chat.online();
    for (const [n, question] of ["One?", "Two?"].entries()) {
      await chat.question.fill(question);
      await chat.send.click();
      await chat.answers.nth(n).waitFor();
      await chat.finished();
    }
    const last = chat.answers.last();
    assert.match(await last.innerText(), /71\.4 tokens\/s/);
    assert.doesNotMatch(await last.innerText(), /first after/);
    await last.locator(".figures summary").click();
    await last.getByText(/7 tokens · 71\.4 tokens\/s · first after/).waitFor();
    assert.match(await words(chat.answers.first()), /first after/);

    await page.mouse.move(1, 1);
    const bottom = (await chat.answers.first().locator(".prose").boundingBox()) ?? { y: 0, height: 0 };
    const next = (await page.getByRole("region", { name: "Your message" }).last().boundingBox()) ?? { y: 0 };
    const hole = next.y - bottom.y - bottom.height;
    const touch = options.hasTouch === true; // there the tools are always there
    assert.ok(touch || hole < 48, `a hole of ${hole} pixels`);

    await last.getByRole("button", { name: "Delete" }).click();
    const toast = page.locator(".toast");
    await toast.waitFor();
    await toast.evaluate((box) => Promise.all(box.getAnimations().map(({ finished }) => finished)));
    const covers = (one: { x: number; y: number; width: number; height: number } | null, other: typeof one) =>
      one !== null &&
      other !== null &&
      one.y < other.y + other.height &&
      other.y < one.y + one.height &&
      one.x < other.x + other.width &&
      other.x < one.x + one.width;
    const box = await toast.boundingBox();
    assert.equal(
      covers(box, await page.locator(".composer").boundingBox()),
      false,
      "it covers the message field",
    );
    const questions = page.getByRole("region", { name: "Your message" });
    assert.equal(
      covers(box, await questions.last().locator(".question").boundingBox()),
      false,
      "it covers the question",
    );
    assert.deepEqual(chat.complaints, []);
  });
}

test("Page: the welcome names the model and offers real tasks", { timeout: 2 * patience }, async () => {
  const chat = await ChatPage.open(server.url);
  await chat.online();
  const welcome = chat.page.locator(".welcome");
  await welcome.getByText(/^tiny answers: 1\.6 million parameters, a context of [\d,]+ tokens\.$/).waitFor();
  assert.equal(await welcome.getByText(/frog/).count(), 0);
  await welcome.getByRole("button", { name: /table/ }).waitFor();
  await welcome.getByText(/how each word was chosen/).waitFor();
});

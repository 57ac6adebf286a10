// SPDX-License-Identifier: MIT

// Asking while an answer runs, asking again, and what was asked.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ChatPage, patience, useBrowser } from "./browser.ts";
import { type PlayedStream, play } from "./play.ts";
import { useServer } from "./server.ts";
import { devices } from "./sizes.ts";
import { some } from "./steady.ts";

useBrowser();
const server = useServer();

/** A page whose answers the test plays, one after the other. */
async function played(options = {}) {
  const streams: PlayedStream[] = [];
  const chat = await ChatPage.open(server.url, options, (page) =>
    play(page, (stream) => streams.push(stream)),
  );
  await chat.online();
  const stream = async (n: number) => {
    for (const end = Date.now() + patience; streams[n] === undefined && Date.now() < end; )
      await chat.page.waitForTimeout(20);
    const found = streams[n];
    assert.ok(found, `there is no answer ${n}`);
    return found;
  };
  return { chat, streams, stream };
}

for (const [size, options] of some(devices, 1)) {
  test(`Page: a question that is asked while an answer runs is queued, visibly (${size})`, {
    timeout: 3 * patience,
  }, async () => {
    const { chat, streams, stream } = await played(options);
    const submit = async (text: string, name: string) => {
      await chat.question.fill(text);
      if (size === "desktop") await chat.question.press("Enter");
      else await chat.page.getByRole("button", { name, exact: true }).tap();
    };
    await submit("One?", "Send");
    (await stream(0)).token("first");
    if (size === "desktop") await chat.page.getByText(/Enter queues.*Esc stops/).waitFor();
    await submit("Two?", "Queue");
    const queued = chat.page.getByRole("region", { name: "Your next question" });
    await queued.getByText("Two?").waitFor();
    assert.equal(await chat.question.inputValue(), "");
    assert.equal(streams.length, 1);
    await queued.getByRole("button", { name: "Edit" }).click();
    assert.equal(await chat.question.inputValue(), "Two?");
    await submit("Two, please?", "Queue");
    await queued.waitFor();
    streams[0]?.end();
    (await stream(1)).token("second");
    assert.deepEqual(streams[1]?.request.messages, [
      { role: "user", content: "One?" },
      { role: "assistant", content: "first" },
      { role: "user", content: "Two, please?" },
    ]);
    assert.equal(await queued.count(), 0);
    await submit("Three?", "Queue");
    await queued.getByText("Three?").waitFor();
    streams[1]?.end({ reason: "error", error: { message: "no" } });
    await queued.getByText("Not sent").waitFor();
    assert.equal(streams.length, 2, "nothing is asked below an answer that failed");
    await queued.getByRole("button", { name: "Send now" }).click();
    (await stream(2)).end();
    assert.deepEqual(chat.complaints, []);
  });
}

test("Page: a question whose only answer was deleted can be answered again", {
  timeout: 2 * patience,
}, async () => {
  const { chat, stream } = await played();
  await chat.ask("One?");
  (await stream(0)).token("first");
  (await stream(0)).end();
  await (await chat.finished()).getByRole("button", { name: "Delete" }).click();
  await chat.page.getByRole("button", { name: "Answer", exact: true }).click();
  (await stream(1)).token("again");
  (await stream(1)).end();
  await chat.page.getByText("again", { exact: true }).waitFor();
});

test("Page: a long question is folded, and its files can be opened", { timeout: 2 * patience }, async () => {
  const { chat, stream } = await played();
  const file = { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("What the notes say.") };
  await chat.page.locator('input[type="file"][aria-label="Files"]').setInputFiles(file);
  await chat.page.getByText("notes.txt").waitFor();
  await chat.ask("A line of the question.\n".repeat(60));
  (await stream(0)).end();
  const question = chat.page.getByRole("region", { name: "Your message" });
  const height = async () => (await question.boundingBox())?.height ?? 0;
  await question.getByRole("button", { name: "Show all" }).waitFor();
  assert.ok((await height()) < 400, "it is not folded");
  await question.getByRole("button", { name: "Show all" }).press("Enter");
  await question.getByRole("button", { name: "Show less" }).waitFor();
  assert.ok((await height()) > 1000, "it is not whole");
  await question.getByRole("button", { name: "notes.txt" }).click();
  const dialog = chat.page.getByRole("dialog", { name: "notes.txt" });
  await dialog.getByText("What the notes say.").waitFor();
  await chat.page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
});

test("Page: environments of LaTeX and footnotes are drawn", { timeout: 2 * patience }, async () => {
  const { chat, stream } = await played();
  await chat.ask("Show me.");
  const text = `So[^1] it is:

\\begin{align}
a &= b \\\\
c &= d
\\end{align}

\\begin{cases} x \\\\ y \\end{cases}

\\begin{nonsense} z \\end{nonsense}

[^1]: As *Euler* says.
[^why]: word
`;
  for (const piece of text.match(/[\s\S]{1,7}/g) ?? []) (await stream(0)).token(piece);
  (await stream(0)).end();
  const answer = await chat.finished();
  await answer.locator(".katex-display").nth(1).waitFor();
  assert.equal(await answer.locator(".katex-display").count(), 2);
  assert.equal(await answer.locator(".math.failed").count(), 0);
  const note = answer.locator(".footnote").first();
  assert.equal(await note.innerText(), "As Euler says.");
  assert.equal(await answer.locator(".footnote").count(), 2);
  await answer.getByRole("button", { name: "Footnote 1" }).press("Enter");
  await note.and(chat.page.locator(":focus")).waitFor();
});

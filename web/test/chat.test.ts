// SPDX-License-Identifier: MIT

// The page in a real browser against the real host and the built-in model.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ChatPage, long, patience, stored, useBrowser, withSettings, words } from "./browser.ts";
import { useServer } from "./server.ts";

const endless = 50_000; // tokens, which take many seconds

useBrowser();
const server = useServer({ context: 60_000 });

test("Page: an answer arrives token by token", { timeout: 3 * patience }, async () => {
  const chat = await ChatPage.open(server.url, {}, long(server, 900)); // a third of a second: a busy browser draws a few times meanwhile
  await chat.watchLengths();
  await chat.ask("Tell me a story about a frog.");
  await chat.growing(3);
  const answer = await chat.finished();
  await chat.onlyGrew();
  assert.match(
    await words(answer),
    /900 tokens · [\d.,]+ tokens\/s · first after [\d.]+ m?s · cut at the token limit/,
  );
  await answer.getByText(/\d %/).waitFor(); // how full the context is
  assert.deepEqual(chat.complaints, []);
});

test("Page: a story ends by itself and can be told again", { timeout: 3 * patience }, async () => {
  const chat = await ChatPage.open(server.url);
  await chat.ask("Tell me a story about a frog.");
  const answer = await chat.finished();
  assert.match(await words(answer), /frog[\s\S]*\d+ tokens/);
  await answer.getByRole("button", { name: "Regenerate" }).click();
  await chat.finished();
  assert.equal(await chat.answers.count(), 1);
});

for (const [name, stop] of [
  ["the button", (chat: ChatPage) => chat.stop.click()],
  ["Escape", (chat: ChatPage) => chat.page.keyboard.press("Escape")],
] as const) {
  test(`Page: ${name} stops an answer in its middle`, { timeout: 3 * patience }, async () => {
    const chat = await ChatPage.open(server.url, {}, long(server, endless));
    await chat.watchLengths();
    await chat.ask("Tell me a story.");
    await chat.growing(3);
    await stop(chat);
    const answer = await chat.finished();
    const facts = await words(answer);
    assert.match(facts, /stopped/);
    const tokens = Number(/([\d,]+) tokens? ·/.exec(facts)?.[1]?.replaceAll(",", ""));
    assert.ok(tokens > 0 && tokens < endless, `the host made ${tokens} tokens`);
    await server.runs(0);
    const length = (await answer.locator(".prose").textContent())?.length;
    await chat.ask("What is a token?"); // the next answer is a new one
    await chat.stop.click();
    await chat.finished();
    assert.equal((await chat.answers.first().locator(".prose").textContent())?.length, length);
    assert.deepEqual(chat.complaints, []);
  });
}

test("Page: a new chat leaves the answers of others running, and each chat its draft", {
  timeout: 3 * patience,
}, async () => {
  const chat = await ChatPage.open(server.url, {}, long(server, endless));
  await chat.watchLengths();
  await chat.ask("Tell me a story.");
  await chat.growing(2);
  await chat.question.fill("for later");
  await chat.page.getByRole("button", { name: "New chat" }).click();
  await chat.page.getByRole("heading", { name: "What shall we talk about?" }).waitFor();
  assert.equal(await chat.answers.count(), 0);
  assert.equal(await chat.question.inputValue(), "");
  await server.runs(1);
  await chat.page.goBack();
  await chat.stop.waitFor();
  assert.equal(await chat.question.inputValue(), "for later");
  await chat.stop.click();
  assert.match(await words(await chat.finished()), /stopped/);
  await server.runs(0);
  assert.deepEqual(chat.complaints, []);
});

test("Page: a stopped answer goes on where it ended, as the same message", {
  timeout: 3 * patience,
}, async () => {
  const chat = await ChatPage.open(server.url, {}, long(server, endless));
  await chat.watchLengths();
  await chat.ask("Tell me a story about a frog.");
  await chat.growing(3);
  await chat.stop.click();
  const answer = await chat.finished();
  // As it was written: what is drawn of its end may change, since a star there is a star until
  // another makes both emphasis.
  const { content } = await stored(chat.page, (m) => m.answer?.phase === "done");
  const before = content.trimEnd();
  await answer.getByRole("button", { name: "Continue" }).click();
  await chat.page.waitForFunction(
    (length) => (document.querySelector(".answer .prose")?.textContent?.length ?? 0) > length + 200,
    before.length,
  );
  await chat.stop.click();
  await chat.finished();
  const longer = await stored(
    chat.page,
    (m) => m.answer?.phase === "done" && m.content.length > before.length + 100,
  );
  assert.ok(longer.content.startsWith(before), "what was there is no more");
  assert.equal(await chat.answers.count(), 1);
  assert.equal(await answer.getByRole("button", { name: "Next version" }).count(), 0);
  assert.deepEqual(chat.complaints, []);
});

test("Page: questions and answers have versions to walk between, and can be deleted", {
  timeout: 3 * patience,
}, async () => {
  const chat = await ChatPage.open(server.url, {}, withSettings({ sampling: { max_tokens: 8 } }));
  const { page } = chat;
  await chat.ask("Tell me a story about a frog.");
  let answer = await chat.finished();
  await answer.getByRole("button", { name: "Regenerate" }).click();
  await page.getByText("2 of 2").waitFor();
  answer = await chat.finished();
  await answer.getByRole("button", { name: "Previous version" }).click();
  await page.getByText("1 of 2").waitFor();
  await page.locator('button[aria-label="Previous version"]:focus').waitFor(); // a frame after it is drawn
  await page.keyboard.press("ArrowRight"); // the focus stays on the buttons of the message
  await page.getByText("2 of 2").waitFor();
  await page.locator('button[aria-label="Next version"]:focus').waitFor();
  await page.keyboard.press("ArrowLeft");
  await page.getByText("1 of 2").waitFor();
  await page.locator('button[aria-label="Previous version"]:focus').waitFor();

  await chat.question.focus();
  await page.keyboard.press("ArrowUp");
  const editor = page.getByRole("textbox", { name: "Edit your message" });
  assert.equal(await editor.inputValue(), "Tell me a story about a frog.");
  await editor.fill("Give me four planets.");
  await editor.press("Enter");
  await page.getByText("Give me four planets.", { exact: true }).first().waitFor();
  await chat.finished();
  assert.equal(await chat.question.evaluate((field) => field === document.activeElement), true);
  const asked = page.getByRole("region", { name: "Your message" });
  await asked.getByRole("button", { name: "Previous version" }).click();
  await page.getByText("1 of 2").nth(1).waitFor(); // of the answers too

  await chat.finished();
  await chat.answers.last().getByRole("button", { name: "Edit" }).click();
  await page.getByRole("textbox", { name: "Edit the answer" }).fill("Once upon a");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("3 of 3").waitFor();
  await page.getByText("written by you").waitFor();
  await chat.answers.last().getByRole("button", { name: "Continue" }).click();
  await page.getByText(/^8 tokens /).waitFor({ state: "attached" });
  answer = await chat.finished();
  assert.match((await answer.locator(".prose").textContent()) ?? "", /^Once upon a \S/);

  await answer.getByRole("button", { name: "Delete" }).click();
  await page.getByText("2 of 2").waitFor();
  await asked.getByRole("button", { name: "Delete" }).click();
  await page.getByText("Give me four planets.").first().waitFor();
  assert.equal(await asked.getByRole("button", { name: "Next version" }).count(), 0);
  assert.deepEqual(chat.complaints, []);
});

test("Page: text files go with the question, others are refused in words", {
  timeout: 3 * patience,
}, async () => {
  const chat = await ChatPage.open(server.url, {}, withSettings({ sampling: { max_tokens: 8 } }));
  const { page } = chat;
  await chat.online();
  const pick = async (files: { name: string; mimeType: string; buffer: Buffer }[]) => {
    const chooser = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "Add files" }).click();
    await page.getByRole("menuitem", { name: "Text, PDF and office files" }).click();
    await (await chooser).setFiles(files);
  };
  const mimeType = "text/plain";
  await pick([
    { name: "notes.txt", mimeType, buffer: Buffer.from("Frogs are green.") },
    { name: "more.md", mimeType, buffer: Buffer.from("# More") },
    { name: "photo.png", mimeType: "image/png", buffer: Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1]) },
    { name: "large.log", mimeType, buffer: Buffer.alloc(1_100_000, "x") },
  ]);
  const alert = page.getByRole("alert").filter({ hasText: "photo.png" });
  await alert.waitFor();
  assert.match(await alert.innerText(), /cannot see pictures[\s\S]*large.log was not added: it has 1 MB/);
  await page.getByRole("button", { name: "Remove more.md" }).click();
  await page.getByText("more.md").waitFor({ state: "detached" });

  const dropped = await page.evaluateHandle(() => {
    const data = new DataTransfer();
    data.items.add(new File(["dropped words"], "dropped.txt", { type: "text/plain" }));
    return data;
  });
  await page.dispatchEvent("#scroller", "dragover", { dataTransfer: dropped });
  await page.getByText("Drop files to add them").waitFor();
  await page.dispatchEvent("#scroller", "drop", { dataTransfer: dropped });
  await page.getByText("dropped.txt").waitFor();
  await chat.question.evaluate((field, data) => {
    field.dispatchEvent(
      new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }),
    );
  }, dropped); // the same file is there once
  await chat.question.fill("What colour are frogs?");
  await chat.question.press("Enter");
  await chat.finished();
  const question = page.getByRole("region", { name: "Your message" });
  await question.getByText("dropped.txt").waitFor();
  assert.deepEqual(await question.getByRole("listitem").allInnerTexts(), [
    "notes.txt\n16 B",
    "dropped.txt\n13 B",
  ]);
  assert.equal(await alert.count(), 0);
  assert.deepEqual(chat.complaints, []);
});

test("Page: two pages are answered at the same time", { timeout: 3 * patience }, async () => {
  const pages = await Promise.all([1, 2].map(() => ChatPage.open(server.url, {}, long(server, endless))));
  for (const chat of pages) await chat.watchLengths();
  for (const chat of pages) await chat.ask("Tell me a story about an owl.");
  for (const chat of pages) await chat.growing(3);
  await server.runs(2);
  for (const chat of pages) {
    await chat.stop.click();
    assert.match(await words(await chat.finished()), /stopped/);
    await chat.close();
  }
});

test("Page: what the host refuses is shown with what to do", { timeout: 3 * patience }, async () => {
  const chat = await ChatPage.open(server.url, {}, withSettings({ sampling: { temperature: 1e9 } }));
  await chat.ask("Hello!");
  const answer = await chat.finished();
  assert.match(await answer.innerText(), /Temperature[\s\S]*Open Settings[\s\S]*Try again/);
  await answer.getByRole("button", { name: "Try again" }).click();
  await chat.page.getByText("2 of 2").waitFor();
  assert.match(await (await chat.finished()).innerText(), /Temperature/);
  assert.deepEqual(chat.complaints, []);
});

// SPDX-License-Identifier: MIT

// The chats that the browser keeps: their list, search, names, files, and the ways to them by
// keyboard and on a phone.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { archive, importFile } from "./archive.ts";
import { ChatPage, chooseFrom, long, patience, useBrowser, withSettings } from "./browser.ts";
import { useServer } from "./server.ts";
import { phone } from "./sizes.ts";
import { sum, tasksOf } from "./tasks.ts";

const options = { timeout: 3 * patience };
const short = withSettings({ sampling: { max_tokens: 12, seed: 3 } });

useBrowser();
const server = useServer({ context: 60_000 });

test("Page: chats are kept, renamed, deleted and brought back", options, async () => {
  const chat = await ChatPage.open(server.url, {}, short);
  const { page } = chat;
  for (const question of ["Hello!", "Good morning!"]) {
    if (question !== "Hello!") await page.getByRole("button", { name: "New chat" }).click();
    await chat.ask(question);
    await chat.finished();
  }
  const answer = await chat.answers.last().locator(".prose").textContent();
  await page.reload();
  await page.getByRole("region", { name: "Today" }).waitFor();
  await chat.finished();
  assert.equal(
    await chat.answers.last().locator(".prose").textContent(),
    answer,
    "the chat of the address is shown",
  );

  await chooseFrom(page, "Actions for Hello!", "Rename");
  await page.getByLabel("Name of the chat").fill("Greetings");
  await page.keyboard.press("Enter");
  const link = page.getByRole("link", { name: "Greetings" });
  await link.waitFor();
  await page.waitForFunction(() => document.activeElement?.textContent === "Greetings");
  await page.keyboard.press("F2");
  await page.getByLabel("Name of the chat").fill("Never mind");
  await page.keyboard.press("Escape");
  await link.click();
  await page.waitForFunction(() => document.title === "Greetings · Penstock");

  await chooseFrom(page, "Actions for Greetings", "Delete");
  await page.getByRole("heading", { name: "New chat" }).waitFor();
  assert.equal(await link.count(), 0);
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByRole("heading", { name: "Greetings" }).waitFor();
  await chooseFrom(page, "Actions for Greetings", "Delete");
  await link.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Undo" }).waitFor(); // comes once the store has forgotten it
  await page.reload();
  await page.getByRole("link", { name: "Good morning!" }).waitFor();
  assert.equal(await link.count(), 0);
  assert.deepEqual(chat.complaints, []);
});

test("Page: an answer goes on in a chat that is not shown, and the list says so", options, async () => {
  const chat = await ChatPage.open(server.url, {}, long(server, 50_000));
  const { page } = chat;
  await chat.watchLengths();
  await chat.ask("Tell me a story.");
  await chat.growing(2);
  await page.getByRole("button", { name: "New chat" }).click();
  const entry = page.getByRole("listitem").filter({ hasText: "Tell me a story." });
  await entry.getByRole("img", { name: "Answering" }).waitFor();
  await server.runs(1);
  await entry.getByRole("link").click();
  await chat.stop.click();
  await chat.finished();
  await entry.getByRole("img", { name: "Answering" }).waitFor({ state: "detached" });
  assert.deepEqual(chat.complaints, []);
});

test("Page: hundreds of chats are searched in titles and texts", options, async () => {
  const chat = await ChatPage.open(server.url);
  const { page } = chat;
  await importFile(page, archive(400, 1000));
  await page.getByText("400 chats are imported.").waitFor();
  assert.equal(await page.getByRole("region", { name: "Yesterday" }).getByRole("link").count(), 1);
  const search = page.getByRole("searchbox", { name: "Search chats" });
  await search.fill("naive NEEDLE399");
  const hit = page.locator(".result");
  await hit.waitFor();
  assert.equal(await hit.count(), 1);
  assert.match(await hit.innerText(), /Chat number 399[\s\S]*Naïve/);
  assert.equal(await hit.locator("mark").innerText(), "Naïve");
  await search.fill("number 39");
  await page.getByText("14 chats").waitFor();
  await search.pressSequentially("8"); // 398
  await page.getByText("1 chat", { exact: true }).waitFor();
  await search.fill("nothing has this");
  await page.getByText("No chat has these words.").waitFor();
  await search.fill("needle7.");
  await hit.getByRole("link").click();
  await page.getByText("Question 7", { exact: true }).waitFor();
  await page.locator("#question:focus").waitFor();
  await search.fill("question 398"); // above the answer, at whose end a chat is opened
  await hit.filter({ hasText: "Chat number 398" }).getByRole("link").click();
  await page.waitForFunction(() => {
    const asked = [...document.querySelectorAll(".question")].find((q) => q.textContent === "Question 398");
    const { top = -1, bottom = -1 } = asked?.getBoundingClientRect() ?? {};
    return top >= 0 && bottom <= innerHeight;
  });
  assert.deepEqual(chat.complaints, []);
});

test("Page: what is exported can be imported, and overwrites nothing", options, async () => {
  const chat = await ChatPage.open(server.url, {}, short);
  const { page } = chat;
  await chat.ask("Hello <b>there</b>!");
  await chat.finished();
  const saved = async (menu: string, item: string) => {
    const [download] = await Promise.all([page.waitForEvent("download"), chooseFrom(page, menu, item)]);
    return { name: download.suggestedFilename(), text: readFileSync(await download.path(), "utf8") };
  };
  const all = await saved("More", "Export all chats");
  assert.equal(all.name, "penstock chats.json");
  const one = await saved("Actions for Hello <b>there</b>!", "Export as JSON");
  assert.deepEqual(JSON.parse(one.text).chats, JSON.parse(all.text).chats);
  assert.equal(JSON.parse(one.text).version, 1);
  const markdown = await saved("Actions for Hello <b>there</b>!", "Export as Markdown");
  assert.match(
    markdown.text,
    /^# Hello <b>there<\/b>!\n\n## Question\n\nHello <b>there<\/b>!\n\n## Answer of tiny\n\n\S/,
  );

  const file = { name: "all.json", mimeType: "application/json", buffer: Buffer.from(all.text) };
  await importFile(page, file);
  await page.getByRole("link", { name: "Hello <b>there</b>! (copy)" }).click();
  await page.getByRole("heading", { name: "Hello <b>there</b>! (copy)" }).waitFor();
  await chat.finished();
  await page.getByRole("link", { name: "Hello <b>there</b>!", exact: true }).click();
  await chat.finished();
  assert.equal(await chat.answers.count(), 1);

  const elsewhere = await ChatPage.open(server.url);
  await elsewhere.page.locator(".chats").evaluate((list, text) => {
    const dropped = new DataTransfer();
    dropped.items.add(new File([text], "all.json"));
    list.dispatchEvent(new DragEvent("drop", { dataTransfer: dropped, bubbles: true, cancelable: true }));
  }, all.text);
  await elsewhere.page.getByRole("link", { name: "Hello <b>there</b>!" }).click();
  await elsewhere.finished();
  assert.deepEqual([...chat.complaints, ...elsewhere.complaints], []);
  await elsewhere.close();
});

test("Page: a file that is no export is refused in words", options, async () => {
  const chat = await ChatPage.open(server.url);
  const { page } = chat;
  for (const [text, want] of [
    ["<html>", /^bad\.json is no export of chats: it is no JSON: /],
    [
      '{"conversations":[]}',
      /: neither Penstock, ChatGPT, Open WebUI, llama-server nor LM Studio writes such a file/,
    ],
    ['{"penstock":"chats","version":9,"chats":[]}', /a newer Penstock wrote it/],
    [
      '{"penstock":"chats","version":1,"chats":[{"id":"a","messages":[{"id":"b","role":"user","content":5}]}]}',
      /chats\[0\]\.messages\[0\]\.content must be a text/,
    ],
  ] as const) {
    await importFile(page, { name: "bad.json", mimeType: "application/json", buffer: Buffer.from(text) });
    await page.locator(".toast").filter({ hasText: want }).waitFor();
  }
  assert.equal(await page.locator(".entry").count(), 0);
  assert.deepEqual(chat.complaints, []);
});

test("Page: importing 50 MB does not freeze it", options, async () => {
  const chat = await ChatPage.open(server.url);
  const { page } = chat;
  // In the page, since a file of that size does not go through Playwright.
  await page.getByLabel("Import chats").evaluate((input: HTMLInputElement) => {
    const message = { id: "q", parent: null, role: "user", created: 1, content: "0123456789".repeat(25_000) };
    const chats = Array.from({ length: 210 }, (_, at) => ({
      id: `big${at}`,
      title: `Big ${at}`,
      messages: [message],
    }));
    const files = new DataTransfer();
    files.items.add(new File([JSON.stringify({ penstock: "chats", version: 1, chats })], "big.json"));
    if ((files.files[0]?.size ?? 0) < 50e6) throw new Error("the file is too small");
    input.files = files.files;
  });
  const tasks = await tasksOf(page, async () => {
    await page.getByLabel("Import chats").dispatchEvent("change");
    await page.getByText("210 chats are imported.").waitFor();
  });
  const longest = Math.max(0, ...tasks);
  console.log(
    `${tasks.length} tasks of ${sum(tasks).toFixed(0)} ms, the longest of ${longest.toFixed(0)} ms`,
  );
  assert.ok(longest < sum(tasks) / 4, `the longest task takes ${longest} of ${sum(tasks)} ms`);
  assert.deepEqual(chat.complaints, []);
});

test("Page: keys lead everywhere, and type where something is typed", options, async () => {
  const chat = await ChatPage.open(server.url, {}, short);
  const { page } = chat;
  await importFile(page, archive(3));
  await page.getByText("3 chats are imported.").waitFor();
  await chat.question.focus();
  await page.keyboard.type("bjk?/");
  assert.equal(await chat.question.inputValue(), "bjk?/", "letters are typed");
  await page.keyboard.press("Control+/");
  const help = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await help.waitFor();
  await page.keyboard.press("Escape");
  await help.waitFor({ state: "detached" });
  await chat.question.fill("");
  const leaveField = async () => {
    await page.waitForFunction(() => document.activeElement?.id === "question"); // a chat that is shown has the focus there
    await page.keyboard.press("Escape");
  };
  await leaveField();
  for (const [key, name] of [
    ["j", "Chat number 0"],
    ["j", "Chat number 1"],
    ["k", "Chat number 0"],
  ] as const) {
    await page.keyboard.press(key);
    await page.getByRole("heading", { name }).waitFor();
    await leaveField();
  }
  await page.keyboard.press("b");
  await page.getByRole("navigation").waitFor({ state: "detached" });
  await page.keyboard.press("/");
  await page.keyboard.type("number 2");
  await page.locator(".result").getByRole("link", { name: "Chat number 2" }).focus();
  await page.keyboard.press("m");
  await page.waitForFunction(() => document.activeElement?.id === "question");
  await page.keyboard.press("Escape");
  await page.keyboard.press("s");
  await page.getByRole("complementary", { name: "Settings" }).waitFor();
  await page.keyboard.press("s");
  await page.keyboard.press("?");
  await help.getByLabel("Single keys are shortcuts").uncheck();
  await page.keyboard.press("Escape");
  await page.keyboard.press("n");
  assert.equal(
    await page.getByRole("heading", { name: "Chat number 0" }).count(),
    1,
    "letters are switched off",
  );
  assert.deepEqual(chat.complaints, []);
});

test("Page: a chat that is deleted by a key leaves the focus to the next", options, async () => {
  const chat = await ChatPage.open(server.url, {}, short);
  const { page } = chat;
  await importFile(page, archive(2));
  await page.getByText("2 chats are imported.").waitFor();
  const link = (name: string) => page.getByRole("navigation").getByRole("link", { name });
  for (const name of ["Chat number 0", "Chat number 1"]) {
    await link(name).focus();
    await page.keyboard.press("Delete");
    await link(name).waitFor({ state: "detached" });
    assert.notEqual(await page.evaluate(() => document.activeElement?.tagName), "BODY");
  }
  assert.deepEqual(chat.complaints, []);
});

test("Page: Back and Forward lead through chats and views as the reader went", options, async () => {
  const chat = await ChatPage.open(server.url, {}, short);
  const { page } = chat;
  await importFile(page, archive(2));
  await page.getByText("2 chats are imported.").waitFor();
  const at = (name: string) => page.getByRole("banner").getByRole("heading", { name }).waitFor();
  const way = ["Chat number 0", "Plugins", "Chat number 1"];
  for (const name of way) {
    await page.getByRole("navigation").getByRole("link", { name }).click();
    await at(name);
  }
  for (const name of way.slice(0, -1).reverse()) {
    await page.goBack();
    await at(name);
  }
  for (const name of way.slice(1)) {
    await page.goForward();
    await at(name);
  }
  assert.deepEqual(chat.complaints, []);
});

test("Page: on a phone the sidebar covers the chat and keeps the focus", options, async () => {
  const chat = await ChatPage.open(server.url, phone, short);
  const { page } = chat;
  await chat.ask("Hello!");
  await chat.finished();
  const fits = () => page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth);
  assert.ok(await fits(), "the page is wider than the phone");
  const open = page.getByRole("button", { name: "Open the sidebar" });
  const sidebar = page.getByRole("dialog", { name: "Chats and views" });
  await open.click();
  await sidebar.waitFor();
  for (let presses = 0; presses < 20; presses++) {
    await page.keyboard.press("Tab");
    const inside = await page.evaluate(
      () => document.activeElement === document.body || document.activeElement?.closest("dialog") !== null,
    );
    assert.ok(inside, "the focus left the sidebar");
  }
  assert.ok(await fits(), "the page is wider than the phone");
  await page.keyboard.press("Escape");
  await sidebar.waitFor({ state: "detached" });
  assert.ok(await open.evaluate((button) => button === document.activeElement), "the focus is lost");
  await open.click();
  await sidebar.getByRole("button", { name: "Close the sidebar" }).click();
  await sidebar.waitFor({ state: "detached" });
  assert.ok(await open.evaluate((button) => button === document.activeElement), "the focus is lost");
  await open.click();
  await sidebar.waitFor();
  await page.mouse.click(350, 400); // beside it
  await sidebar.waitFor({ state: "detached" });
  await open.click();
  await sidebar.getByRole("link", { name: "Hello!" }).click();
  await sidebar.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Settings", exact: true }).click();
  await page
    .getByRole("dialog", { name: "Settings" })
    .getByRole("button", { name: "Close Settings" })
    .click();
  assert.deepEqual(chat.complaints, []);
});

test("Page: a theme is kept, and is there before the page is drawn", options, async () => {
  const chat = await ChatPage.open(server.url, { colorScheme: "light" });
  const { page } = chat;
  const paper = () =>
    page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue("--paper"));
  const light = await paper();
  await page.emulateMedia({ colorScheme: "dark" });
  const dark = await paper();
  assert.notEqual(light, dark);
  await page.getByRole("radio", { name: "Light" }).check({ force: true });
  assert.equal(await paper(), light);
  await page.getByRole("radio", { name: "Dark" }).check({ force: true });
  await page.emulateMedia({ colorScheme: "light" });
  const bars = page.locator('meta[name="theme-color"]');
  assert.deepEqual(await bars.evaluateAll((metas) => metas.map((meta) => meta.getAttribute("content"))), [
    dark,
    dark,
  ]);
  await page.route(/assets\/index-.*\.js$/, (route) => route.abort()); // nothing is drawn
  await page.reload();
  assert.equal(await paper(), dark);
  await page.unrouteAll();
  await page.reload();
  await page.getByRole("radio", { name: "As the system" }).check({ force: true });
  assert.equal(await paper(), light);
});

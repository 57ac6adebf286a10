// SPDX-License-Identifier: MIT

// The page in the reader's language.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { ChatPage, patience, stored, useBrowser, withSettings } from "./browser.ts";
import { play } from "./play.ts";
import { useServer } from "./server.ts";
import { phone } from "./sizes.ts";

useBrowser();
const server = useServer();

const welcomes = {
  en: "What shall we talk about?",
  de: "Worum soll es gehen?",
  "zh-Hans": "想聊些什么？",
};

/** Notes each welcome that the page draws. */
function noteWelcomes(page: Page): Promise<unknown> {
  return page.addInitScript(() => {
    const seen: string[] = [];
    Object.assign(window, { welcomes: seen });
    new MutationObserver(() => {
      const said = document.querySelector(".welcome h2")?.textContent ?? "";
      if (said !== "" && said !== seen.at(-1)) seen.push(said);
    }).observe(document, { childList: true, subtree: true, characterData: true });
  });
}

function languageOf({ page }: ChatPage): Promise<string> {
  return page.evaluate(() => document.documentElement.lang);
}

for (const [locale, language, begin, more, rename] of [
  ["de-AT", "de", "Neuer Chat", "Mehr", "Umbenennen"],
  ["zh-CN", "zh-Hans", "新对话", "更多", "重命名"],
  ["zh-TW", "en", "New chat", "More", "Rename"],
  ["fr", "en", "New chat", "More", "Rename"],
] as const) {
  test(`Language: a browser of ${locale} sees ${language} from the first view on`, {
    timeout: 2 * patience,
  }, async () => {
    const chat = await ChatPage.open(server.url, { locale }, async (page) => {
      await noteWelcomes(page);
      await play(page, (stream) => {
        stream.token("Hello.");
        stream.end();
      });
    });
    const { page } = chat;
    await page.locator(".welcome").waitFor();
    assert.equal(await languageOf(chat), language);
    await page.getByRole("button", { name: begin, exact: true }).waitFor();
    assert.deepEqual(await page.evaluate(() => (window as unknown as { welcomes: string[] }).welcomes), [
      welcomes[language],
    ]);
    await chat.online();
    await page.locator("#question").fill("Hello?");
    await page.locator("#question").press("Enter");
    await page.locator('.message[data-phase="done"]').waitFor();
    const menu = page.locator(".entry").getByRole("button");
    await menu.click();
    await page.getByRole("menuitem", { name: rename, exact: true }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: more, exact: true }).click();
    assert.deepEqual(chat.complaints, []);
  });
}

test("Language: the choice outlasts a reload, and can be taken back", {
  timeout: 2 * patience,
}, async () => {
  const chat = await ChatPage.open(server.url, { locale: "en-GB" });
  const { page } = chat;
  const says = (language: keyof typeof welcomes) =>
    page.getByRole("heading", { name: welcomes[language] }).waitFor();
  await says("en");
  await page.getByRole("combobox", { name: "Language" }).selectOption("Deutsch");
  await says("de");
  await page.reload();
  await says("de");
  assert.equal(await languageOf(chat), "de");
  await page.getByRole("combobox", { name: "Sprache" }).selectOption("Automatisch");
  await says("en");
  assert.equal(await page.evaluate(() => localStorage.getItem("penstock.language")), null);
  assert.deepEqual(chat.complaints, []);
});

test("Language: without its table the page speaks English, and works", {
  timeout: 2 * patience,
}, async () => {
  const chat = await ChatPage.open(server.url, { locale: "de-DE" }, async (page) => {
    await page.route(/\/assets\/de-[^/]*\.js$/, (route) => route.abort());
    await play(page, (stream) => {
      stream.token("Still here.");
      stream.end();
    });
  });
  await chat.page.getByRole("heading", { name: welcomes.en }).waitFor();
  assert.equal(await languageOf(chat), "en");
  await chat.ask("Are you there?");
  assert.match(await (await chat.finished()).innerText(), /Still here\./);
  assert.deepEqual(chat.complaints, []);
});

test("Language: a chat that was held in one reads right in another", { timeout: 2 * patience }, async () => {
  const chat = await ChatPage.open(server.url, { locale: "de-DE" }, (page) =>
    play(page, (stream) => {
      stream.token("An answer.");
      const { length } = stream.request.messages;
      if (length === 1) stream.end({ reason: "length" });
      else stream.end({ reason: "error", error: { code: "unknown_stream", message: "unknown" } });
    }),
  );
  const { page } = chat;
  const answers = page.locator(".message.answer");
  await chat.online();
  for (const [n, said] of ["am Token-Limit abgeschnitten", "Er wurde neu gestartet"].entries()) {
    await page.locator("#question").fill("Go on.");
    await page.locator("#question").press("Enter");
    await answers.nth(n).getByText(said).first().waitFor({ state: "attached" });
  }
  await page.getByText("Heute", { exact: true }).waitFor();
  const kept = await stored(page, ({ answer }) => answer?.outcome?.error !== undefined);
  assert.equal(kept.answer?.outcome?.error?.message, "", "the browser keeps words");

  await page.getByRole("combobox", { name: "Sprache" }).selectOption("English");
  for (const [n, said] of ["cut at the token limit", "it was restarted"].entries())
    await answers.nth(n).getByText(said).first().waitFor({ state: "attached" });
  await page.getByText("Today", { exact: true }).waitFor();
  assert.deepEqual(chat.complaints, []);
});

test("Language: what a worker reads is told of in it", { timeout: 2 * patience }, async () => {
  const chat = await ChatPage.open(server.url, { locale: "de-DE" });
  const { page } = chat;
  const give = (name: string, content: string) =>
    page
      .getByLabel("Chats importieren")
      .setInputFiles({ name, mimeType: "application/json", buffer: Buffer.from(content) });
  await give("leer.json", "{}");
  await page.getByText("leer.json ist kein Export von Chats: solche Dateien schreiben weder").waitFor();
  await give("alt.json", JSON.stringify({ penstock: "chats", version: 1, chats: [] }));
  await page.getByText("0 Chats sind importiert.").waitFor();
  assert.deepEqual(chat.complaints, []);
});

/** What of the page scrolls sideways, but for what is meant to, such as code and tables. */
function sideways({ page }: ChatPage): Promise<string[]> {
  return page.evaluate(() => {
    for (const part of document.querySelectorAll("details")) part.open = true;
    return [...document.querySelectorAll("*")]
      .filter((element) => element.scrollWidth > element.clientWidth)
      .filter(
        (element) =>
          element === document.documentElement || /auto|scroll/.test(getComputedStyle(element).overflowX),
      )
      .filter((element) => element.closest("pre, .table, .scroll, .tree, .ways, .code-frame") === null)
      .map(({ tagName, className, scrollWidth }) => `${tagName}.${className}: ${scrollWidth}`);
  });
}

const views: Record<string, (chat: ChatPage) => Promise<unknown>> = {
  welcome: (chat) => chat.page.locator(".welcome").waitFor(),
  chat: async ({ page }) => {
    await page.locator("#question").fill("Give me four planets.");
    await page.locator('.composer button[type="submit"]').tap();
    await page.locator('.message[data-phase="done"]').waitFor();
  },
  inspector: async ({ page }) => {
    await page.locator('.message.answer [data-icon="inspect"]').tap();
    await page.locator(".drawer [role=option]").first().waitFor();
  },
  settings: async ({ page }) => {
    await page.locator(".drawer > header button").tap();
    await page.locator('header.bar [data-icon="settings"]').tap();
    await page.locator(".settings-foot").waitFor();
  },
  models: async ({ page }) => {
    await page.goto(`${server.url}/#/models`);
    await page.locator("main.models").waitFor();
  },
  plugins: async ({ page }) => {
    await page.goto(`${server.url}/#/plugins`);
    await page.locator("main.plugins").waitFor();
  },
  live: async ({ page }) => {
    await page.goto(`${server.url}/#/live`);
    await page.locator("main.live").waitFor();
  },
};

for (const locale of ["de-DE", "zh-CN"])
  test(`Language: no view of ${locale} is wider than a phone`, { timeout: 3 * patience }, async () => {
    const chat = await ChatPage.open(
      server.url,
      { ...phone, locale },
      withSettings({ trace: true, sampling: { temperature: 0, max_tokens: 16 } }),
    );
    await chat.online();
    for (const [name, go] of Object.entries(views)) {
      await go(chat);
      assert.deepEqual(await sideways(chat), [], name);
    }
    assert.deepEqual(chat.complaints, []);
  });

// SPDX-License-Identifier: MIT

// Nothing scrolls but what is meant to, in every view and size.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ChatPage, patience, useBrowser, withSettings } from "./browser.ts";
import { type PlayedStream, play } from "./play.ts";
import { useServer } from "./server.ts";
import { phone, sizes } from "./sizes.ts";

useBrowser();
const server = useServer();

const longAnswer = (stream: PlayedStream) => {
  stream.token("A line of a long answer.\n\n".repeat(60));
  stream.end();
};

/** How far the document reaches beyond the window, and how far it is scrolled. */
function beyond({ page }: ChatPage): Promise<number> {
  return page.evaluate(() => {
    const { scrollHeight, scrollTop } = document.documentElement;
    return Math.max(scrollHeight, document.body.scrollHeight) - innerHeight + scrollTop + window.scrollY;
  });
}

const views: Record<string, (chat: ChatPage) => Promise<unknown>> = {
  welcome: (chat) => chat.online(),
  chat: async (chat) => {
    await chat.ask("Go on.");
    await chat.finished();
    await chat.ask("And on.");
    await chat.answers.nth(1).waitFor();
    await chat.finished();
  },
  "the end, with no field focused": async (chat) => {
    await chat.page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
    await chat.page.keyboard.press("End");
    await chat.page.mouse.move(200, 20);
    await chat.page.mouse.wheel(0, 2000);
  },
  "settings, the last part": async (chat) => {
    await chat.page.getByRole("button", { name: "Settings", exact: true }).click();
    const foot = chat.page.locator(".settings-foot");
    await foot.waitFor();
    await foot.scrollIntoViewIfNeeded();
    await foot.evaluate((element) => element.scrollIntoView());
  },
  "settings, JSON": async (chat) => {
    await chat.page.getByRole("radio", { name: "JSON schema" }).check();
    assert.equal(await beyond(chat), 0);
    await chat.page.getByRole("button", { name: "Close Settings" }).click();
  },
  plugins: async (chat) => {
    await chat.page.goto(`${server.url}/#/plugins`);
    await chat.page.locator("main.plugins").waitFor();
  },
  live: async (chat) => {
    await chat.page.goto(`${server.url}/#/live`);
    await chat.page.locator("main.live").waitFor();
  },
};

for (const [size, options] of Object.entries(sizes)) {
  test(`Page: the document is as high as the window (${size})`, { timeout: 4 * patience }, async () => {
    const chat = await ChatPage.open(server.url, options, async (page) => {
      await withSettings({ format: { kind: "text" } })(page);
      await play(page, longAnswer);
    });
    for (const [name, go] of Object.entries(views)) {
      await go(chat);
      assert.equal(await beyond(chat), 0, name);
    }
    assert.deepEqual(chat.complaints, []);
  });
}

test("Page: a table keeps its words whole, and <br> in a cell breaks the line", {
  timeout: 2 * patience,
}, async () => {
  const head = "| Measurement | Responsibility | Interoperability | Characteristics |\n|---|---|---|---|\n";
  const text = `${head}| first<br>second | ${"internationalisation ".repeat(6)}| x | \`a<br>b\` |\n`;
  const chat = await ChatPage.open(server.url, {}, (page) =>
    play(page, (stream) => {
      stream.token(text);
      stream.end();
    }),
  );
  await chat.ask("A table.");
  const answer = await chat.finished();
  assert.equal(await answer.locator("td br").count(), 1);
  assert.equal(await answer.locator("td code").innerText(), "a<br>b");
  for (const [size, { viewport }] of Object.entries(sizes)) {
    await chat.page.setViewportSize(viewport);
    const heights = await answer.locator("th").evaluateAll((cells) =>
      cells.map((cell) => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        return range.getClientRects().length;
      }),
    );
    assert.deepEqual(heights, [1, 1, 1, 1], `${size}: each heading is one line`);
    assert.equal(await beyond(chat), 0, size);
  }
});

test("Page: a reader within a long chat keeps what is read when the settings open and close", {
  timeout: 2 * patience,
}, async () => {
  const words = "All of these words take several lines, and more of them where the text is narrower. ";
  const paragraphs = Array.from({ length: 60 }, (_, i) => `Number ${i}: ${words.repeat(4)}`);
  const chat = await ChatPage.open(server.url, {}, (page) =>
    play(page, (stream) => {
      stream.token(paragraphs.join("\n\n"));
      stream.end();
    }),
  );
  const { page } = chat;
  await chat.ask("Go on.");
  await chat.finished();
  const scroller = page.locator("#scroller");
  const read = page.getByText("Number 30:");
  const place = () =>
    read.evaluate((paragraph) => {
      const box = document.querySelector("#scroller");
      return paragraph.getBoundingClientRect().top - (box?.getBoundingClientRect().top ?? 0);
    });
  const settings = page.getByRole("button", { name: "Settings", exact: true });
  await page.evaluate(() => document.fonts.ready.then(() => {}));
  // Chromium keeps the place by itself, and Safari does not.
  await scroller.evaluate((box) => box.style.setProperty("overflow-anchor", "none"));
  await scroller.evaluate((box, by) => box.scrollBy(0, by), await place());
  await page.getByRole("button", { name: "Latest" }).waitFor(); // the page has seen it
  const wide = await scroller.evaluate((box) => box.clientWidth);
  const before = await place();
  assert.ok(Math.abs(before) < 2, `it begins ${before} pixels below the top`);
  for (const action of ["open", "close"]) {
    await settings.click();
    await page.waitForFunction(
      ([width, opens]) => {
        const box = document.querySelector("#scroller");
        return box !== null && (opens ? box.clientWidth < width : box.clientWidth === width);
      },
      [wide, action === "open"] as const,
    );
    await page.evaluate(
      () => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))),
    );
    const moved = (await place()) - before;
    assert.ok(Math.abs(moved) < 2, `to ${action} the settings moved it by ${moved} pixels`);
  }
  assert.deepEqual(chat.complaints, []);
});

test("Page: on a phone Enter breaks the line, and what a finger is to hit is large", {
  timeout: 3 * patience,
}, async () => {
  const chat = await ChatPage.open(server.url, phone, (page) => play(page, longAnswer));
  await chat.online();
  await chat.question.pressSequentially("one");
  await chat.question.press("Enter");
  await chat.question.pressSequentially("two");
  assert.equal(await chat.question.inputValue(), "one\ntwo");
  await chat.send.tap();
  await chat.finished();
  const small = await chat.page.locator("button:visible, a:visible, select:visible").evaluateAll((targets) =>
    targets
      .map((target) => ({
        name: target.textContent || target.ariaLabel,
        box: target.getBoundingClientRect(),
      }))
      .filter(({ box }) => box.bottom > 0 && (box.width < 44 || box.height < 44))
      .map(({ name, box }) => `${name}: ${box.width} x ${box.height}`),
  );
  assert.deepEqual(small, []);
  const names = await chat.page.locator(".asked .action").allInnerTexts();
  assert.notEqual(names.indexOf("Delete"), names.indexOf("Edit") + 1, "Delete stands beside Edit");
});

test("Page: what is read from right to left stands on that side", { timeout: 2 * patience }, async () => {
  const hebrew = "שלום עולם";
  const text = `- ${hebrew}\n- ${hebrew}\n\n> ${hebrew}\n\n| ${hebrew} | שם |\n|---|---|\n| א | ב |\n\n- left\n`;
  const chat = await ChatPage.open(server.url, {}, (page) =>
    play(page, (stream) => {
      stream.token(text);
      stream.end();
    }),
  );
  await chat.ask(`${hebrew} `.repeat(12).trim());
  const answer = await chat.finished();
  const direction = (selector: string) =>
    answer
      .locator(selector)
      .first()
      .evaluate((element) => getComputedStyle(element).direction);
  for (const selector of ["ul", "blockquote", "table"])
    assert.equal(await direction(selector), "rtl", selector);
  assert.equal(
    await answer
      .locator("ul")
      .last()
      .evaluate((list) => getComputedStyle(list).direction),
    "ltr",
  );
  const [first, second] = await answer
    .locator("th")
    .evaluateAll((cells) => cells.map((cell) => cell.getBoundingClientRect().left));
  assert.ok((first ?? 0) > (second ?? 0), "the first column is on the right");
  const title = chat.page.locator(".entry .name").first();
  assert.equal(
    await title.evaluate((name) => getComputedStyle(name).direction),
    "rtl",
    "its end is cut, not its beginning",
  );
  await chat.question.fill(hebrew);
  assert.equal(await chat.question.evaluate((field) => getComputedStyle(field).direction), "rtl");
});

test("Page: the welcome begins at its top in a small window", { timeout: 2 * patience }, async () => {
  const chat = await ChatPage.open(server.url, { viewport: { width: 360, height: 480 } });
  await chat.online();
  await chat.page.getByRole("complementary", { name: "This is the small demonstration model" }).waitFor();
  assert.equal(await chat.page.locator("#scroller").evaluate((box) => box.scrollTop), 0);
});

test("Page: opening the settings keeps the place that is read", { timeout: 3 * patience }, async () => {
  const paragraphs = Array.from({ length: 80 }, (_, i) => `Paragraph ${i} ${"with many words ".repeat(20)}`);
  const chat = await ChatPage.open(server.url, {}, (page) =>
    play(page, (stream) => {
      stream.token(paragraphs.join("\n\n"));
      stream.end();
    }),
  );
  await chat.ask("Go on.");
  const answer = await chat.finished();
  const read = answer.locator("p", { hasText: /^Paragraph 40 / });
  await read.evaluate((paragraph) => paragraph.scrollIntoView());
  const top = async () => Math.round((await read.boundingBox())?.y ?? 0);
  const before = await top();
  await chat.page.getByRole("button", { name: "Latest" }).waitFor();
  await chat.page.getByRole("button", { name: "Settings", exact: true }).click();
  await chat.page.locator(".settings-foot").waitFor();
  await chat.page.waitForFunction(
    (width) => (document.querySelector("#scroller")?.clientWidth ?? width) < width,
    1000,
  );
  await chat.page.evaluate(
    () => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))),
  );
  assert.ok(Math.abs((await top()) - before) < 30, `it moved from ${before} to ${await top()}`);
});

// SPDX-License-Identifier: MIT

// axe-core on every view of the page, in both colour schemes and one of three sizes a day, and what
// is chosen in high contrast.
import assert from "node:assert/strict";
import { test } from "node:test";
import { findings } from "./axe.ts";
import { ChatPage, patience, useBrowser, withSettings } from "./browser.ts";
import { hooks, pluginModule, told } from "./module.ts";
import { useServer } from "./server.ts";
import { sizes } from "./sizes.ts";
import { some } from "./steady.ts";

const teller = { file: "teller.wasm", bytes: pluginModule({ name: "teller" }, hooks.telling) };
useBrowser();
const server = useServer({ plugins: ["banned-phrases", "multiple-choice", "llama3", teller] });

/** The way to each view, one after the other in the same chat. */
const views: Record<string, (chat: ChatPage) => Promise<unknown>> = {
  welcome: (chat) => chat.online(),
  chat: async (chat) => {
    await chat.ask("Write a Python function named square.");
    await chat.finished();
  },
  "values of a plugin": async (chat) => {
    const answer = await chat.finished();
    const values = answer.locator("pre", { hasText: "a token" });
    assert.equal(await values.isVisible(), false, "they are not folded away");
    await answer.getByText(/^\d+ values of teller$/).click();
    const first = `teller, after 1 token:\n${JSON.stringify(JSON.parse(told), null, 2)}`;
    assert.ok((await values.innerText()).startsWith(first));
  },
  inspector: async (chat) => {
    await chat.page.getByRole("button", { name: "Inspect" }).last().click();
    await chat.page.getByRole("region", { name: "Candidates" }).waitFor();
    await chat.page
      .getByText(/^plugin:banned-phrases took back/)
      .first()
      .waitFor();
    await chat.page.getByText("The answer in numbers").click();
    const drawer = chat.page.locator(".drawer");
    const wide = await drawer.evaluate((element) => element.scrollWidth - element.clientWidth);
    assert.ok(wide <= 0, `the inspector is ${wide} pixels too wide`);
  },
  settings: async (chat) => {
    await chat.page.getByRole("button", { name: "Close Inspector" }).click();
    await chat.page.getByRole("button", { name: "Settings", exact: true }).click();
    await chat.page.getByLabel("Instructions").waitFor();
  },
  advanced: async (chat) => {
    await chat.page.getByRole("heading", { name: "Advanced" }).click();
    await chat.page.getByRole("heading", { name: "Sampler chain" }).waitFor();
  },
  models: async (chat) => {
    await chat.page.goto(`${server.url}/#/models`);
    await chat.page.getByText("A question loads").waitFor();
  },
  plugins: async (chat) => {
    await chat.page.goto(`${server.url}/#/plugins`);
    await chat.page.getByText("banned-phrases").first().waitFor();
  },
  live: async (chat) => {
    await chat.page.goto(`${server.url}/#/live`);
    await chat.page.getByText("Slots").first().waitFor();
  },
};

const chosen =
  '[aria-current], [aria-pressed="true"], [aria-selected="true"], .pill:has(:checked), .themes label:has(:checked), .modes :checked + span';

/**
 * What cannot be told apart in high contrast: what is chosen without an outline, and bubbles
 * without a border.
 */
async function unmarked({ page }: ChatPage): Promise<{ chosen: number; bare: string[] }> {
  await page.emulateMedia({ forcedColors: "active" });
  const found = await page.evaluate(
    (chosen) =>
      [...document.querySelectorAll(`.question, ${chosen}`)]
        .filter((element) => element.checkVisibility())
        .map((element) => {
          const { outlineStyle, borderTopStyle } = getComputedStyle(element);
          return [element.matches(chosen) ? outlineStyle : borderTopStyle, element.outerHTML.slice(0, 150)];
        }),
    chosen,
  );
  await page.emulateMedia({ forcedColors: "none" });
  const bare = found.filter(([line]) => line === "none").map(([, html]) => html ?? "");
  return { chosen: found.length, bare };
}

for (const [size, options] of some(sizes, 1)) {
  test(`Page: axe finds nothing in any view (${size})`, { timeout: 6 * patience }, async () => {
    const chat = await ChatPage.open(
      server.url,
      options,
      withSettings({
        trace: true,
        sampling: { temperature: 0 },
        plugins: [{ name: "teller" }, { name: "banned-phrases", config: { phrases: ["square"] } }],
      }),
    );
    let marks = 0;
    for (const [name, go] of Object.entries(views)) {
      await go(chat);
      assert.deepEqual(await findings(chat.page), [], `${name}, ${size}`);
      const { chosen, bare } = await unmarked(chat);
      assert.deepEqual(bare, [], `${name}, ${size}, high contrast`);
      // A phone hides the list of chats, and so all that is chosen in some views.
      assert.ok(chosen > 0 || size === "phone", `${name}, ${size}: nothing is chosen`);
      marks += chosen;
      const width = await chat.page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(
        width <= (options.viewport?.width ?? 0),
        `${name}, ${size}: the page is ${width} pixels wide`,
      );
    }
    assert.ok(marks > 0, "nothing is chosen in any view");
    assert.deepEqual(chat.complaints, []);
  });
}

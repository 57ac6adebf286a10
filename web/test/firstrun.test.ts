// SPDX-License-Identifier: MIT

// What somebody sees who has just started Penstock: with the built-in model, with a model of their
// own, with several.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ChatPage, choose, patience, useBrowser, withSettings, words } from "./browser.ts";
import { useServer } from "./server.ts";

const options = { timeout: 3 * patience };
const short = withSettings({ sampling: { max_tokens: 8 } });
useBrowser();
const builtIn = useServer({ pair: true });
const vision = useServer({ flags: ["--model", "penstock-tiny-vision"] });
const own = useServer({ context: 60_000 });
const several = useServer({ models: ["apple", "pear"], flags: ["--admin-key", "secret"] });

test(
  "Page: the built-in model is called a demonstration, and the way to a real one can be copied",
  options,
  async () => {
    const permissions = ["clipboard-read", "clipboard-write"];
    const chat = await ChatPage.open(builtIn.url, { permissions }, short);
    const note = chat.page.getByRole("complementary", { name: "This is the small demonstration model" });
    await note.waitFor();
    await note.getByRole("button", { name: "Copy bin/penstock serve path/to/model.gguf" }).click();
    await note.getByText("Copied").waitFor();
    assert.equal(
      await chat.page.evaluate(() => navigator.clipboard.readText()),
      "bin/penstock serve path/to/model.gguf",
    );
    await note.getByRole("button", { name: /^Copy bin\/penstock serve .*models.sh smollm2/ }).waitFor();
    await note.getByRole("button", { name: /^Copy bin\/penstock model pull/ }).waitFor();
    await chat.page.getByRole("button", { name: "Give me four planets." }).click();
    await chat.finished();
    assert.equal(await note.count(), 0);
    assert.deepEqual(chat.complaints, []);
  },
);

test(
  "Page: the first question about a picture is answered by the built-in model that sees",
  options,
  async () => {
    const chat = await ChatPage.open(builtIn.url, {}, withSettings({ sampling: { temperature: 0 } }));
    await chat.online();
    await chat.page.getByRole("button", { name: "How many circles are there?" }).click();
    const answer = await chat.finished();
    assert.match(await words(answer), /There are three circles\..*penstock-tiny-vision/s);
    await chat.page.getByRole("img", { name: "drawing.png" }).waitFor();
    await chat.ask("What color is the square?"); // the picture stays in the chat, and so does the model
    await chat.answers.nth(1).waitFor();
    assert.match(await words(await chat.finished()), /The square is blue\..*penstock-tiny-vision/s);
    assert.deepEqual(chat.complaints, []);
  },
);

test("Page: who chooses the built-in model that sees is offered what it knows", options, async () => {
  const chat = await ChatPage.open(vision.url, {}, short);
  const { page } = chat;
  await page.getByText("It sees drawings of shapes and digits.").waitFor();
  assert.equal(await page.locator(".suggestions button").count(), 1);
  await page.getByRole("button", { name: "How many circles are there?" }).dblclick();
  assert.match(await words(await chat.finished()), /There are three circles\./);
  assert.equal(await chat.answers.count(), 1, "a double click asked twice");
  assert.deepEqual(chat.complaints, []);
});

test("Page: a model of one's own is no demonstration", options, async () => {
  const chat = await ChatPage.open(own.url);
  await chat.online();
  assert.equal(await chat.page.locator("#model").innerText(), "tiny");
  assert.equal(await chat.page.getByText("demonstration").count(), 0);
});

test("Page: with several models a chat has one of them", options, async () => {
  const chat = await ChatPage.open(several.url, {}, short);
  await chat.ask("Hello!"); // without choosing
  assert.match(await words(await chat.finished()), /\d+ tokens?/);
  await choose(chat.page.locator("#model"), "pear");
  const pear = chat.page.getByRole("button", { name: "Model: pear" });
  await pear.waitFor();
  const asked = chat.page.waitForResponse(/v1\/models/);
  await chat.page.reload();
  await asked;
  await chat.online();
  await pear.waitFor(); // it is kept
  await chat.ask("And now?");
  await chat.finished();
  for (const name of ["apple", "pear"]) await choose(chat.page.locator("#model"), name);
  await chat.page.getByRole("button", { name: "New chat" }).first().click();
  await chat.page.getByRole("heading", { name: "What shall we talk about?" }).waitFor();
  await pear.waitFor(); // chosen last
  const models = await (await fetch(`${several.url}/v1/models`)).json();
  const states = models.data.map(({ id, status }: { id: string; status: { value: string } }) => [
    id,
    status.value,
  ]);
  assert.deepEqual(Object.fromEntries(states), { apple: "loaded", pear: "loaded" });
  assert.deepEqual(chat.complaints, []);
});

test("Page: a model that the server could not load is not the one that answers", options, async () => {
  const chat = await ChatPage.open(several.url, {}, async (page) => {
    await page.route(/\/v1\/models$/, async (route) => {
      const response = await route.fetch();
      const models = await response.json();
      const [first] = models.data;
      first.status = { value: "unloaded", error: "the file is damaged" };
      await route.fulfill({ response, json: models });
    });
  });
  await chat.online();
  await chat.page.getByRole("button", { name: "Model: pear" }).waitFor();
  await chat.page
    .locator(".welcome")
    .getByText(/^pear answers/)
    .waitFor();
});

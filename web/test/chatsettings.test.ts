// SPDX-License-Identifier: MIT

// Settings belong to their chat, and what is not as the server has it can be seen.
import assert from "node:assert/strict";
import { test } from "node:test";
import { patience, useBrowser } from "./browser.ts";
import { useServer } from "./server.ts";
import { openSettings } from "./settings.ts";
import { devices } from "./sizes.ts";
import { some } from "./steady.ts";

useBrowser();
const server = useServer({ plugins: ["multiple-choice"] });

for (const [size, options] of some(devices, 1)) {
  test(`Page: settings of one chat are not those of the next, and are seen above the message field (${size})`, {
    timeout: 3 * patience,
  }, async () => {
    const { chat, page, requests } = await openSettings(server, { sampling: { max_tokens: 4 } }, options);
    await page.getByLabel("Instructions").fill("Be brief.");
    await page.getByRole("radio", { name: "JSON", exact: true }).check();
    await page.getByRole("button", { name: "Close Settings" }).click();
    const differs = page.getByRole("button", { name: /^Settings of this chat:/ });
    assert.match(await differs.innerText(), /Instructions · JSON · Length 4/);
    if (size !== "desktop") await page.locator('button[title="Settings of the chat (S)"]:focus').waitFor();
    await chat.question.fill("Hello!");
    await chat.question.press(size === "desktop" ? "Enter" : "Shift+Tab");
    if (size !== "desktop") await chat.send.tap();
    await chat.finished();
    await page.getByRole("button", { name: "New chat" }).first().click();
    await page.locator(".welcome").waitFor();
    assert.doesNotMatch(await differs.innerText(), /Instructions|JSON/);
    await differs.click();
    await page.getByLabel("Instructions").waitFor();
    assert.equal(await page.getByLabel("Instructions").inputValue(), "");
    assert.equal(await page.getByRole("radio", { name: "Text", exact: true }).isChecked(), true);
    await page.getByLabel("Instructions").fill("Be kind.");
    await page.getByRole("button", { name: "Use as default for new chats" }).click();
    await page.getByText("New chats begin with these settings.").waitFor();
    await page.getByRole("button", { name: "Close Settings" }).click();
    await page.getByRole("button", { name: "New chat" }).first().click();
    await page.getByText("Instructions · Length 4").waitFor();
    assert.equal(requests.length, 1);
    assert.deepEqual(chat.complaints, []);
  });
}

test("Page: settings begin with what most chats need, the rest is under Advanced, and no switch contradicts its line", {
  timeout: 2 * patience,
}, async () => {
  const { page } = await openSettings(server);
  const top = await page
    .locator(".settings > *")
    .evaluateAll((parts) => parts.map((part) => part.querySelector("h3, label")?.textContent?.trim()));
  assert.deepEqual(top.slice(0, 5), ["Instructions", "Creativity", "Length", "Format", "Tools"]);
  assert.equal(top.filter((name) => name !== undefined).at(-1), "Advanced");
  await page.getByText("no effect at this value").first().waitFor();
  const quiet = page.locator('.stage[data-quiet="true"]');
  assert.equal(
    await quiet.getByRole("switch").count(),
    0,
    "a stage without effect shows a switch that is on",
  );
});

test("Page: a stage that is added is in sight and has the focus, and is on once it has what it requires", {
  timeout: 3 * patience,
}, async () => {
  const { chat, page, requests } = await openSettings(server, { sampling: { max_tokens: 4 } });
  await page.getByRole("button", { name: "Add a stage" }).press("Enter");
  await page.getByRole("button", { name: "Add multiple-choice" }).press("Enter");
  const stage = page.locator(".stage", { hasText: "multiple-choice" });
  await stage.locator(":focus").waitFor();
  const box = await stage.boundingBox();
  assert.ok(box !== null && box.y >= 0 && box.y < 800, "it is out of sight");
  const use = stage.getByRole("switch", { name: "Use multiple-choice" });
  assert.equal(await use.isChecked(), false);
  assert.equal(await use.isDisabled(), true);
  await stage.getByText("fill in what is required first").waitFor();
  await chat.ask("Hello!");
  await chat.finished();
  assert.equal(requests[0]?.plugins, undefined, "it is sent without what it requires");
  assert.equal(await page.locator(".problem").count(), 0);
  await stage.getByRole("button", { name: /^Add/ }).first().click();
  await stage.getByRole("textbox").first().fill("frog");
  await page.waitForFunction(
    () => document.querySelector<HTMLInputElement>('[aria-label="Use multiple-choice"]')?.checked,
  );
  await chat.ask("Hello again!");
  await chat.answers.nth(1).waitFor();
  await chat.finished();
  assert.deepEqual(requests[1]?.plugins, [{ name: "multiple-choice", config: { choices: ["frog"] } }]);
});

// SPDX-License-Identifier: MIT

// The plugins view with hosts that have plugins: the examples, modules made here, and files that
// are none.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { ChatPage, patience, useBrowser } from "./browser.ts";
import { hooks, pluginModule } from "./module.ts";
import { card, drop, giveKey, unfold } from "./plugins.ts";
import { Server, useServer } from "./server.ts";
import { examplePlugin } from "./wasm.ts";

const adminKey = "secret-of-the-folder";

const faulty = pluginModule(
  { name: "faulty", version: "0.1.0", summary: "traps at the first token" },
  hooks.trapping,
);
useBrowser();
const server = useServer({
  plugins: [
    ...["multiple-choice", "banned-phrases", "llama3", "transcript"],
    { file: "broken.wasm", bytes: "not WebAssembly" },
    { file: "faulty.wasm", bytes: faulty },
  ],
  flags: ["--admin-key", adminKey],
});

async function open(url = server.url): Promise<{ chat: ChatPage; page: Page }> {
  const chat = await ChatPage.open(`${url}/#/plugins`);
  await chat.online();
  return { chat, page: chat.page };
}

async function close(chat: ChatPage): Promise<void> {
  assert.deepEqual(chat.complaints, []);
  await chat.close();
}

test("Plugins: each is listed with what it does, and files that are none with the reason", {
  timeout: 3 * patience,
}, async () => {
  const { chat, page } = await open();
  const banned = card(page, "banned-phrases");
  await banned.getByText("Ready").waitFor();
  const text = await banned.innerText();
  assert.match(text, /\d+\.\d+\.\d+/);
  assert.match(text, /Keeps phrases .*out of the answer/);
  assert.match(text, /Constraint\s+Token watcher/);
  assert.match(text, /may take back 32 tokens.*banned-phrases\.wasm · \d+ kB · sha256 [0-9a-f]{12}/);
  assert.match(await card(page, "llama3").innerText(), /Template/);

  const broken = page.getByRole("region", { name: "Files that could not be loaded" });
  assert.match(await broken.innerText(), /broken\.wasm 15 bytes\s+Not a WebAssembly module.*\s+Replace it/);
  assert.equal(
    await page.getByRole("article").count(),
    5,
    "what is no plugin is a card, or a plugin is none",
  );

  // The host watches its folder, and the page the host.
  const file = join(server.plugins, "late.wasm");
  writeFileSync(file, pluginModule({ name: "latecomer", version: "3" }));
  await card(page, "latecomer").waitFor();
  rmSync(file);
  await card(page, "latecomer").waitFor({ state: "detached" });
  await close(chat);
});

test("Plugins: a fault puts a plugin into quarantine, which says why and can be ended", {
  timeout: 4 * patience,
}, async () => {
  const { chat, page } = await open();
  const faulty = card(page, "faulty");
  await faulty.waitFor();
  const request = { messages: [{ role: "user", content: "Hi" }], plugins: ["faulty"], max_tokens: 4 };
  let faults = true;
  const faulting = (async () => {
    // Each pause is twice as long as the one before, so it is soon too long to be missed.
    while (faults) {
      const body = JSON.stringify(request);
      const { status } = await fetch(`${server.url}/v1/chat/completions`, { method: "POST", body });
      assert.ok(status === 424 || status === 429, `the host answered ${status}`);
      if (status === 429) await new Promise((again) => setTimeout(again, 100));
    }
  })();
  await faulty.getByText(/^Quarantined$/).waitFor();
  assert.match(
    await faulty.innerText(),
    /It has faulted \d+ times\. The last time was at \d\d:\d\d:\d\d\.\s+plugin faulty: penstock_accept: trap: unreachable/,
  );
  faults = false;
  await faulting;

  await faulty.getByRole("button", { name: /End the quarantine|Forget the faults/ }).click();
  await giveKey(page, adminKey);
  await faulty.getByText("It has faulted").waitFor({ state: "detached" });
  await faulty.getByText("Ready").waitFor();
  await close(chat);
});

test("Plugins: uploaded by a drop with the admin key, replaced after a question, and removed", {
  timeout: 4 * patience,
}, async () => {
  const { chat, page } = await open();
  const uploads = page.getByRole("list", { name: "Uploads" }).getByRole("listitem");
  const first = pluginModule({ name: "mine", version: "1.0" }, hooks.ending);
  await drop(page, [
    { name: "mine.wasm", bytes: first },
    { name: "notes.txt", bytes: Buffer.from("hello") },
  ]);
  await giveKey(page, "wrong");
  await page.getByText("The server did not accept that key.").waitFor();
  await giveKey(page, adminKey);
  await card(page, "mine").getByText("Ready").waitFor();
  await uploads.filter({ hasText: "mine 1.0 is there." }).waitFor();
  await uploads
    .filter({ hasText: /notes\.txt[\s\S]*Not a WebAssembly module.*docs\/plugins\/go\.md/ })
    .waitFor();

  // The same again is nothing new; another of the same name is a question. The key is known now.
  await drop(page, [{ name: "mine.wasm", bytes: first }]);
  await uploads.filter({ hasText: "mine 1.0 is there already" }).waitFor();
  const second = pluginModule({ name: "mine", version: "2.0" }, hooks.ending);
  await drop(page, [{ name: "copy.wasm", bytes: second }]);
  const question = page.getByRole("group", { name: "Replace mine?" });
  assert.match(
    await question.innerText(),
    /Now\s+mine 1\.0 · \d+ bytes · [0-9a-f]{12}\s+New\s+mine 2\.0 · \d+ bytes · [0-9a-f]{12}/,
  );
  assert.match(await card(page, "mine").innerText(), /1\.0/, "it was replaced before the answer");
  await question.getByRole("button", { name: "Keep the old one" }).click();
  await uploads.filter({ hasText: "mine stays as it was" }).waitFor();
  await drop(page, [{ name: "copy.wasm", bytes: second }]);
  await question.getByRole("button", { name: "Replace" }).click();
  await card(page, "mine").getByText("2.0").waitFor();
  await uploads.filter({ hasText: "taken its predecessor's place" }).waitFor();

  await drop(page, [{ name: "huge.wasm", bytes: 17 * 2 ** 20 }]);
  await uploads
    .filter({
      hasText: /huge\.wasm 17\.8 MB[\s\S]*(larger than 16777216 bytes|larger than the server takes)/,
    })
    .waitFor();

  await card(page, "mine").getByRole("button", { name: "Remove mine" }).click();
  const sure = page.getByRole("group", { name: "Remove mine?" });
  assert.match(await sure.innerText(), /deletes mine\.wasm on the server. It cannot be undone/);
  await sure.getByRole("button", { name: "Cancel" }).click();
  await card(page, "mine").getByRole("button", { name: "Remove mine" }).click();
  await sure.getByRole("button", { name: "Remove" }).click();
  await card(page, "mine").waitFor({ state: "detached" });

  const stored = await page.evaluate(() => JSON.stringify({ ...localStorage }));
  assert.doesNotMatch(stored, new RegExp(adminKey), "the key is remembered though nobody asked for that");
  await close(chat);
});

test("Plugins: one's own is dropped in, set, switched on, and changes the answer", {
  timeout: 4 * patience,
}, async () => {
  const { chat, page } = await open();
  const name = "multiple-choice";
  await card(page, name).waitFor(); // else it would count as gone below before it is drawn
  rmSync(join(server.plugins, `${name}.wasm`));
  await card(page, name).waitFor({ state: "detached" });
  await drop(page, [{ name: `${name}.wasm`, bytes: readFileSync(examplePlugin(name)) }]);
  await giveKey(page, adminKey);
  await card(page, name).waitFor();

  const plugin = await unfold(page, name);
  const here = plugin.getByRole("switch", { name: "Use in this chat" });
  assert.equal(await here.isDisabled(), true, "it can be switched on without what it needs");
  await plugin.getByText("First complete the configuration. Add at least one choice.").waitFor();
  for (const choice of ["teal", "umber"]) {
    await plugin.getByRole("button", { name: "Add to Choices" }).click();
    await page.keyboard.type(choice); // the new entry has the focus
  }
  await here.check();
  await plugin.getByRole("switch", { name: "Use in new chats" }).check();
  await page.getByRole("navigation").getByRole("button", { name: "New chat" }).click();
  await chat.ask("Which colour is it?");
  const answer = await chat.finished();
  assert.match((await answer.locator(".prose").innerText()).trim(), /^(teal|umber)$/);

  // What is changed here changes how the chat uses it.
  await page.goto(`${server.url}/#/plugins`);
  await unfold(page, name);
  await plugin.getByRole("textbox", { name: "Choices 1" }).fill("ochre");
  await plugin.getByRole("button", { name: "Remove Choices 2" }).click();
  await plugin.getByRole("link", { name: "Open the chat" }).click();
  await chat.ask("And now?");
  await page.getByText("And now?").first().waitFor();
  assert.equal((await (await chat.finished()).locator(".prose").innerText()).trim(), "ochre");
  await close(chat);
});

test("Plugins: a template's prompt is shown beside the model's own, and follows its configuration", {
  timeout: 3 * patience,
}, async () => {
  const { chat, page } = await open();
  await unfold(page, "transcript");
  const prompt = page.getByRole("region", { name: "Prompt of transcript" });
  assert.match(await prompt.innerText(), /^You tell short stories\.\s+User: Tell me about a frog\./);
  const own = page.getByRole("region", { name: "Prompt of The model’s own template" });
  assert.match(await own.innerText(), /Tell me about a frog\./);
  assert.notEqual(await own.locator("mark").count(), 0, "special tokens are not told apart");
  assert.match(
    await page.getByRole("region", { name: "Prompt preview" }).innerText(),
    /transcript \d+ tokens/,
  );
  await card(page, "transcript").getByRole("textbox", { name: "User", exact: true }).fill("Guest");
  await prompt.getByText("Guest: Tell me about a frog.").waitFor();

  // A pattern that could keep the browser busy is the host's to check, and its words are shown.
  await card(page, "transcript").getByRole("textbox", { name: "User", exact: true }).fill("a: b");
  await page
    .getByRole("region", { name: "Prompt preview" })
    .getByText(/config\.user/)
    .waitFor();

  // Of a chat it shows what the last answer was written for.
  await page.goto(`${server.url}/#/`);
  await chat.ask("What is a newt?");
  await chat.finished();
  await page.goto(`${server.url}/#/plugins`);
  await unfold(page, "transcript");
  await prompt.getByText("User: What is a newt?").waitFor();

  // And it is tried with the chat's last question.
  const tried = page.getByRole("region", { name: "Try transcript" });
  assert.equal(await tried.getByRole("textbox").inputValue(), "What is a newt?");
  await tried.getByText("in the place of its last question").waitFor();
  await close(chat);
});

test("Plugins: tried with and without, with the same seed", { timeout: 3 * patience }, async () => {
  const { chat, page } = await open();
  const plugin = await unfold(page, "banned-phrases");
  await plugin.getByRole("button", { name: "Add to Phrases" }).click();
  await page.keyboard.type("a");
  await plugin
    .getByRole("textbox", { name: "A question to try it with" })
    .fill("Tell me a story about a frog.");
  await plugin.getByRole("button", { name: "Try", exact: true }).click();
  await plugin.getByText(/Do you like it/).waitFor();
  const [without, with_] = await plugin.locator(".tried").allInnerTexts();
  assert.match(without ?? "", /a/);
  assert.doesNotMatch(with_ ?? "", /a/i);
  await close(chat);
});

test("Plugins: without any, and without an admin key, the page says what to do", {
  timeout: 3 * patience,
}, async () => {
  const empty = mkdtempSync(join(tmpdir(), "penstock-plugins-"));
  const bare = await Server.start({ flags: ["--plugin-dir", empty] });
  try {
    const { chat, page } = await open(bare.url);
    await page.getByRole("heading", { name: "No plugins yet" }).waitFor();
    await page.getByText("make run").waitFor();
    await drop(page, [{ name: "mine.wasm", bytes: pluginModule({ name: "mine" }) }]);
    await page.getByRole("heading", { name: "This server takes no changes over the network" }).waitFor();
    await page.getByText("penstock serve --admin-key KEY").waitFor();
    await close(chat);
  } finally {
    await bare.stop();
    rmSync(empty, { recursive: true, force: true });
  }
});

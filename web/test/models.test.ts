// SPDX-License-Identifier: MIT

// Several models: which is loaded, which wrote an answer, and the same question to another.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type Server as Listener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { findings } from "./axe.ts";
import { ChatPage, choose, patience, useBrowser, withSettings, words } from "./browser.ts";
import { Server, useServer } from "./server.ts";
import { devices, phone } from "./sizes.ts";
import { some } from "./steady.ts";

const short = withSettings({ sampling: { max_tokens: 8 } });
useBrowser();
const server = useServer({ models: ["apple", "pear"], flags: ["--admin-key", "secret"] });

test("Page: an answer says which model wrote it, and another can answer, too", {
  timeout: 4 * patience,
}, async () => {
  const chat = await ChatPage.open(server.url, phone, short);
  await chat.online();
  await choose(chat.page.locator("#model"), "apple");
  await chat.question.fill("Hello!");
  await chat.send.click();
  const answer = await chat.finished();
  assert.match(await words(answer), /apple ·/);
  await answer.getByText(/\d %/).waitFor(); // how full the context of that model is
  await choose(answer.getByRole("button", { name: "Answer with another model" }), "pear");
  await chat.page.getByText("2 of 2").waitFor();
  const other = await chat.finished();
  assert.match(await words(other), /pear ·/);
  await other.getByText(/\d %/).waitFor();
  assert.deepEqual(chat.complaints, []);
});

test("Page: models are loaded and unloaded with the admin key", { timeout: 4 * patience }, async () => {
  const chat = await ChatPage.open(`${server.url}/#/models`, {}, short);
  const { page } = chat;
  const apple = page.getByRole("listitem").filter({ has: page.getByRole("heading", { name: "apple" }) });
  const loaded = async () => {
    const { data } = await (await fetch(`${server.url}/v1/models`)).json();
    return data.find(({ id }: { id: string }) => id === "apple").status.value;
  };
  await apple.getByText(/million parameters · \d+ MB/).waitFor();
  if ((await loaded()) === "unloaded") await fetch(`${server.url}/props?model=apple`);
  await apple.getByRole("button", { name: "Unload apple" }).press("Enter");
  const key = page.getByRole("textbox", { name: "Admin key" });
  await key.fill("wrong");
  await key.press("Enter");
  await page.getByText("The server did not accept that key.").waitFor();
  await key.fill("secret");
  await key.press("Enter");
  await apple.getByText("Not loaded").waitFor();
  assert.equal(await loaded(), "unloaded");
  await apple.getByRole("button", { name: "Load apple" }).press("Enter");
  await apple.getByText("Loaded", { exact: true }).waitFor();
  assert.equal(await loaded(), "loaded");
  await apple.getByRole("button", { name: "Chat with apple" }).press("Enter");
  await page.locator(".welcome").getByText("apple answers").waitFor();
  await page.locator("#model", { hasText: "apple" }).waitFor();
  assert.deepEqual(chat.complaints, []);
});

for (const [size, device] of some(devices, 1)) {
  test(`Page: the list of models is searched by keys, and accessible (${size})`, {
    timeout: 4 * patience,
  }, async () => {
    const chat = await ChatPage.open(server.url, device, short);
    const { page } = chat;
    await chat.online();
    await page.getByRole("button", { name: /^Model: / }).press("Enter");
    const field = page.getByRole("combobox", { name: "Find a model" });
    await page.locator("input:focus").and(field).waitFor();
    const option = page.getByRole("option", { name: /^pear.* MB/ });
    await option.waitFor();
    assert.deepEqual(await findings(page), []);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= (device.viewport?.width ?? 0), `the page is ${width} pixels wide`);
    await page.keyboard.type("no such");
    await page.getByText("No model has these words.").waitFor();
    await field.fill("PE ar");
    await page.keyboard.press("Enter");
    await page.locator("#model", { hasText: "pear" }).waitFor();
    await page.locator("#model", { hasText: "pear" }).press("Enter");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Escape");
    await field.waitFor({ state: "detached" });
    assert.deepEqual(chat.complaints, []);
  });
}

test("Page: new chats begin with the default model, and with the settings for it", {
  timeout: 4 * patience,
}, async () => {
  const chat = await ChatPage.open(server.url, {}, short);
  const { page } = chat;
  await chat.online();
  await choose(chat.page.locator("#model"), "pear");
  await page.getByRole("button", { name: "Settings", exact: true }).click();
  await page.getByLabel("Instructions").fill("Be a pear.");
  await page.getByRole("button", { name: "Use for new chats with pear" }).click();
  await page.getByRole("link", { name: "Models", exact: true }).click();
  await page.getByRole("button", { name: "Default: apple" }).click();
  await page.getByRole("button", { name: "New chat", exact: true }).first().click();
  await page.locator("#model", { hasText: "apple" }).waitFor();
  assert.equal(await page.getByLabel("Instructions").inputValue(), "");
  await choose(chat.page.locator("#model"), "pear");
  await page.getByText("The chat has your settings for pear.").waitFor();
  assert.equal(await page.getByLabel("Instructions").inputValue(), "Be a pear.");
  await page.reload();
  await chat.online();
  await page.locator("#model", { hasText: "apple" }).waitFor();
  assert.deepEqual(chat.complaints, []);
});

const file = readFileSync(fileURLToPath(new URL("../../host/model/penstock-tiny.gguf", import.meta.url)));

/** A hub with a repository owner/name, which stands still in the middle of the file until go. */
class Hub {
  private waiting: ServerResponse | undefined;
  private open = false;

  private constructor(private readonly listener: Listener) {}

  static async start(): Promise<Hub> {
    const listener = createServer();
    const hub = new Hub(listener);
    const lfs = { oid: createHash("sha256").update(file).digest("hex"), size: file.length };
    const list = [{ type: "file", path: "new-Q4_K_M.gguf", size: file.length, lfs }];
    listener.on("request", (asked, answer) => {
      if (asked.url?.startsWith("/api/models/owner/name/tree/main")) {
        answer.setHeader("Content-Type", "application/json").end(JSON.stringify(list));
      } else if (asked.url === "/owner/name/resolve/main/new-Q4_K_M.gguf") {
        const from = Number(/^bytes=(\d+)-/.exec(asked.headers.range ?? "")?.[1] ?? 0);
        const bounds = `bytes ${from}-${file.length - 1}/${file.length}`;
        answer.writeHead(asked.headers.range === undefined ? 200 : 206, {
          "Content-Length": file.length - from,
          "Accept-Ranges": "bytes",
          ...(asked.headers.range !== undefined && { "Content-Range": bounds }),
        });
        if (from < file.length / 2) answer.write(file.subarray(from, file.length / 2));
        if (hub.open) answer.end(file.subarray(Math.max(from, file.length / 2)));
        else hub.waiting = answer;
      } else answer.writeHead(404).end();
    });
    listener.listen(0, "127.0.0.1");
    await once(listener, "listening");
    return hub;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.listener.address() as AddressInfo).port}`;
  }

  /** Sends whole files from now on, when who asked before has gone: it would get the rest, too. */
  async go(): Promise<void> {
    if (this.waiting?.closed === false) await once(this.waiting, "close");
    this.open = true;
  }

  stop(): void {
    this.listener.close();
    this.listener.closeAllConnections();
  }
}

test("Page: a model is pulled, stopped in the middle, pulled again and removed", {
  timeout: 6 * patience,
}, async () => {
  const hub = await Hub.start();
  const own = await Server.start({
    models: ["apple"],
    flags: ["--admin-key", "secret", "--hub", hub.url],
  });
  const chat = await ChatPage.open(`${own.url}/#/models`, phone, short);
  const { page } = chat;
  const name = page.getByLabel("Name of the model at the hub");
  const pull = page.getByRole("button", { name: "Pull", exact: true });
  await name.fill("nonsense");
  await pull.tap();
  const key = page.getByRole("textbox", { name: "Admin key" });
  await key.fill("secret");
  await key.press("Enter");
  await page.getByText(/nonsense.*it must be OWNER\/NAME/).waitFor();
  await name.fill("owner/other");
  await pull.tap();
  await page.getByText(/not found/i).waitFor();
  await name.fill("owner/name");
  await pull.tap();
  await page.getByText(/ of .* MB \(\d+ %\)/).waitFor();
  assert.deepEqual(await findings(page), []);
  await page.getByRole("button", { name: "Stop pulling owner/name" }).tap();
  await page.getByText("Stopped. Pull it again, and it goes on where it stopped.").waitFor();
  await hub.go();
  await page.getByRole("button", { name: "Pull again: owner/name" }).tap();
  await page.getByText("new-Q4_K_M is there now.").waitFor();
  const entry = page.getByRole("listitem").filter({ has: page.getByRole("heading", { name: "new-Q4_K_M" }) });
  await entry.getByRole("button", { name: "Remove new-Q4_K_M" }).tap();
  await entry.getByRole("button", { name: "Remove new-Q4_K_M for good" }).tap();
  await entry.waitFor({ state: "detached" });
  assert.deepEqual(chat.complaints, []);
  await own.stop();
  hub.stop();
});

// SPDX-License-Identifier: MIT

// What the documents tell their reader to type into the console of the page.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { ChatPage, patience, useBrowser } from "./browser.ts";
import { useServer } from "./server.ts";

useBrowser();
const server = useServer();

/** The blocks of JavaScript in a document that open a WebSocket. */
function snippets(name: string): string[] {
  const text = readFileSync(fileURLToPath(new URL(`../../docs/${name}`, import.meta.url)), "utf8");
  const blocks = [...text.matchAll(/^```js\n(.*?)^```$/gms)].map(([, code]) => code ?? "");
  return blocks.filter((code) => code.includes("new WebSocket("));
}

for (const name of ["clients.md", "api.md"]) {
  test(`the console answers what docs/${name} has it ask`, async () => {
    const [code = "", ...others] = snippets(name);
    assert.ok(code.includes("ws://127.0.0.1:8080/"));
    assert.deepEqual(others, []);
    const chat = await ChatPage.open(server.url);
    await chat.online();
    const ended = chat.page.waitForEvent("console", {
      predicate: (message) => message.text().includes('"type":"end"'),
      timeout: patience,
    });
    await chat.page.evaluate(code.replaceAll("127.0.0.1:8080", server.address));
    assert.match((await ended).text(), /"reason":"(stop|length)"/);
    assert.deepEqual(chat.complaints, []);
  });
}

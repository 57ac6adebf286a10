// SPDX-License-Identifier: MIT

// What the page says of what goes wrong, and the button that helps.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { HostError } from "../src/host/protocol.ts";
import { ChatPage, long, patience, useBrowser } from "./browser.ts";
import { type PlayedStream, play } from "./play.ts";
import { useServer } from "./server.ts";

useBrowser();
const server = useServer({ context: 60_000 });

const words = (stream: PlayedStream | undefined) =>
  stream?.request.messages.filter(({ role }) => role === "user").map(({ content }) => content);

/** A page in which the answers after the first two fail so. */
async function failing(error: HostError, text = "") {
  const streams: PlayedStream[] = [];
  const chat = await ChatPage.open(server.url, {}, (page) =>
    play(page, (stream) => {
      streams.push(stream);
      if (streams.length === 3) {
        if (text !== "") stream.token(text);
        stream.end({ reason: "error", error });
      } else {
        stream.token(`answer ${streams.length}`);
        stream.end();
      }
    }),
  );
  for (const [n, question] of ["One?", "Two?", "Three?"].entries()) {
    await chat.ask(question);
    await chat.answers.nth(n).waitFor();
    await chat.finished();
  }
  return { chat, streams, problem: chat.page.locator(".problem") };
}

test("Page: a chat that is too long offers a shorter history and a new chat", {
  timeout: 3 * patience,
}, async () => {
  const message = "request (4000 tokens) exceeds the available context size (2000 tokens)";
  const { chat, streams, problem } = await failing({ code: "context_length_exceeded", message });
  await problem
    .getByText("The chat is longer than the model can hold: it has 4,000 tokens, and 2,000 fit.")
    .waitFor();
  assert.equal(await chat.page.getByRole("button", { name: "Try again" }).count(), 0);
  await problem.getByRole("button", { name: "Answer with a shorter history" }).press("Enter");
  await chat.page.getByText("answer 4").waitFor();
  const [first, ...rest] = words(streams[3]) ?? [];
  assert.deepEqual([first, rest.at(-1) ?? first], [first === "Two?" ? "Two?" : "Three?", "Three?"]);
  await chat.page.getByRole("button", { name: "Previous version" }).click();
  await problem.getByRole("button", { name: "New chat with this question" }).click();
  await chat.page.locator(".welcome").waitFor();
  assert.equal(await chat.question.inputValue(), "Three?");
});

test("Page: an answer that a restarted server has lost goes on with a press", {
  timeout: 3 * patience,
}, async () => {
  const { chat, streams, problem } = await failing(
    { code: "unknown_stream", message: "unknown" },
    "Once upon",
  );
  await problem.getByText("what had arrived is kept").waitFor();
  await problem.getByRole("button", { name: "Continue" }).press("Enter");
  await chat.page.getByText("Once uponanswer 4").waitFor();
  assert.equal(streams[3]?.request.continue_final_message, "content");
  assert.equal(await problem.count(), 0);
});

test("Page: an error names no folders of the server", { timeout: 3 * patience }, async () => {
  const { problem } = await failing({
    code: "internal_error",
    message: "cannot read /srv/models/a.gguf",
  });
  assert.match(await problem.innerText(), /Cannot read a\.gguf\.\s+Try again/);
});

test("Page: a reload in the middle of an answer speaks of no lost connection", {
  timeout: 3 * patience,
}, async () => {
  const chat = await ChatPage.open(server.url, {}, async (page) => {
    await long(server, 50_000)(page);
    await page.addInitScript(() => {
      const note = () => {
        const shown = document.body?.innerText ?? "";
        if (/connection is lost|Not connected|Reconnecting/.test(shown))
          sessionStorage.setItem("flashed", shown);
      };
      new MutationObserver(note).observe(document, { childList: true, subtree: true, characterData: true });
    });
  });
  await chat.watchLengths();
  await chat.ask("Tell me a story.");
  await chat.growing(3);
  for (let round = 0; round < 3; round++) {
    await chat.page.reload();
    await chat.online();
    await chat.page.locator('[data-phase="streaming"]').waitFor();
  }
  assert.equal(await chat.page.evaluate(() => sessionStorage.getItem("flashed")), null);
  await chat.stop.click();
  await chat.finished();
});

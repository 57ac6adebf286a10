// SPDX-License-Identifier: MIT

// Ten tasks as somebody does them who knows where things are: how many clicks and keys each takes,
// besides the words that are typed, and how long, from the first move to the result.
// npm run newcomer
import { readFileSync } from "node:fs";
import type { Locator, Page } from "playwright-core";
import { archive } from "./archive.ts";
import { ChatPage, launch, withSettings } from "./browser.ts";
import { startEverything } from "./mcpserver.ts";
import { type PlayedStream, play } from "./play.ts";
import { Server } from "./server.ts";

/** Who does a task, and what it takes. */
class Person {
  clicks = 0;
  keys = 0;
  letters = 0;

  constructor(readonly page: Page) {}

  async click(what: Locator): Promise<void> {
    this.clicks++;
    await what.click();
  }

  async press(key: string): Promise<void> {
    this.keys++;
    await this.page.keyboard.press(key);
  }

  /** Types where the focus is. */
  async type(text: string): Promise<void> {
    this.letters += text.length;
    await this.page.keyboard.type(text);
  }

  /** Clicks what opens the system's dialog for files, and chooses one there. */
  async choose(opener: Locator, file: { name: string; mimeType: string; buffer: Buffer }): Promise<void> {
    const opened = this.page.waitForEvent("filechooser");
    await this.click(opener);
    this.clicks++; // in the dialog
    await (await opened).setFiles(file);
  }

  /** Asks in the message field, which has the focus. */
  async ask(question: string): Promise<void> {
    await this.type(question);
    await this.press("Enter");
  }
}

interface Task {
  prepare?(chat: ChatPage): Promise<unknown>;
  slow?: boolean; // answers come a word at a time
  run(person: Person, chat: ChatPage): Promise<unknown>; // until the result is there
}

const question = "Tell me a story about a frog.";
const imported = { name: "conversations.json", mimeType: "application/json", buffer: chatGPT() };
const played: PlayedStream[] = [];

/** An export of ChatGPT with one chat. */
function chatGPT(): Buffer {
  const said = (id: string, parent: string | null, role: string, text: string) => ({
    id,
    parent,
    children: [],
    message: { author: { role }, create_time: 1, content: { content_type: "text", parts: [text] } },
  });
  const mapping = { q: said("q", null, "user", "Why frogs?"), a: said("a", "q", "assistant", "They leap.") };
  const chat = { title: "About frogs", create_time: 1, update_time: 2, mapping, current_node: "a" };
  return Buffer.from(JSON.stringify([chat]));
}

const answered = async (chat: ChatPage) => {
  await chat.ask(question);
  await chat.finished();
};

const tasks: Record<string, Task> = {
  "find an old chat": {
    async prepare({ page }) {
      await page.getByLabel("Import chats").setInputFiles(archive(200));
      await page.getByText("200 chats are imported.").waitFor();
    },
    async run(person, { page }) {
      await person.click(page.getByRole("searchbox", { name: "Search chats" }));
      await person.type("needle77");
      await person.click(page.getByRole("link", { name: "Chat number 77" }).first());
      await page.getByRole("article").getByText("needle77").waitFor();
    },
  },
  "import from ChatGPT": {
    async run(person, { page }) {
      await person.click(page.getByRole("button", { name: "More", exact: true }));
      await person.choose(page.getByRole("menuitem", { name: "Import chats…" }), imported);
      await person.click(page.getByRole("link", { name: "About frogs" }));
      await page.getByText("They leap.").waitFor();
    },
  },
  "use a tool of an MCP server": {
    async run(person, chat) {
      const { page } = chat;
      await person.click(page.getByRole("button", { name: "Settings", exact: true }));
      await person.click(page.getByRole("heading", { name: "Tools" }));
      await person.click(page.getByLabel("Address"));
      await person.type(mcp.url);
      await person.press("Enter");
      await page.getByRole("list", { name: "MCP servers" }).getByRole("switch").first().waitFor();
      await person.click(chat.question);
      await person.ask("Echo!");
      while (played.length === 0) await page.evaluate(() => new Promise(requestAnimationFrame));
      const [stream] = played as [PlayedStream]; // no small model calls a tool when it is told to
      stream.parts({
        calls: [{ index: 0, id: "c", function: { name: "echo", arguments: '{"message":"hi"}' } }],
      });
      stream.end({ reason: "tool_calls" });
      await person.click(page.getByRole("button", { name: "Allow once" }));
      await page.getByText("Echo: hi").waitFor();
    },
  },
  "answer with a strategy": {
    async run(person, chat) {
      await person.click(chat.page.getByRole("button", { name: "Beam" }));
      await person.click(chat.question);
      await person.ask(question);
      await chat.finished();
    },
  },
  "write a rule": {
    async run(person, chat) {
      const { page } = chat;
      await person.click(page.getByRole("button", { name: "Rules", exact: true }));
      await page.getByLabel("A rule").waitFor();
      await person.type("never say frog");
      await person.press("Enter");
      await page.getByRole("switch", { name: /^never say frog/ }).waitFor();
      await person.press("Escape");
      await person.click(chat.question);
      await person.ask(question);
      await chat.finished();
    },
  },
  "see why a word was chosen": {
    prepare: answered,
    async run(person, { page, answers }) {
      await person.click(answers.last().getByRole("button", { name: "Inspect" }));
      await person.click(page.getByRole("button", { name: /^Answer again with a token record/ }));
      await person.click(page.getByRole("listbox").getByRole("option").nth(2));
      await page.getByRole("region", { name: "Candidates" }).waitFor();
    },
  },
  "compare two temperatures": {
    async run(person, chat) {
      const { page } = chat;
      await person.click(page.getByRole("button", { name: /^Strategy: |^More strategies$/ }));
      await person.click(page.getByRole("radio", { name: "Side by side" }));
      await person.press("Escape");
      await person.click(chat.question);
      await person.ask(question);
      const columns = page.getByRole("region", { name: "Two versions of this answer" });
      await columns.locator('.message[data-phase="done"]').nth(1).waitFor();
    },
  },
  "pause an answer and take words back": {
    slow: true,
    async prepare(chat) {
      await chat.ask(question);
      await chat.answers.getByText(/[1-9]\d* tokens?/).waitFor();
    },
    async run(person, chat) {
      const { page } = chat;
      await person.click(page.getByRole("button", { name: "Steer", exact: true }));
      await person.click(page.getByRole("button", { name: "Pause" }));
      await person.click(page.getByRole("button", { name: /^Take back/ }).first());
      await person.click(page.getByRole("button", { name: "Resume" }));
      await page.locator('[data-phase="streaming"]').waitFor();
    },
  },
  "ask about a picture": {
    async run(person, chat) {
      const { page } = chat;
      const buffer = readFileSync(new URL("../public/drawing.png", import.meta.url));
      await person.click(page.getByRole("button", { name: "Add files" }));
      const opener = page.getByRole("menuitem", { name: /^Picture/ });
      await person.choose(opener, { name: "drawing.png", mimeType: "image/png", buffer });
      await page.getByRole("img", { name: "drawing.png" }).waitFor();
      await person.click(chat.question);
      await person.ask("How many circles are there?");
      await chat.finished();
    },
  },
  "save a chat as Markdown": {
    prepare: answered,
    async run(person, { page }) {
      await page.locator(".entry").first().hover();
      await person.click(page.getByRole("button", { name: /^Actions for / }).first());
      const saved = page.waitForEvent("download");
      await person.click(page.getByRole("menuitem", { name: "Export as Markdown" }));
      await saved;
    },
  },
};

const browser = await launch();
const usual = await Server.start({ pair: true, plugins: ["beam"] });
const long = await Server.start({ context: 60_000 });
const mcp = await startEverything();
const wanted = process.argv.slice(2);
try {
  console.log("| task | clicks | keys | letters | s |\n|---|---|---|---|---|");
  for (const [name, task] of Object.entries(tasks)) {
    if (wanted.length > 0 && !wanted.some((word) => name.includes(word))) continue;
    const server = task.slow ? long : usual;
    const fast = task.slow ? server.slow() : () => {};
    const chat = await ChatPage.open(
      server.url,
      { viewport: { width: 1280, height: 800 } },
      async (page) => {
        if (task.slow) await withSettings({ sampling: { max_tokens: 50_000, ignore_eos: true } })(page);
        if (name.includes("tool")) await play(page, (stream) => void played.push(stream));
      },
      browser,
    );
    await chat.online();
    await task.prepare?.(chat);
    const person = new Person(chat.page);
    const begun = Date.now();
    await task.run(person, chat);
    const seconds = ((Date.now() - begun) / 1000).toFixed(1);
    console.log(`| ${name} | ${person.clicks} | ${person.keys} | ${person.letters} | ${seconds} |`);
    await chat.close();
    fast();
  }
} finally {
  await browser.close();
  await usual.stop();
  await long.stop();
  mcp.child.kill();
}

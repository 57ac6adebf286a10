// SPDX-License-Identifier: MIT

// What the pictures of the page show.
import type { Settings } from "../src/settings/settings.ts";
import type { ChatPage } from "./browser.ts";

export interface Scene {
  settings: Partial<Settings>; // of new chats
  context?: number; // tokens: answers may go on that long
  model?: string; // a file in build/models; else the built-in model
  play(chat: ChatPage, url: string): Promise<unknown>; // until the picture is taken
}

const story = "Tell me a story about a frog.";
const sampling = { temperature: 0.6, seed: 7 };
const banned = { name: "banned-phrases", config: { phrases: ["frog"] } };

async function ask(chat: ChatPage, ...questions: string[]): Promise<void> {
  for (const question of questions) {
    await chat.ask(question);
    await chat.finished();
  }
}

function go(chat: ChatPage, address: string): Promise<void> {
  return chat.page.evaluate((hash) => {
    location.hash = hash;
  }, address);
}

/** Sends long prompts one after another until the server is gone. */
async function sendPrompts(url: string): Promise<void> {
  for (let round = 0; ; round++) {
    const prompt = `${round} Once upon a time there was a frog. `.repeat(60);
    const body = JSON.stringify({ prompt, max_tokens: 4 });
    const headers = { "Content-Type": "application/json" };
    await (await fetch(`${url}/v1/completions`, { method: "POST", headers, body })).text();
    await new Promise((next) => setTimeout(next, 400));
  }
}

export const scenes: Record<string, Scene> = {
  chat: {
    settings: { sampling },
    play: (chat) => ask(chat, "Write a Python function named square.", story),
  },
  smollm2: {
    settings: { sampling: { temperature: 0 } },
    model: "smollm2-135m-q4_1.gguf",
    play: (chat) => ask(chat, "What is photosynthesis?", "Name three planets."),
  },
  settings: {
    settings: { sampling, plugins: [banned] },
    async play(chat) {
      await ask(chat, story);
      await chat.page.getByRole("button", { name: "Settings", exact: true }).click();
      await chat.page.getByLabel("Instructions").waitFor();
    },
  },
  inspector: {
    settings: { sampling, plugins: [banned], trace: true },
    async play(chat) {
      await ask(chat, story);
      await chat.answers.last().getByRole("button", { name: "Inspect" }).click();
      await chat.page.getByRole("region", { name: "Candidates" }).waitFor();
    },
  },
  live: {
    settings: { sampling: { max_tokens: 30_000, ignore_eos: true, temperature: 1 } },
    context: 60_000,
    async play(chat, url) {
      const questions = [
        story,
        "Tell me a story about a cat.",
        "Count from 1 to 10.",
        "Name the days of the week.",
      ];
      for (const [i, question] of questions.entries()) {
        if (i > 0) await chat.page.getByRole("button", { name: "New chat" }).first().click();
        await chat.ask(question);
        await chat.stop.waitFor();
      }
      sendPrompts(url).catch(() => {}); // the server has been stopped
      await go(chat, "#/live");
      await chat.page.waitForTimeout(4000); // the charts fill
    },
  },
  plugins: {
    settings: {},
    async play(chat) {
      await chat.online();
      await go(chat, "#/plugins");
      await chat.page.getByRole("heading", { name: "watermark" }).waitFor();
    },
  },
};

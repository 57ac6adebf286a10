// SPDX-License-Identifier: MIT
import type { Page } from "playwright-core";

/**
 * A file of n chats as the page exports them, each with an answer of so many characters. The first
 * is of now, and the others are one day older each.
 */
export function archive(
  n: number,
  characters = 200,
  now = Date.now(),
): { name: string; mimeType: string; buffer: Buffer } {
  const text = "The quick brown fox jumps over the lazy dog. ".repeat(Math.ceil(characters / 45));
  const day = 86_400_000;
  const chats = Array.from({ length: n }, (_, at) => ({
    id: `imported${at}`,
    title: `Chat number ${at}`,
    created: now - at * day,
    changed: now - at * day,
    messages: [
      { id: "q", parent: null, role: "user", created: 1, content: `Question ${at}` },
      { id: "a", parent: "q", role: "assistant", created: 2, content: `${text} Naïve needle${at}.` },
    ],
  }));
  const buffer = Buffer.from(JSON.stringify({ penstock: "chats", version: 1, chats }));
  return { name: "chats.json", mimeType: "application/json", buffer };
}

/** A file with a chat of many messages of all heights, and with a short one. */
export function longChat(messages: number): ReturnType<typeof archive> {
  const words = "Some words of an answer that goes on for a while. ";
  const content = (at: number) =>
    at % 2 === 0
      ? `Question ${at} ${"of words ".repeat((at * 5) % 60)}needle${at}.`
      : `Answer ${at} needle${at}. ${words.repeat((at * 7) % 50)}\n\n- one\n- two\n\n\`\`\`js\nlet x = ${at};\n\`\`\`\n`;
  const chain = Array.from({ length: messages }, (_, at) => ({
    id: `m${at}`,
    parent: at === 0 ? null : `m${at - 1}`,
    role: at % 2 === 0 ? "user" : "assistant",
    created: at + 1,
    content: content(at),
  }));
  const chats = [
    { id: "long", title: "A long chat", created: 2, changed: 2, messages: chain },
    { id: "short", title: "A short chat", created: 1, changed: 1, messages: chain.slice(0, 2) },
  ];
  const buffer = Buffer.from(JSON.stringify({ penstock: "chats", version: 1, chats }));
  return { name: "chats.json", mimeType: "application/json", buffer };
}

/** Gives the page a file of chats. */
export async function importFile(page: Page, file: ReturnType<typeof archive>): Promise<void> {
  await page.getByLabel("Import chats").setInputFiles(file);
}

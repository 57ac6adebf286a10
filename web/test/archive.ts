// SPDX-License-Identifier: MIT
import type { Page } from "playwright-core";

/** A file of n chats as the page exports them, each with an answer of so many characters. */
export function archive(n: number, characters = 200): { name: string; mimeType: string; buffer: Buffer } {
  const text = "The quick brown fox jumps over the lazy dog. ".repeat(Math.ceil(characters / 45));
  const day = 86_400_000;
  const chats = Array.from({ length: n }, (_, at) => ({
    id: `imported${at}`,
    title: `Chat number ${at}`,
    created: Date.now() - at * day,
    changed: Date.now() - at * day,
    messages: [
      { id: "q", parent: null, role: "user", created: 1, content: `Question ${at}` },
      { id: "a", parent: "q", role: "assistant", created: 2, content: `${text} Naïve needle${at}.` },
    ],
  }));
  const buffer = Buffer.from(JSON.stringify({ penstock: "chats", version: 1, chats }));
  return { name: "chats.json", mimeType: "application/json", buffer };
}

/** Gives the page a file of chats. */
export async function importFile(page: Page, file: ReturnType<typeof archive>): Promise<void> {
  await page.getByLabel("Import chats").setInputFiles(file);
}

// SPDX-License-Identifier: MIT

// Reads an archive beside the page, which stays quick meanwhile. It gets the file, and answers
// with each chat, then with how it ended.
import { readArchive } from "./archive.ts";
import type { WholeChat } from "./chats.ts";

export type Report = { chat: WholeChat } | { chats: number } | { problem: string };

self.addEventListener("message", async ({ data }: MessageEvent<Blob>) => {
  try {
    const chats = await readArchive(data);
    for (const chat of chats) self.postMessage({ chat } satisfies Report);
    self.postMessage({ chats: chats.length } satisfies Report);
  } catch (error) {
    self.postMessage({ problem: error instanceof Error ? error.message : String(error) } satisfies Report);
  }
});

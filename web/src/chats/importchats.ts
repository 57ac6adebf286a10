// SPDX-License-Identifier: MIT

// Imports an archive of chats, which a worker reads.
import { language } from "../language/language.ts";
import { renamed } from "./archive.ts";
import type { Report } from "./archive.worker.ts";
import type { Chats, WholeChat } from "./chats.ts";

/**
 * Adds the chats of an archive; resolves with their number. Throws what is wrong with the file, in
 * words.
 */
export async function importChats(file: File, chats: Chats): Promise<number> {
  const worker = new Worker(new URL("./archive.worker.ts", import.meta.url), {
    type: "module",
    name: language,
  });
  try {
    return await new Promise<number>((resolve, reject) => {
      let adding = Promise.resolve();
      const add = async (chat: WholeChat) => chats.add(renamed(chat, (id) => chats.has(id)));
      worker.addEventListener("message", ({ data }: MessageEvent<Report>) => {
        if ("chat" in data) adding = adding.then(() => add(data.chat));
        else if ("chats" in data) adding.then(() => resolve(data.chats), reject);
        else reject(new Error(`${file.name} is no export of chats: ${data.problem}.`));
      });
      worker.addEventListener("error", () => reject(new Error(`${file.name} could not be read.`)));
      worker.postMessage(file);
    });
  } finally {
    worker.terminate();
  }
}

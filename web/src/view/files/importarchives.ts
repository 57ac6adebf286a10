// SPDX-License-Identifier: MIT

// Imports archives of chats, and tells how that went.
import type { App } from "../../app.ts";
import { importChats } from "../../chats/importchats.ts";
import { t, tn } from "../../language/language.ts";

/** Imports archives, and tells how that went. */
export async function importArchives(app: App, files: readonly File[]): Promise<void> {
  let count = 0;
  const problems: string[] = [];
  for (const file of files) {
    app.notice.value = t("Reading {name}…", { name: file.name });
    try {
      count += await importChats(file, app.chats);
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error));
    }
  }
  const done = tn(count, "{n} chat is imported.", "{n} chats are imported.");
  app.notice.value = [...(count > 0 || problems.length === 0 ? [done] : []), ...problems].join(" ");
}

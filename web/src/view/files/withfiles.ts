// SPDX-License-Identifier: MIT

// Loads filescode.ts and does something with it.
import type { App } from "../../app.ts";
import { t } from "../../language/language.ts";

type Files = typeof import("./filescode.ts");

/** Does something with files. Its code is loaded then. */
export async function withFiles(app: App, work: (files: Files) => Promise<void>): Promise<void> {
  try {
    await work(await import("./filescode.ts"));
  } catch (error) {
    app.notice.value = t(
      "It could not be done: {error}. If the server was updated meanwhile, reload the page.",
      { error: `${error}` },
    );
  }
}

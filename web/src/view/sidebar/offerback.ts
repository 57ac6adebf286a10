// SPDX-License-Identifier: MIT

// Offers back chats that were deleted.
import type { App } from "../../app.ts";
import type { WholeChat } from "../../chats/chats.ts";
import { t, tn } from "../../language/language.ts";

/** Offers chats back that were deleted; shown is the id of the chat that was shown before. */
export function offerBack(app: App, chats: readonly WholeChat[], text: string, shown: string): void {
  const run = async () => {
    try {
      await app.chats.addAll(chats);
      if (chats.some(({ info }) => info.id === shown)) await app.chats.show(shown);
    } catch (error) {
      app.notice.value = tn(
        chats.length,
        "The chat could not be brought back: {error}",
        "Some chats could not be brought back: {error}",
        { error: `${error}` },
      );
    }
  };
  app.offer.value = { text, action: t("Undo"), run: () => void run() };
}

// SPDX-License-Identifier: MIT

// Deletes a message, and offers to restore it.
import type { Chat } from "../../chats/chat.ts";
import { t } from "../../language/language.ts";
import { useApp } from "../appcontext.ts";
import { focusField } from "./focus.ts";

/** Deletes a message with all that follows it, and offers to put it back. */
export function useRemove(chat: Chat, id: string): () => void {
  const { offer } = useApp();
  return () => {
    const restore = chat.remove(id);
    offer.value = {
      text: t("The message was deleted, with all that followed it."),
      action: t("Undo"),
      run: restore,
    };
    focusField();
  };
}

// SPDX-License-Identifier: MIT

// The properties that a question and an answer share.
import type { Signal } from "@preact/signals";
import type { Chat } from "../../chats/chat.ts";

/** What a question and an answer get. */
export interface MessageProps {
  chat: Chat;
  id: string;
  editing: Signal<string | undefined>; // the message that is being edited
}

// SPDX-License-Identifier: MIT
import type { Signal } from "@preact/signals";
import type { Chat } from "../../chats/chat.ts";
import { Answer } from "./answer.tsx";
import { Question } from "./question.tsx";

export interface MessageProps {
  chat: Chat;
  id: string;
  editing: Signal<string | undefined>; // the message that is being edited
}

/** One message of a chat. */
export function MessageView(props: MessageProps) {
  const { role } = props.chat.tree.node(props.id).peek();
  return role === "user" ? <Question {...props} /> : <Answer {...props} />;
}

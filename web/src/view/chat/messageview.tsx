// SPDX-License-Identifier: MIT

// A message: a question or an answer.
import { Answer } from "./answer.tsx";
import type { MessageProps } from "./messageprops.ts";
import { Question } from "./question.tsx";

/** One message of a chat. */
export function MessageView(props: MessageProps) {
  const { role } = props.chat.tree.node(props.id).peek();
  return role === "user" ? <Question {...props} /> : <Answer {...props} />;
}

// SPDX-License-Identifier: MIT
import { useComputed } from "@preact/signals";
import { useApp } from "../../app.ts";
import type { Chat } from "../../chats/chat.ts";
import type { Message } from "../../chats/message.ts";
import { remedy } from "../../host/remedy.ts";
import { copyText } from "../clipboard.ts";
import { summary } from "./outcome.ts";
import { Prose } from "./prose.tsx";

interface Props {
  chat: Chat;
  id: string;
}

/** One message of a chat. */
export function MessageView({ chat, id }: Props) {
  return chat.tree.node(id).peek().role === "user" ? (
    <Question chat={chat} id={id} />
  ) : (
    <Answer chat={chat} id={id} />
  );
}

function Question({ chat, id }: Props) {
  const message = chat.tree.node(id).value;
  return (
    <section class="message">
      <p class="question">{message.content}</p>
      <div class="tools asked">
        <Branches chat={chat} id={id} />
      </div>
    </section>
  );
}

function Answer({ chat, id }: Props) {
  const node = chat.tree.node(id);
  const text = useComputed(() => node.value.content);
  const phase = useComputed(() => node.value.answer?.phase ?? "done");
  const done = useComputed(() => phase.value === "done");
  return (
    // A screen reader waits for the end instead of reading single tokens.
    <article
      class="message answer"
      aria-label="Answer"
      data-message={id}
      data-phase={phase}
      aria-busy={!done.value}
    >
      <Prose text={text} done={done} />
      <Problem message={node.value} />
      <div class="tools">
        <span class="facts">{node.value.answer && summary(node.value.answer)}</span>
        {done.value && <AnswerTools chat={chat} id={id} />}
        <Branches chat={chat} id={id} />
      </div>
    </article>
  );
}

function AnswerTools({ chat, id }: Props) {
  const { drawer } = useApp();
  const { content, answer } = chat.tree.node(id).value;
  const failed = answer?.outcome?.reason === "error";
  return (
    <>
      {content !== "" && (
        <button type="button" class="link" onClick={() => void copyText(content)}>
          Copy
        </button>
      )}
      <button type="button" class="link" onClick={() => chat.answerAgain(id)}>
        {failed ? "Try again" : "Regenerate"}
      </button>
      <button
        type="button"
        class="link"
        title="How each token was chosen"
        onClick={() => {
          drawer.value = { kind: "inspector", message: id, token: 0 };
        }}
      >
        Inspect
      </button>
    </>
  );
}

function Problem({ message }: { message: Message }) {
  const error = message.answer?.outcome?.error;
  if (error === undefined) return null;
  return (
    <div class="problem" role="alert">
      <strong>{error.message}</strong>
      <span>{remedy(error)}</span>
    </div>
  );
}

/** Which of several messages in one place this is, and the way to the others. */
function Branches({ chat, id }: Props) {
  const siblings = chat.tree.siblings(id);
  if (siblings.length < 2) return null;
  const at = siblings.indexOf(id);
  const step = (by: number, name: string, sign: string) => {
    const other = siblings[at + by];
    return (
      <button
        type="button"
        class="link"
        aria-label={name}
        disabled={other === undefined}
        onClick={() => other !== undefined && chat.tree.show(other)}
      >
        {sign}
      </button>
    );
  };
  return (
    <span class="branches">
      {step(-1, "Previous version", "‹")} {at + 1} of {siblings.length} {step(1, "Next version", "›")}
    </span>
  );
}

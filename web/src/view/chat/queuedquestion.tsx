// SPDX-License-Identifier: MIT

// The question that waits for the answer before it.
import type { Chat } from "../../chats/chat.ts";
import { openCalls } from "../../chats/message.ts";
import { t } from "../../language/language.ts";
import { useApp } from "../appcontext.ts";
import { focusField } from "./focus.ts";

/** The question that is sent once the answer before it has ended. */
export function QueuedQuestion({ chat, place }: { chat: Chat; place: string }) {
  const { queue, drafts } = useApp();
  const draft = queue.of(chat.id);
  if (draft === undefined) return null;
  const edit = () => {
    const { text, files } = queue.take(chat.id);
    const now = drafts.of(place).peek();
    drafts.change(place, {
      text: now.text === "" ? text : `${text}\n\n${now.text}`,
      files: [...files, ...now.files],
    });
    focusField();
  };
  const remove = () => {
    queue.take(chat.id);
    focusField();
  };
  const { run } = chat;
  const { leaf } = chat.tree;
  const asks = leaf !== undefined && openCalls(leaf).length > 0;
  const why = asks
    ? t("Not sent: the answer before it asks for a tool")
    : t("Not sent: the answer before it failed");
  return (
    <section class="queued" aria-label={t("Your next question")}>
      <p dir="auto">{draft.text === "" ? t("Files") : draft.text}</p>
      <small>{run === undefined ? why : t("Sent when this answer ends")}</small>
      {run === undefined && (
        <button type="button" class="link" onClick={() => queue.send(chat)}>
          {t("Send now")}
        </button>
      )}
      <button type="button" class="link" onClick={edit}>
        {t("Edit")}
      </button>
      <button type="button" class="link" onClick={remove}>
        {t("Remove")}
      </button>
    </section>
  );
}

// SPDX-License-Identifier: MIT
import type { Chat } from "../chat.ts";
import type { Connection } from "../connection.ts";
import { byId } from "./dom.ts";

/** The message field with its send and stop button, and the keys of the page. */
export function showComposer(chat: Chat, connection: Connection): void {
  const form = byId("composer", HTMLFormElement);
  const question = byId("question", HTMLTextAreaElement);
  const send = byId("send", HTMLButtonElement);
  const stop = byId("stop", HTMLButtonElement);

  const update = () => {
    const stopHadFocus = document.activeElement === stop;
    send.hidden = chat.busy;
    stop.hidden = !chat.busy;
    send.disabled = question.value.trim() === "" || connection.status.kind !== "online";
    if (stopHadFocus && stop.hidden) question.focus(); // a hidden button would lose it
  };
  const submit = () => {
    if (chat.busy || send.disabled) return;
    chat.send(question.value);
    question.value = "";
    fit(question);
    update();
  };

  chat.conversation.changes.listen(update);
  connection.changes.listen(update);
  question.addEventListener("input", () => {
    fit(question);
    update();
  });
  question.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    submit();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  stop.addEventListener("click", () => chat.stop());
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && document.querySelector("dialog[open]") === null) chat.stop();
  });
  byId("new-chat", HTMLButtonElement).addEventListener("click", () => {
    chat.reset();
    question.focus();
  });

  update();
  question.focus();
}

/** Makes the field as high as its text; the style sheet sets the limit. */
function fit(field: HTMLTextAreaElement): void {
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight}px`;
}

// SPDX-License-Identifier: MIT

import type { Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Chat } from "../../chats/chat.ts";
// Versions of an answer side by side.
import { columnWords } from "../../settings/strategies.ts";
import { useApp } from "../appcontext.ts";
import { focusField } from "./focus.ts";
import { MessageView } from "./messageview.tsx";

interface Props {
  chat: Chat;
  shown: string; // the version that the chat goes on from
  versions: readonly string[];
  editing: Signal<string | undefined>;
}

const numbers = ["", "One", "Two", "Three", "Four"];

/**
 * Versions of an answer side by side: those of columns, of a fork, or of a word that was chosen.
 * What differs is marked once all are written. The one that is kept is the chat's; the others stay
 * as its versions.
 */
export function Columns({ chat, shown, versions, editing }: Props) {
  useDifferences(chat, versions);
  const close = () => {
    chat.beside.value = [];
    focusField();
  };
  const keep = (id: string) => {
    chat.tree.show(id);
    close();
  };
  return (
    <section
      class="pair"
      aria-label={`${numbers[versions.length]} versions of this answer`}
      style={{ "--columns": String(versions.length) }}
    >
      <button type="button" class="link" onClick={close}>
        Show one of them
      </button>
      {versions.map((id, i) => (
        <div key={id} class="column" data-shown={id === shown}>
          <header>
            <strong>{columnOf(chat, id) ?? `Version ${i + 1}`}</strong>
            <button type="button" class="quiet" onClick={() => keep(id)}>
              Keep version {i + 1}
            </button>
          </header>
          <MessageView chat={chat} id={id} editing={editing} />
        </div>
      ))}
    </section>
  );
}

/** What the column of an answer is called, if it was asked for in columns. */
function columnOf(chat: Chat, id: string): string | undefined {
  const { column } = chat.tree.node(id).peek().answer ?? {};
  return column === undefined ? undefined : columnWords(column);
}

/** Marks what differs, once all versions are written. */
function useDifferences(chat: Chat, versions: readonly string[]): void {
  const { answers } = useApp();
  const all = versions.join(" ");
  const done = !versions.some((id) => answers.running.value.has(id));
  const texts = done ? versions.map((id) => (chat.tree.has(id) ? chat.tree.node(id).value.content : "")) : [];
  const written = texts.join("\n");
  useEffect(() => {
    if (!done || written === "") return undefined;
    const marking = import("../drawndifferences.ts").then(({ markDifferences }) =>
      markDifferences(all.split(" ")),
    );
    return () => void marking.then((end) => end()).catch(() => {});
  }, [all, done, written]);
}

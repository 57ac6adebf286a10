// SPDX-License-Identifier: MIT

// The editor of a message that was sent.
import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Attachment } from "../../chats/message.ts";
import { t } from "../../language/language.ts";
import { onEscape } from "../escape.ts";
import { QuestionFiles } from "./questionfiles.tsx";

interface Props {
  label: string;
  action: string;
  text: string;
  files: readonly Attachment[];
  lines?: boolean; // Enter breaks the line; else it is as the button
  onCancel(): void;
  onDone(text: string, files: Attachment[]): void;
}

/**
 * Changes the text of a message. The message stays as it is: a new one beside it has the new text.
 */
export function MessageEditor({ label, action, text, files, lines = false, onCancel, onDone }: Props) {
  const field = useRef<HTMLTextAreaElement>(null);
  const draft = useSignal(text);
  const kept = useSignal([...files]);
  useLayoutEffect(() => {
    field.current?.focus();
    field.current?.setSelectionRange(text.length, text.length);
  }, [text]);
  const empty = draft.value.trim() === "" && kept.value.length === 0;
  const done = (event: Event) => {
    event.preventDefault();
    if (!empty) onDone(draft.peek().trim(), kept.peek());
  };
  const leave = onEscape(onCancel);
  const keys = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (lines ? event.ctrlKey || event.metaKey : !event.shiftKey)) done(event);
    leave(event);
  };
  return (
    <form class="editor" onSubmit={done}>
      <QuestionFiles
        files={kept.value}
        onRemove={(file) => {
          kept.value = kept.peek().filter((other) => other !== file);
        }}
      />
      <textarea
        ref={field}
        dir="auto"
        aria-label={label}
        value={draft}
        onInput={(event) => {
          draft.value = event.currentTarget.value;
        }}
        onKeyDown={keys}
      />
      <footer>
        <button type="button" class="quiet" onClick={onCancel}>
          {t("Cancel")}
        </button>
        <button type="submit" class="primary" disabled={empty}>
          {action}
        </button>
      </footer>
    </form>
  );
}

// SPDX-License-Identifier: MIT
import { type ReadonlySignal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { useApp } from "../../app.ts";
import type { Chat } from "../../chats/chat.ts";
import { Icon } from "../icon.tsx";

interface Props {
  chat: Chat;
  away: ReadonlySignal<boolean>;
  toEnd(): void;
}

/** The message field with its send and stop button. */
export function Composer({ chat, away, toEnd }: Props) {
  const { connection } = useApp();
  const draft = useSignal("");
  const field = useRef<HTMLTextAreaElement>(null);
  const { run } = chat;
  const ready = connection.status.value.kind === "online" && draft.value.trim() !== "" && run === undefined;

  useEffect(() => field.current?.focus(), [chat]);
  useEffect(() => {
    const stop = (event: KeyboardEvent) => {
      if (event.key === "Escape" && document.querySelector("dialog[open]") === null) chat.run?.stop();
    };
    document.addEventListener("keydown", stop);
    return () => document.removeEventListener("keydown", stop);
  }, [chat]);
  const submit = (event: Event) => {
    event.preventDefault();
    if (!ready) return;
    chat.ask(draft.value.trim());
    draft.value = "";
    toEnd();
  };

  return (
    <footer class="dock">
      {away.value && (
        <button type="button" class="latest" onClick={toEnd}>
          <Icon name="down" />
          Latest
        </button>
      )}
      <form class="composer" onSubmit={submit}>
        <label for="question" class="hidden">
          Your message
        </label>
        <textarea
          id="question"
          ref={field}
          rows={1}
          placeholder="Ask anything"
          autocomplete="off"
          enterkeyhint="send"
          aria-describedby="keys"
          value={draft}
          onInput={(event) => {
            draft.value = event.currentTarget.value;
          }}
          onKeyDown={(event) => {
            if (event.key === "Enter" && !event.shiftKey && !event.isComposing) submit(event);
          }}
        />
        {run === undefined ? (
          <button type="submit" class="round" aria-label="Send" title="Send (Enter)" disabled={!ready}>
            <Icon name="up" />
          </button>
        ) : (
          <button type="button" class="round" aria-label="Stop" title="Stop (Esc)" onClick={() => run.stop()}>
            <Icon name="stop" />
          </button>
        )}
      </form>
      <p id="keys" class="keys">
        <kbd>Enter</kbd> sends, <kbd>Shift</kbd>+<kbd>Enter</kbd> breaks the line, <kbd>Esc</kbd> stops
      </p>
    </footer>
  );
}

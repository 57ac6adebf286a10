// SPDX-License-Identifier: MIT

// The chat view: its messages, and the field for the next one.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { useApp } from "../appcontext.ts";
import { Composer } from "./composer.tsx";
import { useFollower } from "./followend.ts";
import { MessageView } from "./messageview.tsx";
import { Welcome } from "./welcome.tsx";

/** Two versions of an answer beside each other, as after a fork. */
function Pair({ children, close }: { children: ComponentChildren; close(): void }) {
  return (
    <section class="pair" aria-label="Two versions of this answer">
      <button type="button" class="link" onClick={close}>
        Show one of them
      </button>
      {children}
    </section>
  );
}

/** The messages of the chat that is shown, and the field for the next one. */
export function ChatView() {
  const { chats, sought, beside } = useApp();
  const chat = chats.current.value;
  const editing = useSignal<string | undefined>(undefined);
  const path = chat.tree.path.value;
  const { scroller, content, away, toEnd } = useFollower(chat, path.length === 0);
  const wanted = sought.value;
  useLayoutEffect(() => {
    if (wanted === undefined || !path.includes(wanted)) return;
    content.current?.querySelector(`[data-message="${CSS.escape(wanted)}"]`)?.scrollIntoView();
    sought.value = undefined;
  }, [wanted, path, content, sought]);
  return (
    <>
      <main id="scroller" ref={scroller}>
        {path.length === 0 && <Welcome chat={chat} />}
        <div class="transcript" role="log" aria-label="Conversation" ref={content}>
          {path.map((id) => {
            const other = beside.value;
            const pair = other !== undefined && other !== id && chat.tree.siblings(id).includes(other);
            const message = <MessageView key={id} chat={chat} id={id} editing={editing} />;
            return pair ? (
              <Pair key={id} close={() => (beside.value = undefined)}>
                <MessageView key={other} chat={chat} id={other} editing={editing} />
                {message}
              </Pair>
            ) : (
              message
            );
          })}
        </div>
      </main>
      <Composer key={chat.id} chat={chat} away={away} toEnd={toEnd} editing={editing} />
    </>
  );
}

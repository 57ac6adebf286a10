// SPDX-License-Identifier: MIT

// The chat view: its messages, and the field for the next one.
import { useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { useApp } from "../appcontext.ts";
import { Columns } from "./columns.tsx";
import { Composer } from "./composer.tsx";
import { useFollower } from "./followend.ts";
import { MessageView } from "./messageview.tsx";
import { Welcome } from "./welcome.tsx";

/** The messages of the chat that is shown, and the field for the next one. */
export function ChatView() {
  const { chats, sought } = useApp();
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
            const beside = chat.beside.value;
            const versions = beside.includes(id)
              ? chat.tree.siblings(id).filter((version) => beside.includes(version))
              : [];
            return versions.length > 1 ? (
              <Columns key={versions[0]} chat={chat} shown={id} versions={versions} editing={editing} />
            ) : (
              <MessageView key={id} chat={chat} id={id} editing={editing} />
            );
          })}
        </div>
      </main>
      <Composer key={chat.id} chat={chat} away={away} toEnd={toEnd} editing={editing} />
    </>
  );
}

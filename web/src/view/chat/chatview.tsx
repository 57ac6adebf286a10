// SPDX-License-Identifier: MIT

// The chat view: its messages, and the field for the next one.
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Chat, Sought } from "../../chats/chat.ts";
import { t } from "../../language/language.ts";
import { useApp } from "../appcontext.ts";
import { Columns } from "./columns.tsx";
import { Composer } from "./composer.tsx";
import { useFollower } from "./followend.ts";
import { MessageView } from "./messageview.tsx";
import { Welcome } from "./welcome.tsx";

/** The messages of the chat that is shown, and the field for the next one. */
export function ChatView() {
  const { chats } = useApp();
  const chat = chats.current.value;
  const editing = useSignal<string | undefined>(undefined);
  const path = chat.tree.path.value;
  const { scroller, content, away, show } = useFollower(chat, path.length === 0);
  const sought = chat.sought.value;
  const drawn = useDrawn(chat, path, sought);
  useLayoutEffect(() => {
    if (sought === undefined) return;
    if (sought === "end") show("end");
    else {
      const message = content.current?.querySelector(`[data-message="${CSS.escape(sought.message)}"]`);
      if (message == null) return; // it comes with the path that leads to it
      show(message);
    }
    chat.sought.value = undefined;
  }); // after each drawing: the message may come with a later one
  return (
    <>
      <main id="scroller" ref={scroller}>
        {path.length === 0 && <Welcome chat={chat} />}
        <div
          class="transcript"
          role="log"
          aria-label={t("Conversation")}
          aria-busy={drawn.length < path.length}
          ref={content}
        >
          {drawn.map((id) => {
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
      <Composer key={chat.id} chat={chat} away={away} toEnd={() => show("end")} editing={editing} />
    </>
  );
}

const atOnce = 8; // messages at the end of a chat: usually more than a window shows
const step = 4; // messages that are drawn when the browser has nothing else to do

/**
 * The messages of a path that are drawn: of a long one its end at once, so that it can be read, and
 * what comes before it bit by bit.
 */
function useDrawn(chat: Chat, path: readonly string[], sought: Sought | undefined): readonly string[] {
  const left = useRef<{ chat: Chat; count: number } | undefined>(undefined); // at the beginning
  const turn = useSignal(0);
  const wanted = typeof sought === "object" ? path.indexOf(sought.message) : -1;
  const before = left.current?.chat === chat ? left.current.count : path.length;
  const count = Math.max(0, Math.min(before, path.length - atOnce, wanted < 0 ? before : wanted));
  left.current = { chat, count };
  const now = turn.value;
  useEffect(() => {
    if (count === 0) return;
    return whenIdle(() => {
      left.current = { chat, count: count - step };
      turn.value = now + 1;
    });
  }, [chat, count, turn, now]);
  return path.slice(count);
}

/** Does work when the browser has time, unless the result is called first. */
function whenIdle(work: () => void): () => void {
  if (!("requestIdleCallback" in window)) {
    const timer = setTimeout(work, 30);
    return () => clearTimeout(timer);
  }
  const asked = requestIdleCallback(work);
  return () => cancelIdleCallback(asked);
}

// SPDX-License-Identifier: MIT

// The list of chats, by day.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { byDay } from "../../chats/daygroups.ts";
import { useApp } from "../appcontext.ts";
import { useDrop } from "./allchats.tsx";
import { ChatEntry } from "./chatentry.tsx";

/** All chats, by the day of their last question. Files can be dropped on them. */
export function ChatList() {
  const { chats, store } = useApp();
  const list = chats.list.value;
  const now = useNow();
  const drop = useDrop();
  return (
    <div class="chats" {...drop}>
      {list.length === 0 && (
        <p class="empty">
          {store.lasts ? "Your chats will be kept here, in this browser only." : "Chats are not kept here."}
        </p>
      )}
      {byDay(list, now).map(({ name, items }) => (
        <section key={name} aria-label={name}>
          <h2>{name}</h2>
          <ul>
            {items.map((chat) => (
              <ChatEntry key={chat.id} chat={chat} />
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

/** The time, as far as days need it: anew when the page is looked at again. */
function useNow(): number {
  const now = useSignal(Date.now());
  useEffect(() => {
    const look = () => {
      now.value = Date.now();
    };
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, [now]);
  return Math.max(now.value, useApp().chats.list.value[0]?.changed ?? 0);
}

// SPDX-License-Identifier: MIT

// The list of chats: those that are pinned, folders, then days.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { type ChatGroup, chatGroups } from "../../chats/chatgroups.ts";
import type { ChatInfo } from "../../chats/chatinfo.ts";
import { t } from "../../language/language.ts";
import { useApp } from "../appcontext.ts";
import { Icon } from "../icon.tsx";
import { useDrop } from "./allchats.tsx";
import { ChatEntry } from "./chatentry.tsx";

/** All chats, most of them by the day of their last question. Files can be dropped on them. */
export function ChatList() {
  const { chats, store } = useApp();
  const list = chats.list.value;
  const now = useNow();
  const drop = useDrop();
  return (
    <div class="chats" {...drop}>
      {list.length === 0 && (
        <p class="empty">
          {store.lasts
            ? t("Your chats will be kept here, in this browser only.")
            : t("Chats are not kept here.")}
        </p>
      )}
      {chatGroups(list, now).map((group) => (
        <Group key={`${group.folder} ${group.name}`} group={group} />
      ))}
    </div>
  );
}

/** Chats below their heading, which opens and closes a folder. */
function Group({ group: { name, folder, items } }: { group: ChatGroup<ChatInfo> }) {
  const { closed } = useApp().layout.preferences;
  const open = !folder || !closed.value.includes(name);
  const toggle = () => {
    const others = closed.peek().filter((other) => other !== name);
    closed.value = open ? [...others, name] : others;
  };
  return (
    <section aria-label={name}>
      <h2 data-folder={folder}>
        {folder ? (
          <button type="button" aria-expanded={open} onClick={toggle}>
            <Icon name="chevron" />
            <span dir="auto">{name}</span>
            {!open && <small>{items.length}</small>}
          </button>
        ) : (
          name
        )}
      </h2>
      {open && (
        <ul>
          {items.map((chat) => (
            <ChatEntry key={chat.id} chat={chat} />
          ))}
        </ul>
      )}
    </section>
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
  return useApp().chats.list.value.reduce((newest, { changed }) => Math.max(newest, changed), now.value);
}

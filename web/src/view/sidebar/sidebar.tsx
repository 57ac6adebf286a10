// SPDX-License-Identifier: MIT
import { useApp, type View } from "../../app.ts";
import { Icon } from "../icon.tsx";

/** The way to everything: the views and the chats. */
export function Sidebar() {
  const { chats } = useApp();
  return (
    <nav class="sidebar" aria-label="Chats and views">
      <h1 class="brand">
        <img src="favicon.svg" alt="" width="26" height="26" />
        Penstock
      </h1>
      <button type="button" class="quiet" onClick={() => chats.begin()}>
        <Icon name="plus" />
        New chat
      </button>
      <ul class="chats">
        {chats.list.value.map((chat) => (
          <li key={chat.id}>
            <a
              href={`#/chat/${chat.id}`}
              aria-current={chat.id === chats.current.value.id ? "page" : undefined}
            >
              {chat.title}
            </a>
          </li>
        ))}
      </ul>
      <ul class="views">
        <ViewLink view="plugins" name="Plugins" />
        <ViewLink view="live" name="Live" />
      </ul>
    </nav>
  );
}

function ViewLink({ view, name }: { view: View; name: string }) {
  return (
    <li>
      <a href={`#/${view}`} aria-current={useApp().view.value === view ? "page" : undefined}>
        {name}
      </a>
    </li>
  );
}

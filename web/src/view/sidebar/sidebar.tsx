// SPDX-License-Identifier: MIT

// The sidebar: views, search and chats.
import { type Signal, useSignal } from "@preact/signals";
import type { View } from "../../app.ts";
import { useApp } from "../appcontext.ts";
import { useCover } from "../cover.ts";
import { onEscape } from "../escape.ts";
import { Icon } from "../icon.tsx";
import { Toast } from "../toast.tsx";
import { AllChats } from "./allchats.tsx";
import { ChatList } from "./chatlist.tsx";
import { LanguageChoice } from "./languagechoice.tsx";
import { SearchResults } from "./searchresults.tsx";
import { ThemeChoice } from "./themechoice.tsx";

/**
 * The way to everything. Beside the chat where there is room; else it covers the chat, and keeps
 * the focus, until something is chosen.
 */
export function Sidebar() {
  const { layout } = useApp();
  if (!layout.sidebar.value) return null;
  if (layout.narrow.value) return <Cover />;
  return (
    <nav class="sidebar" aria-label="Chats and views" onKeyDown={walk}>
      <Content />
    </nav>
  );
}

function Cover() {
  const { layout } = useApp();
  const dialog = useCover();
  const close = () => layout.show(false);
  return (
    <dialog
      class="cover"
      aria-label="Chats and views"
      ref={dialog}
      onClose={close}
      onPointerDown={(event) => event.target === dialog.current && close()} // beside its content is its backdrop
    >
      <nav class="sidebar" aria-label="Chats and views" onKeyDown={walk}>
        <Content />
      </nav>
      <Toast />
    </dialog>
  );
}

function Content() {
  const { chats, layout, view } = useApp();
  const query = useSignal("");
  const begin = () => {
    view.value = "chat";
    chats.begin();
    layout.chosen();
  };
  return (
    <>
      <header>
        <p class="brand">
          <img src="favicon.svg" alt="" width="26" height="26" />
          Penstock
        </p>
        <button
          type="button"
          class="quiet"
          aria-label="Close the sidebar"
          title="Close the sidebar (B)"
          onClick={() => layout.show(false)}
        >
          <Icon name="sidebar" />
        </button>
      </header>
      <button type="button" class="new" title="New chat (N)" onClick={begin}>
        <Icon name="compose" />
        New chat
      </button>
      <label class="search">
        <Icon name="search" />
        <span class="hidden">Search chats</span>
        <input
          id="search"
          type="search"
          placeholder="Search chats"
          autocomplete="off"
          value={query}
          onInput={(event) => {
            query.value = event.currentTarget.value;
          }}
          onKeyDown={leaveSearch(query)}
        />
      </label>
      {query.value.trim() === "" ? <ChatList /> : <SearchResults query={query} />}
      <ul class="views">
        <ViewLink view="models" name="Models" icon="models" />
        <ViewLink view="plugins" name="Plugins" icon="plug" />
        <ViewLink view="live" name="Live" icon="pulse" />
      </ul>
      <footer>
        <ThemeChoice />
        <LanguageChoice />
        <AllChats />
      </footer>
    </>
  );
}

/** Escape empties the field, and leaves one that is empty: the next letter is a shortcut again. */
function leaveSearch(query: Signal<string>) {
  return (event: KeyboardEvent & { currentTarget: HTMLElement }) => {
    const field = event.currentTarget;
    if (query.peek() === "" && field.closest("dialog") !== null) return; // it closes the sidebar
    onEscape(() => {
      if (query.peek() === "") field.blur();
      query.value = "";
    })(event);
  };
}

/** The arrows walk from the field for the search through the chats below it, and back. */
function walk(event: KeyboardEvent & { currentTarget: HTMLElement }): void {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const stops = [...event.currentTarget.querySelectorAll<HTMLElement>("#search, .entry > a")];
  const at = stops.indexOf(event.target as HTMLElement);
  const next = by === undefined || at < 0 ? undefined : stops[at + by];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}

function ViewLink({ view, name, icon }: { view: View; name: string; icon: "models" | "plug" | "pulse" }) {
  const app = useApp();
  return (
    <li>
      <a
        href={`#/${view}`}
        aria-current={app.view.value === view ? "page" : undefined}
        onClick={() => app.layout.chosen()}
      >
        <Icon name={icon} />
        {name}
      </a>
    </li>
  );
}

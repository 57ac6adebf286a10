// SPDX-License-Identifier: MIT

// The sidebar: views, search and chats.
import { type Signal, useSignal } from "@preact/signals";
import { t } from "../../language/language.ts";
import { useApp } from "../appcontext.ts";
import { useCover } from "../cover.ts";
import { onEscape } from "../escape.ts";
import { Icon } from "../icon.tsx";
import { Toast } from "../toast.tsx";
import { viewNames } from "../viewnames.ts";
import { AllChats } from "./allchats.tsx";
import { ChatList } from "./chatlist.tsx";
import { LanguageChoice } from "./languagechoice.tsx";
import { SearchResults } from "./searchresults.tsx";
import { ThemeChoice } from "./themechoice.tsx";

const program = "Penstock";

/**
 * The way to everything. Beside the chat where there is room; else it covers the chat, and keeps
 * the focus, until something is chosen.
 */
export function Sidebar() {
  const { layout } = useApp();
  if (!layout.sidebar.value) return null;
  if (layout.narrow.value) return <Cover />;
  return (
    <nav class="sidebar" aria-label={t("Chats and views")} onKeyDown={walk}>
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
      aria-label={t("Chats and views")}
      ref={dialog}
      onClose={close}
      onPointerDown={(event) => event.target === dialog.current && close()} // beside its content is its backdrop
    >
      <nav class="sidebar" aria-label={t("Chats and views")} onKeyDown={walk}>
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
          {program}
        </p>
        <button
          type="button"
          class="quiet"
          aria-label={t("Close the sidebar")}
          title={t("Close the sidebar (B)")}
          onClick={() => layout.show(false)}
        >
          <Icon name="sidebar" />
        </button>
      </header>
      <button type="button" class="new" title={t("New chat (N)")} onClick={begin}>
        <Icon name="compose" />
        {t("New chat")}
      </button>
      <label class="search">
        <Icon name="search" />
        <span class="hidden">{t("Search chats")}</span>
        <input
          id="search"
          type="search"
          placeholder={t("Search chats")}
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
        <ViewLink view="models" icon="models" />
        <ViewLink view="plugins" icon="plug" />
        <ViewLink view="live" icon="pulse" />
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

function ViewLink({ view, icon }: { view: keyof typeof viewNames; icon: "models" | "plug" | "pulse" }) {
  const app = useApp();
  return (
    <li>
      <a
        href={`#/${view}`}
        aria-current={app.view.value === view ? "page" : undefined}
        onClick={() => app.layout.chosen()}
      >
        <Icon name={icon} />
        {viewNames[view]}
      </a>
    </li>
  );
}

// SPDX-License-Identifier: MIT

// The chats that a search has found.
import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { App } from "../../app.ts";
import { type Hit, searchChats } from "../../chats/search.ts";
import { t, tn } from "../../language/language.ts";
import { useApp } from "../appcontext.ts";

const pause = 150; // milliseconds without a key until the search begins
const most = 100; // chats that are shown

interface Found {
  hits: readonly Hit[];
  done: boolean;
}

/** The chats that have the words of a query, with the place in which they stand. */
export function SearchResults({ query }: { query: Signal<string> }) {
  const { hits, done } = useSearch(query.value).value;
  return (
    <div class="chats" aria-busy={!done}>
      <p class="empty" role="status">
        {words(hits.length, done)}
      </p>
      <ul>
        {hits.map((hit) => (
          <Result key={hit.chat.id} hit={hit} />
        ))}
      </ul>
    </div>
  );
}

function words(count: number, done: boolean): string {
  if (!done) return t("Searching…");
  if (count === 0) return t("No chat has these words.");
  if (count === most) return t("The first {n} chats", { n: most });
  return tn(count, "{n} chat", "{n} chats");
}

/** Shows a chat, at the message that was found in it. */
export async function showHit({ chats, layout, view }: App, { chat, message }: Hit): Promise<void> {
  view.value = "chat";
  layout.chosen();
  const shown = await chats.show(chat.id);
  if (!shown || message === undefined) return;
  const found = chats.current.peek();
  found.tree.reveal(message);
  found.sought.value = { message };
}

function Result({ hit }: { hit: Hit }) {
  const app = useApp();
  const { chat, passage } = hit;
  const open = (event: Event) => {
    event.preventDefault();
    void showHit(app, hit);
  };
  return (
    <li class="entry result">
      <a
        href={`#/chat/${chat.id}`}
        aria-current={app.chats.current.value.id === chat.id ? "page" : undefined}
        onClick={open}
      >
        <span class="name" dir="auto">
          {chat.title}
        </span>
        {passage !== undefined && (
          <span class="passage" dir="auto">
            {passage.before}
            <mark>{passage.match}</mark>
            {passage.after}
          </span>
        )}
      </a>
    </li>
  );
}

/** Searches anew when the query changes, and gives up the search before. */
export function useSearch(query: string): Signal<Found> {
  const { chats, store } = useApp();
  const found = useSignal<Found>({ hits: [], done: false });
  useEffect(() => {
    const stop = new AbortController();
    found.value = { ...found.peek(), done: false };
    const timer = setTimeout(async () => {
      const hits: Hit[] = [];
      for await (const hit of searchChats(
        query,
        chats.list.peek(),
        (id) => store.messages(id),
        stop.signal,
      )) {
        hits.push(hit);
        if (hits.length === most) break;
      }
      if (!stop.signal.aborted) found.value = { hits, done: true };
    }, pause);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [query, chats, store, found]);
  return found;
}

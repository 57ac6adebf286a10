// SPDX-License-Identifier: MIT

// The palette: finds chats, and does what the page can do, by a few letters.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Hit } from "../../chats/search.ts";
import { t } from "../../language/language.ts";
import { once } from "../../once.ts";
import { useApp } from "../appcontext.ts";
import { useCover } from "../cover.ts";
import { type ChoiceGroup, Finder } from "../finder/finder.tsx";
import { paletteShown } from "../shortcuts/shown.ts";
import { showHit, useSearch } from "../sidebar/searchresults.tsx";

const loadCommands = once(() => import("./commands.ts"));
const most = 8; // chats

/** The palette, while it is shown. */
export function Palette() {
  return paletteShown.value ? <Shown /> : null;
}

function Shown() {
  const app = useApp();
  const dialog = useCover();
  const query = useSignal("");
  const commands = useSignal<readonly ChoiceGroup[] | undefined>(undefined);
  const close = () => {
    paletteShown.value = false;
  };
  useEffect(() => {
    loadCommands().then(
      ({ commandsOf }) => {
        commands.value = commandsOf(app, query.value);
      },
      () => {
        commands.value = []; // the chats can be found nevertheless
      },
    );
  }, [app, query.value, commands]);
  const chats = useChats(query.value);
  return (
    <dialog
      class="palette"
      aria-label={t("Find chats and commands")}
      ref={dialog}
      onClose={() => dialog.current && close()} // the event may come when another one is shown
      onPointerDown={(event) => event.target === dialog.current && close()} // beside its content is its backdrop
    >
      <Finder
        label={t("Find chats and commands")}
        query={query}
        groups={[...(commands.value ?? []), chats.group]}
        none={chats.done && commands.value !== undefined ? t("Nothing has these words.") : t("Searching…")}
        close={() => {
          dialog.current?.close();
          close(); // at once, so that a key that follows can show the palette again
        }}
      />
    </dialog>
  );
}

/** The chats that have the words, or the newest. */
function useChats(query: string): { group: ChoiceGroup; done: boolean } {
  const app = useApp();
  const words = query.trim();
  const { hits, done } = useSearch(words).value;
  const newest = app.chats.list.value.map((chat) => ({ chat }));
  const found: readonly Hit[] = words === "" ? newest : hits;
  const choices = found.slice(0, most).map((hit) => ({
    key: `chat ${hit.chat.id}`,
    title: hit.chat.title,
    ...(hit.passage !== undefined && {
      detail: `${hit.passage.before}${hit.passage.match}${hit.passage.after}`,
    }),
    run: () => void showHit(app, hit),
  }));
  return { group: { name: t("Chats"), choices }, done: words === "" || done };
}

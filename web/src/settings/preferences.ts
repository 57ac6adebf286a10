// SPDX-License-Identifier: MIT

// How a person wants the page to be: theme, sidebar, shortcuts and titles.
import { effect, type Signal, signal } from "@preact/signals";
import type { SmallStorage } from "../storage.ts";

const item = "penstock.page"; // public/theme.js reads it, too

export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

/** How a person wants the page to be, kept in the browser from one visit to the next. */
export class Preferences {
  readonly theme: Signal<Theme>;
  readonly sidebar: Signal<boolean>; // is open, where there is room beside the chat
  readonly keys: Signal<boolean>; // single letters are shortcuts
  readonly titles: Signal<boolean>; // the model gives chats their titles
  readonly closed: Signal<readonly string[]>; // folders whose chats are not shown

  constructor(storage: Pick<SmallStorage, "getItem" | "setItem">) {
    const kept = read(storage.getItem(item));
    this.theme = signal(themes.find((theme) => theme === kept.theme) ?? "system");
    this.sidebar = signal(kept.sidebar !== false);
    this.keys = signal(kept.keys !== false);
    this.titles = signal(kept.titles !== false);
    this.closed = signal(Array.isArray(kept.closed) ? kept.closed.map(String) : []);
    let first = true;
    effect(() => {
      const now = {
        theme: this.theme.value,
        sidebar: this.sidebar.value,
        keys: this.keys.value,
        titles: this.titles.value,
        closed: this.closed.value,
      };
      if (!first) storage.setItem(item, JSON.stringify(now));
      first = false;
    });
  }
}

/** What was stored can be of any shape. */
function read(text: string | null): Partial<Record<keyof Preferences, unknown>> {
  try {
    return Object(JSON.parse(text ?? "{}"));
  } catch {
    return {};
  }
}

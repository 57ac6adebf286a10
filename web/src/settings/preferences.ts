// SPDX-License-Identifier: MIT

// How a person wants the page to be: theme, sidebar and shortcuts.
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

  constructor(storage: Pick<SmallStorage, "getItem" | "setItem">) {
    const kept = read(storage.getItem(item));
    this.theme = signal(themes.find((theme) => theme === kept.theme) ?? "system");
    this.sidebar = signal(kept.sidebar !== false);
    this.keys = signal(kept.keys !== false);
    let first = true;
    effect(() => {
      const now = { theme: this.theme.value, sidebar: this.sidebar.value, keys: this.keys.value };
      if (!first) storage.setItem(item, JSON.stringify(now));
      first = false;
    });
  }
}

/** What was stored can be of any shape. */
function read(text: string | null): { theme?: unknown; sidebar?: unknown; keys?: unknown } {
  try {
    return Object(JSON.parse(text ?? "{}"));
  } catch {
    return {};
  }
}

// SPDX-License-Identifier: MIT

// Whether there is room beside the chat, and whether the sidebar is open.
import { computed, type ReadonlySignal, signal } from "@preact/signals";
import type { Preferences } from "./settings/preferences.ts";

/** Whether there is room beside the chat, and what stands there. */
export class Layout {
  readonly narrow: ReadonlySignal<boolean>; // no room for the sidebar: it covers the chat while it is open
  readonly tight: ReadonlySignal<boolean>; // no room for a drawer
  readonly touch: ReadonlySignal<boolean>; // a phone or a tablet: its Enter key breaks the line
  private readonly covering = signal(false);

  constructor(
    readonly preferences: Preferences,
    media: (query: string) => MediaQueryList,
  ) {
    this.narrow = follow(media("(max-width: 48rem)"));
    // untranslated: of CSS
    this.touch = follow(media("(hover: none) and (pointer: coarse)"));
    this.tight = follow(media("(max-width: 60rem)"));
  }

  /** Whether the sidebar is open. */
  readonly sidebar: ReadonlySignal<boolean> = computed(() =>
    this.narrow.value ? this.covering.value : this.preferences.sidebar.value,
  );

  /** Opens the sidebar, or closes it. */
  show(open: boolean): void {
    if (this.narrow.peek()) this.covering.value = open;
    else this.preferences.sidebar.value = open;
  }

  /** Something in the sidebar was chosen: it covers the chat no more. */
  chosen(): void {
    this.covering.value = false;
  }
}

function follow(query: MediaQueryList): ReadonlySignal<boolean> {
  const matches = signal(query.matches);
  query.addEventListener("change", () => {
    matches.value = query.matches;
  });
  return matches;
}

// SPDX-License-Identifier: MIT

// The settings that a new chat begins with.
import { cleanSettings, type Settings } from "./settings.ts";

const item = "penstock.settings";

/** The settings that a new chat begins with, kept in the browser from one visit to the next. */
export class StartingSettings {
  constructor(private readonly storage: Pick<Storage, "getItem" | "setItem">) {}

  get(): Settings {
    try {
      return cleanSettings(JSON.parse(this.storage.getItem(item) ?? "{}"));
    } catch {
      return cleanSettings({}); // not written by this page
    }
  }

  keep(settings: Settings): void {
    try {
      this.storage.setItem(item, JSON.stringify(settings));
    } catch {
      // the browser has no room left: the chat has its settings nevertheless
    }
  }
}

// SPDX-License-Identifier: MIT

// What the list knows of a chat: its title, times and settings.
import type { Settings } from "../settings/settings.ts";
import type { ShownBranches } from "./messagetree.ts";

/** Where a chat stands in the list, besides among those of its day. */
export interface Filed {
  pinned?: true; // above all others
  folder?: string; // a folder is there as long as a chat names it
}

/** A chat without its messages. */
export interface ChatInfo extends Filed {
  id: string;
  title: string;
  created: number; // milliseconds, as Date.now()
  changed: number; // when its last question was asked
  settings: Settings;
  branches: ShownBranches;
}

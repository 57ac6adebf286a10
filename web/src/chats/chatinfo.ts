// SPDX-License-Identifier: MIT

// What the list knows of a chat: its title, times and settings.
import type { Settings } from "../settings/settings.ts";
import type { ShownBranches } from "./messagetree.ts";

/** A chat without its messages. */
export interface ChatInfo {
  id: string;
  title: string;
  created: number; // milliseconds, as Date.now()
  changed: number; // when its last question was asked
  settings: Settings;
  branches: ShownBranches;
}

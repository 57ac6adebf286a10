// SPDX-License-Identifier: MIT
import type { Settings } from "../settings/settings.ts";
import type { Branches } from "./messagetree.ts";

/** A chat without its messages. */
export interface ChatInfo {
  id: string;
  title: string;
  created: number; // milliseconds, as Date.now()
  changed: number; // when its last question was asked
  settings: Settings;
  branches: Branches;
}

// SPDX-License-Identifier: MIT

// The order of the list of chats, and its groups: pinned chats, folders, then days and months.
import { language, t } from "../language/language.ts";
import type { ChatInfo } from "./chatinfo.ts";

type Listed = Pick<ChatInfo, "changed" | "pinned" | "folder">;

/** Chats that stand together, such as those of "Yesterday" or "October 2026". */
export interface ChatGroup<T> {
  name: string;
  folder: boolean; // a person has named it
  items: T[];
}

/** Pinned chats first, then folders by name; in each the chat with the newest question first. */
export function inListOrder(one: Listed, other: Listed): number {
  const [first, second] = [folderOf(one), folderOf(other)];
  return (
    Number(other.pinned ?? false) - Number(one.pinned ?? false) ||
    Number(first === "") - Number(second === "") ||
    compare(first, second) ||
    other.changed - one.changed
  );
}

// Names that only look alike are told apart, so that each folder is one group.
const names = new Intl.Collator(language, { numeric: true });
const compare = (one: string, other: string) =>
  names.compare(one, other) || (one < other ? -1 : Number(one > other));

/** The folder in which a chat is listed; "": none. A pinned one is above all folders. */
function folderOf({ pinned, folder }: Listed): string {
  return pinned ? "" : (folder ?? "");
}

const day = 86_400_000; // milliseconds

/** Groups chats that are in the order of the list. */
export function chatGroups<T extends Listed>(sorted: readonly T[], now: number): ChatGroup<T>[] {
  const groups: ChatGroup<T>[] = [];
  for (const item of sorted) {
    const folder = folderOf(item);
    const name = item.pinned ? t("Pinned") : folder || dayName(item.changed, now);
    const last = groups.at(-1);
    if (last?.name === name && last.folder === (folder !== "")) last.items.push(item);
    else groups.push({ name, folder: folder !== "", items: [item] });
  }
  return groups;
}

const months = new Intl.DateTimeFormat(language, { month: "long", year: "numeric" });

function dayName(at: number, now: number): string {
  const days = Math.round((midnight(now) - midnight(at)) / day); // a day with a clock change is 23 or 25 hours long
  if (days <= 0) return t("Today");
  if (days === 1) return t("Yesterday");
  if (days <= 7) return t("Previous 7 days");
  if (days <= 30) return t("Previous 30 days");
  return months.format(at);
}

function midnight(at: number): number {
  return new Date(at).setHours(0, 0, 0, 0);
}

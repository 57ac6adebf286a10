// SPDX-License-Identifier: MIT

// Groups chats by day, week and month for the sidebar.

/** Things of one time, such as "Yesterday" or "October 2026". */
export interface DayGroup<T> {
  name: string;
  items: T[];
}

const day = 86_400_000; // milliseconds

/** Groups what is sorted, newest first, by when it changed. */
export function byDay<T extends { changed: number }>(sorted: readonly T[], now: number): DayGroup<T>[] {
  const groups: DayGroup<T>[] = [];
  for (const item of sorted) {
    const name = dayName(item.changed, now);
    const last = groups.at(-1);
    if (last?.name === name) last.items.push(item);
    else groups.push({ name, items: [item] });
  }
  return groups;
}

const months = new Intl.DateTimeFormat("en", { month: "long", year: "numeric" });

function dayName(at: number, now: number): string {
  const days = Math.round((midnight(now) - midnight(at)) / day); // a day with a clock change is 23 or 25 hours long
  if (days <= 0) return "Today";
  if (days === 1) return "Yesterday";
  if (days <= 7) return "Previous 7 days";
  if (days <= 30) return "Previous 30 days";
  return months.format(at);
}

function midnight(at: number): number {
  return new Date(at).setHours(0, 0, 0, 0);
}

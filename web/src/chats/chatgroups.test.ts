// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { chatGroups, inListOrder } from "./chatgroups.ts";

test("chatGroups: today and yesterday by the calendar, then weeks and months", () => {
  const now = new Date(2026, 10, 22, 0, 30).getTime();
  const at = (...date: [number, number, number, number?]) => ({ changed: new Date(...date).getTime() });
  const groups = chatGroups(
    [
      at(2026, 10, 23), // of a clock that was wrong
      at(2026, 10, 22, 0),
      at(2026, 10, 21, 23),
      at(2026, 10, 21, 0),
      at(2026, 10, 20),
      at(2026, 10, 15),
      at(2026, 10, 14),
      at(2026, 9, 23),
      at(2026, 9, 22),
      at(2025, 9, 1),
    ],
    now,
  );
  assert.deepEqual(
    groups.map(({ name, items }) => [name, items.length]),
    [
      ["Today", 2],
      ["Yesterday", 2],
      ["Previous 7 days", 2],
      ["Previous 30 days", 2],
      ["October 2026", 1],
      ["October 2025", 1],
    ],
  );
});

test("inListOrder: pinned chats, folders by their names, and all others, the newest first in each", () => {
  const chats = [
    { id: "old", changed: 1 },
    { id: "new", changed: 9 },
    { id: "ten", changed: 2, folder: "Part 10" },
    { id: "two", changed: 1, folder: "Part 2" },
    { id: "lower", changed: 5, folder: "part 2" },
    { id: "second", changed: 3, folder: "Part 2" },
    { id: "pinned", changed: 0, pinned: true as const, folder: "Part 2" },
    { id: "top", changed: 4, pinned: true as const },
  ];
  const now = new Date(2026, 10, 22).getTime();
  const shown = chatGroups(chats.sort(inListOrder), now).map(({ name, folder, items }) => [
    name,
    folder,
    items.map(({ id }) => id).join(" "),
  ]);
  assert.deepEqual(shown, [
    ["Pinned", false, "top pinned"],
    ["part 2", true, "lower"],
    ["Part 2", true, "second two"],
    ["Part 10", true, "ten"],
    ["January 1970", false, "new old"],
  ]);
});

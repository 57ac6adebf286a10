// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { byDay } from "./daygroups.ts";

test("byDay: today and yesterday by the calendar, then weeks and months", () => {
  const now = new Date(2026, 10, 22, 0, 30).getTime();
  const at = (...date: [number, number, number, number?]) => ({ changed: new Date(...date).getTime() });
  const groups = byDay(
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

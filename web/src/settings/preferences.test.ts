// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { Preferences } from "./preferences.ts";

function storage(kept?: string) {
  const state = { kept: kept ?? null };
  return {
    state,
    getItem: () => state.kept,
    setItem: (_: string, value: string) => {
      state.kept = value;
    },
  };
}

test("Preferences: kept when they change, and not before", () => {
  const below = storage();
  const preferences = new Preferences(below);
  assert.equal(below.state.kept, null);
  preferences.theme.value = "dark";
  preferences.sidebar.value = false;
  preferences.titles.value = false;
  preferences.closed.value = ["Work"];
  const again = new Preferences(below);
  assert.equal(again.theme.value, "dark");
  assert.equal(again.sidebar.value, false);
  assert.equal(again.keys.value, true);
  assert.equal(again.titles.value, false);
  assert.deepEqual(again.closed.value, ["Work"]);
});

for (const kept of ["{", "null", "7", '{"theme":"pink","sidebar":"x","keys":null,"titles":0,"closed":{}}']) {
  test(`Preferences: from ${kept}`, () => {
    const { theme, sidebar, keys, titles, closed } = new Preferences(storage(kept));
    const read = [theme.value, sidebar.value, keys.value, titles.value, closed.value];
    assert.deepEqual(read, ["system", true, true, true, []]);
  });
}

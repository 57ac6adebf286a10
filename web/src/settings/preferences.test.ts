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
  const again = new Preferences(below);
  assert.equal(again.theme.value, "dark");
  assert.equal(again.sidebar.value, false);
  assert.equal(again.keys.value, true);
});

for (const kept of ["{", "null", "7", '{"theme":"pink","sidebar":"x","keys":null}']) {
  test(`Preferences: from ${kept}`, () => {
    const { theme, sidebar, keys } = new Preferences(storage(kept));
    assert.deepEqual([theme.value, sidebar.value, keys.value], ["system", true, true]);
  });
}

// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultSettings } from "./settings.ts";
import { StartingSettings } from "./startingsettings.ts";

/** A browser's storage. */
function storage(kept: Record<string, string> = {}) {
  const items = new Map(Object.entries(kept));
  return {
    getItem: (name: string) => items.get(name) ?? null,
    setItem: (name: string, value: string) => void items.set(name, value),
    removeItem: (name: string) => void items.delete(name),
  };
}

test("StartingSettings: the model that was chosen last begins a chat, unless another is to", () => {
  const place = storage();
  const starting = new StartingSettings(place);
  assert.deepEqual(starting.get(), defaultSettings);
  starting.chose("pear");
  assert.equal(starting.get().model, "pear");
  starting.begin("apple");
  starting.chose("plum");
  assert.equal(starting.get().model, "apple");
  const later = new StartingSettings(place);
  assert.equal(later.get().model, "apple");
  assert.equal(later.model.value, "apple");
  later.begin(undefined);
  assert.equal(new StartingSettings(place).get().model, "plum");
});

test("StartingSettings: chats with a model begin with its settings", () => {
  const place = storage();
  const starting = new StartingSettings(place);
  starting.keep({ ...defaultSettings, system: "all" });
  starting.keepOf("pear", { ...defaultSettings, system: "pear's" });
  starting.chose("pear");
  assert.deepEqual(new StartingSettings(place).get(), {
    ...defaultSettings,
    system: "pear's",
    model: "pear",
  });
  starting.chose("apple");
  assert.equal(starting.get().system, "all");
  starting.chose("pear");
  starting.keepOf("pear", undefined);
  assert.equal(new StartingSettings(place).get().system, "all");
});

test("StartingSettings: what another tab keeps for a model stays", () => {
  const place = storage();
  const [one, other] = [new StartingSettings(place), new StartingSettings(place)];
  one.keepOf("pear", { ...defaultSettings, system: "pear's" });
  other.begin("apple");
  one.keepOf("plum", { ...defaultSettings, system: "plum's" });
  const later = new StartingSettings(place);
  assert.equal(later.model.value, "apple");
  assert.deepEqual(
    ["pear", "plum"].map((model) => later.of(model)?.system),
    ["pear's", "plum's"],
  );
});

test("StartingSettings: the settings of many models are bounded", () => {
  const place = storage();
  const starting = new StartingSettings(place);
  for (let n = 0; n < 60; n++) starting.keepOf(`m${n}`, { ...defaultSettings, system: String(n) });
  const later = new StartingSettings(place);
  assert.equal(later.of("m0"), undefined);
  assert.equal(later.of("m59")?.system, "59");
});

test("StartingSettings: what was not written by this page is nothing", () => {
  for (const text of ["x", "[]", "null", '{"first":5,"settings":[{}]}']) {
    const starting = new StartingSettings(storage({ "penstock.settings": text, "penstock.models": text }));
    assert.deepEqual(starting.get(), defaultSettings, text);
  }
});

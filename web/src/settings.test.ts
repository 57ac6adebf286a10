// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { clean, Keeper, request } from "./settings.ts";

const defaults = { system: "", keepGoing: false, trace: false, plugins: [], configs: {} };

function memory(items: Record<string, string> = {}) {
  const map = new Map(Object.entries(items));
  return {
    getItem: (name: string) => map.get(name) ?? null,
    setItem: (name: string, value: string) => void map.set(name, value),
    removeItem: (name: string) => void map.delete(name),
  };
}

for (const stored of [
  null,
  7,
  "x",
  [],
  {},
  {
    temperature: "hot",
    seed: -1,
    maxTokens: null,
    plugins: [1],
    configs: { a: 1, b: "{", c: "[]", d: "null" },
  },
]) {
  test(`clean: ${JSON.stringify(stored)} is the defaults`, () => assert.deepEqual(clean(stored), defaults));
}

test("Keeper: settings come back, and a broken entry is the defaults", () => {
  const keeper = new Keeper(memory());
  const chosen = {
    system: "Be brief.",
    temperature: 0,
    maxTokens: 9,
    seed: 1,
    keepGoing: true,
    trace: true,
    plugins: ["a"],
    configs: { a: '{"x": 1}' },
  };
  keeper.keep(chosen);
  assert.deepEqual(keeper.settings(), chosen);
  assert.deepEqual(new Keeper(memory({ "penstock.settings": "{" })).settings(), defaults);
});

test("Keeper: an empty key is forgotten", () => {
  const storage = memory();
  const keeper = new Keeper(storage);
  keeper.keepKey("k");
  assert.equal(keeper.key(), "k");
  keeper.keepKey("");
  assert.equal(storage.getItem("penstock.key"), null);
});

test("request: defaults leave every choice to the host", () => {
  assert.deepEqual(request(defaults, "", [], []), { messages: [] });
});

test("request: all choices, zero included, but no plugin that the host does not offer", () => {
  const chosen = {
    system: "",
    temperature: 0,
    maxTokens: 9,
    seed: 0,
    keepGoing: true,
    trace: true,
    plugins: ["a", "gone", "b"],
    configs: { b: '{"x":1}', gone: "{}" },
  };
  assert.deepEqual(request(chosen, "tiny", ["a", "b"], [{ role: "user", content: "Hi" }]), {
    model: "tiny",
    messages: [{ role: "user", content: "Hi" }],
    temperature: 0,
    max_tokens: 9,
    seed: 0,
    ignore_eos: true,
    trace: true,
    plugins: ["a", { name: "b", config: { x: 1 } }],
  });
});

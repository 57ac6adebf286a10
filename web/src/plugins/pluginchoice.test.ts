// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Plugin } from "../host/rest.ts";
import { defaultSettings, type Settings } from "../settings/settings.ts";
import { choiceOf, hasRoom, isDefault, policyTexts, withoutPlugin, withPlugin } from "./pluginchoice.ts";

const plugin: Plugin = {
  name: "a",
  summary: "",
  fields: [],
  exports: ["penstock_sample"],
  place: "last",
  view: "candidates",
};
const host = { samplers: ["top_k", "temperature"], plugins: [plugin] };

test("withPlugin: adds a plugin with its configuration, once", () => {
  const once = withPlugin(defaultSettings, "a", { n: 1 }, host);
  assert.deepEqual(once.plugins, [{ name: "a", config: { n: 1 } }]);
  assert.deepEqual(withPlugin(once, "a", { n: 2 }, host).plugins, [{ name: "a", config: { n: 2 } }]);
  assert.deepEqual(withPlugin(once, "a", {}, host).plugins, [{ name: "a" }]);
});

test("withPlugin: keeps the plugin's place and what a fault does, and switches it on", () => {
  const settings: Settings = {
    ...defaultSettings,
    chain: ["plugin:a", "top_k"],
    off: ["plugin:a", "top_k"],
    plugins: [{ name: "a", on_error: "skip" }],
  };
  assert.equal(choiceOf(settings, "a"), undefined, "it is switched off");
  const on = withPlugin(settings, "a", { n: 1 }, host);
  assert.deepEqual(choiceOf(on, "a"), { name: "a", on_error: "skip", config: { n: 1 } });
  assert.deepEqual([on.chain, on.off], [["plugin:a", "top_k"], ["top_k"]]);
});

test("withPlugin: a chain of one's own gets the plugin where its manifest says", () => {
  assert.deepEqual(withPlugin({ ...defaultSettings, chain: ["top_k"] }, "a", {}, host).chain, [
    "top_k",
    "plugin:a",
  ]);
});

test("withoutPlugin: takes it out of the chain too", () => {
  const settings = withPlugin({ ...defaultSettings, chain: ["top_k"] }, "a", {}, host);
  const without = withoutPlugin(settings, "a", host);
  assert.deepEqual([without.plugins, without.chain], [[], ["top_k"]]);
  assert.equal(choiceOf(without, "a"), undefined);
});

test("hasRoom: the host takes sixteen", () => {
  const many = Array.from({ length: 16 }, (_, at) => ({ name: `p${at}` }));
  assert.equal(hasRoom({ ...defaultSettings, plugins: many }), false);
  assert.equal(hasRoom({ ...defaultSettings, plugins: many.slice(1) }), true);
});

test("policyTexts: what a server requires, and what can be switched off", () => {
  const required = { mode: "required" as const, models: ["small"], routes: [] };
  const byDefault = { mode: "default" as const, models: [], routes: ["/v1/ws"] };
  assert.deepEqual(
    [isDefault({}), isDefault({ policies: [byDefault] }), isDefault({ policies: [byDefault, required] })],
    [false, true, false],
  );
  assert.deepEqual(policyTexts({ policies: [required, byDefault] }), [
    "This server requires it in requests to small; its operator has set it up.",
    "This server uses it in requests by /v1/ws unless it is switched off or configured here.",
  ]);
});

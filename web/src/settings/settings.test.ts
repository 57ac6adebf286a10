// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { asImported, cleanSettings, defaultSettings, type Settings } from "./settings.ts";
import { StartingSettings } from "./startingsettings.ts";

for (const stored of [
  null,
  7,
  "x",
  [],
  {},
  {
    model: "",
    system: 1,
    sampling: {
      temperature: "hot",
      seed: null,
      messages: [],
      model: "x",
      ignore_eos: 1,
      dry_sequence_breakers: [1],
    },
    stop: ["", 1],
    chain: "kpt",
    off: {},
    plugins: [1, null, { name: 1 }, { name: "" }],
    format: { kind: "schema" },
    templateArgs: [],
    trace: 1,
    rules: [1, { text: " ", on: true, source: "x" }, { text: "a", on: true }],
    columns: {},
  },
]) {
  test(`cleanSettings: ${JSON.stringify(stored)} is the defaults`, () =>
    assert.deepEqual(cleanSettings(stored), defaultSettings));
}

const all: Settings = {
  model: "tiny",
  system: "Be brief.",
  sampling: { temperature: 0, ignore_eos: true, dry_sequence_breakers: ["\n"], reasoning_effort: "low" },
  stop: ["\n"],
  chain: ["top_k", "plugin:a"],
  off: ["top_k"],
  plugins: [{ name: "a", config: { x: 1 }, on_error: "skip" }, { name: "b" }],
  format: { kind: "regex", text: "a+" },
  templateArgs: { enable_thinking: false },
  trace: true,
  rules: [
    { text: "never say a", on: true, source: "x", config: { phrases: ["a"] } },
    { text: "a date", on: false, format: { kind: "regex", text: "\\d" } },
  ],
  columns: [{ model: "tiny", temperature: 0 }, { plugin: "a" }],
};

test("asImported: what is a script is off", () => {
  const { rules = [], script } = asImported({ ...all, script: { source: "x", config: "", on: true } });
  assert.deepEqual(
    rules.map(({ on }) => on),
    [false, false],
  );
  assert.deepEqual([script?.on, script?.imported], [false, true]);
  const bound = { text: "a date", on: true, format: { kind: "regex", text: "a" } } as const;
  assert.deepEqual(asImported({ ...all, rules: [bound] }).rules, [bound], "a format harms nobody");
});

test("cleanSettings: what is valid stays, and what stands twice or is too much goes", () => {
  assert.deepEqual(cleanSettings(structuredClone(all)), all);
  const many = (n: number) => Array.from({ length: n }, (_, at) => `n${at}`);
  const cleaned = cleanSettings({
    stop: ["a", "a"],
    chain: ["top_k", ...many(40), "top_k"],
    plugins: [{ name: "a" }, ...many(40).map((name) => ({ name })), { name: "a", config: 7, on_error: "x" }],
  });
  assert.deepEqual(cleaned.stop, ["a"]);
  assert.equal(cleaned.chain?.length, 32);
  assert.equal(cleaned.plugins.length, 16);
  assert.deepEqual(cleaned.plugins[0], { name: "a", config: {} });
});

test("cleanSettings: of a script what is valid", () => {
  const script = (stored: unknown) => cleanSettings({ script: stored }).script;
  assert.deepEqual(script({ source: "a", config: "{", on: true }), { source: "a", config: "{", on: true });
  assert.deepEqual(script({ source: "a", config: 7, on: 1 }), { source: "a", config: "", on: false });
  const imported = { source: "a", config: "", on: false, imported: true };
  assert.deepEqual(script({ ...imported, on: true }), imported);
  assert.equal(script({ config: "{}", on: true }), undefined);
  assert.equal(script("a"), undefined);
});

test("StartingSettings: they come back, and a broken entry or a full storage is no harm", () => {
  const items = new Map<string, string>();
  const storage = {
    getItem: (name: string) => items.get(name) ?? null,
    setItem: (name: string, value: string) => void items.set(name, value),
  };
  const starting = new StartingSettings(storage);
  assert.deepEqual(starting.get(), defaultSettings);
  starting.keep(all);
  assert.deepEqual(starting.get(), all);
  items.set("penstock.settings", "{");
  assert.deepEqual(starting.get(), defaultSettings);
  const full = new StartingSettings({
    ...storage,
    setItem: () => {
      throw new Error("quota exceeded");
    },
  });
  full.keep(all);
});

test("cleanSettings: of tools what the host takes; a file switches on no server", () => {
  const tool = { name: "weather", description: "Of a city.", parameters: { type: "object" } };
  const tools = [tool, { name: "a b" }, 7, { ...tool, name: "off", off: true, more: 1 }];
  const cleaned = cleanSettings({ tools, servers: ["http://x/mcp", 7] });
  assert.deepEqual(cleaned.tools, [tool, { ...tool, name: "off", off: true }]);
  assert.deepEqual(cleaned.servers, ["http://x/mcp"]);
  assert.equal(asImported(cleaned).servers, undefined);
  assert.equal("tools" in cleanSettings({ tools: [], servers: [] }), false);
});

test("cleanSettings: what is nested so deeply that nothing could write it again is left out", () => {
  let deep: unknown = 1;
  for (let n = 0; n < 100_000; n++) deep = { deep };
  const { plugins, templateArgs, tools, rules } = cleanSettings({
    plugins: [{ name: "a", config: deep }],
    templateArgs: deep,
    tools: [{ name: "b", parameters: deep }],
    rules: [{ text: "c", source: "d", config: deep }],
  });
  JSON.stringify([plugins, templateArgs, tools, rules]);
  assert.deepEqual([plugins[0]?.config, templateArgs, tools?.[0]?.parameters], [{}, undefined, {}]);
});

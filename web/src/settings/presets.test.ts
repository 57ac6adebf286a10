// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { inRange, numberNamed } from "./parameters.ts";
import { type BuiltIn, builtIn, Presets, presetOf, withBuiltIn } from "./presets.ts";
import { defaultSettings, type Settings } from "./settings.ts";

function memory(kept?: string) {
  let text = kept ?? null;
  return {
    getItem: () => text,
    setItem: (_: string, value: string) => {
      text = value;
    },
  };
}

function named(name: string): BuiltIn {
  const preset = builtIn.find((preset) => preset.name === name);
  assert.ok(preset !== undefined);
  return preset;
}

const mine: Settings = { ...defaultSettings, system: "Be brief.", stop: ["x"] };

test("builtIn: values that the host takes", () => {
  for (const { sampling } of builtIn)
    for (const [name, value] of Object.entries(sampling))
      assert.ok(inRange(numberNamed(name), Number(value)), name);
});

test("withBuiltIn: decides about the native stages and leaves the rest", () => {
  const settings: Settings = {
    ...mine,
    sampling: { temperature: 5, top_k: 1, max_tokens: 9, seed: 7 },
    chain: ["top_k"],
    off: ["top_k", "plugin:a"],
    plugins: [{ name: "a" }],
  };
  const { chain: _, ...rest } = settings;
  assert.deepEqual(withBuiltIn(settings, named("Precise")), {
    ...rest,
    off: ["plugin:a"],
    sampling: { max_tokens: 9, seed: 7, temperature: 0 },
  });
});

test("presetOf: which preset the settings are, in whatever order their values are", () => {
  assert.equal(presetOf(defaultSettings, []), "Balanced");
  assert.equal(presetOf(withBuiltIn(mine, named("Creative")), []), "Creative");
  assert.equal(presetOf({ ...defaultSettings, sampling: { temperature: 0.33 } }, []), undefined);
  const a = { ...mine, sampling: { temperature: 1, top_k: 2 } };
  const b = { ...mine, sampling: { top_k: 2, temperature: 1 } };
  assert.equal(presetOf(a, [{ name: "Mine", settings: b }]), "Mine");
});

test("Presets: save, overwrite, rename, remove; another tab's are not lost", () => {
  const storage = memory();
  const [here, there] = [new Presets(storage), new Presets(storage)];
  assert.ok(here.save(" Brief ", mine));
  assert.ok(there.save("Other", defaultSettings));
  assert.ok(here.save("Brief", { ...mine, stop: [] }));
  assert.deepEqual(here.list.value, [
    { name: "Brief", settings: { ...mine, stop: [] } },
    { name: "Other", settings: defaultSettings },
  ]);
  for (const name of ["", " ", "Balanced"]) assert.equal(here.save(name, mine), false, name);
  assert.equal(here.rename("Brief", "Other"), false);
  assert.equal(here.rename("Brief", "Precise"), false);
  assert.ok(here.rename("Brief", "Short"));
  here.remove("Other");
  assert.deepEqual(
    new Presets(storage).list.value.map(({ name }) => name),
    ["Short"],
  );
});

test("Presets: in a browser that keeps nothing they last as long as the page", () => {
  const full = () => {
    throw new Error("quota exceeded");
  };
  const presets = new Presets({ getItem: () => null, setItem: full });
  assert.ok(presets.save("A", mine));
  assert.ok(presets.save("B", mine));
  assert.deepEqual(
    presets.list.value.map(({ name }) => name),
    ["A", "B"],
  );
  assert.deepEqual(new Presets({ getItem: full, setItem: full }).list.value, []);
});

test("Presets: a file goes out and comes in, and one of any shape is cleaned", () => {
  const from = new Presets(memory());
  from.save("Brief", mine);
  const to = new Presets(memory());
  assert.equal(to.import(from.export()), 1);
  assert.deepEqual(to.list.value, from.list.value);
  for (const file of ["", "{", "null", "[]", '{"presets": [1, null, {"name": "Balanced"}, {"name": ""}]}'])
    assert.throws(() => to.import(file), /no presets/, file);
  assert.equal(
    to.import('{"presets": [{"name": "Odd", "settings": {"sampling": {"messages": 1}, "stop": 7}}]}'),
    1,
  );
  assert.deepEqual(to.list.value.find(({ name }) => name === "Odd")?.settings, defaultSettings);
  assert.deepEqual(new Presets(memory("{")).list.value, []);
});

test("Presets: a file does not tell the addresses of servers, which may have a key in them", () => {
  const from = new Presets(memory());
  from.save("Brief", { ...mine, servers: ["https://tools/mcp?key=secret"] });
  assert.doesNotMatch(from.export(), /secret/);
});

test("Presets: the script of one from a file is not switched on by who wrote the file", () => {
  const script = { source: "export function sample() {}", config: "", on: true };
  const from = new Presets(memory());
  from.save("Brief", { ...mine, script });
  const to = new Presets(memory());
  to.import(from.export());
  assert.deepEqual(to.list.value[0]?.settings.script, { ...script, on: false, imported: true });
});

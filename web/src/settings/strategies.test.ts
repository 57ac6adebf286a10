// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Plugin } from "../host/rest.ts";
import { defaultSettings, type Settings } from "./settings.ts";
import {
  columnSettings,
  columnTitle,
  columnWords,
  programsIn,
  strategiesAtHand,
  strategyWords,
  withAtHand,
  withNamedScript,
  withoutStrategy,
  withStrategy,
  writes,
} from "./strategies.ts";

const plugin = (name: string, call: string, schema?: unknown): Plugin => ({
  name,
  summary: "",
  fields: [],
  exports: [`penstock_${call}`],
  place: "first",
  view: "none",
  ...(schema !== undefined && { schema }),
});
const plugins = [
  plugin("beam", "run"),
  plugin("best-of", "run", { properties: { n: { default: 4 } } }),
  plugin("ban", "accept"),
];
const using = (...names: string[]): Settings => ({
  ...defaultSettings,
  plugins: names.map((name) => ({ name, config: { of: name } })),
});

test("withStrategy: one program is on, and the others keep their configurations", () => {
  const beam = withStrategy(using("ban"), "beam", plugins);
  assert.deepEqual(programsIn(beam, plugins), ["beam"]);
  assert.deepEqual(withoutStrategy(beam, plugins).plugins, using("ban").plugins);
  const best = withStrategy(beam, "best-of", plugins);
  assert.deepEqual(programsIn(best, plugins), ["best-of"]);
  const normal = withStrategy(best, undefined, plugins);
  assert.deepEqual(programsIn(normal, plugins), []);
  assert.deepEqual(
    normal.plugins.map(({ name }) => name),
    ["ban", "beam", "best-of"],
  );
  assert.deepEqual(normal.off, ["plugin:beam", "plugin:best-of"], "ban stays on");
  assert.deepEqual(programsIn(withStrategy(normal, "beam", plugins), plugins), ["beam"]);
});

test("withStrategy: a program that lacks something stays off", () => {
  const settings = withStrategy(using("best-of"), "beam", plugins, false);
  assert.deepEqual(programsIn(settings, plugins), []);
  assert.deepEqual(settings.off, ["plugin:best-of", "plugin:beam"]);
});

test("withNamedScript: a script is the strategy until another is chosen", () => {
  const script = { name: "Vote", source: "x", config: "" };
  const settings = withNamedScript(using("beam"), script, plugins);
  assert.deepEqual([settings.script?.on, programsIn(settings, plugins)], [true, []]);
  assert.equal(strategyWords(settings, plugins), "Vote");
  assert.equal(withoutStrategy(settings, plugins).script, undefined);
  const normal = withStrategy(settings, undefined, plugins);
  assert.deepEqual(normal.script, { ...script, on: false });
  const own = { ...defaultSettings, script: { source: "x", config: "", on: true } };
  assert.equal(withStrategy(own, "beam", plugins).script?.on, true, "the chat's own script goes with any");
});

test("strategiesAtHand: normal, a person's own, and programs that need nothing", () => {
  const required = plugin("form", "run", { required: ["template"] });
  const either = plugin("smc", "run", { anyOf: [{ required: ["grammar"] }] });
  const all = [plugin("alike", "run"), required, either, ...plugins];
  const scripts = ["a", "b", "c"].map((name) => ({ name, source: "x", config: "" }));
  const titles = (own: typeof scripts) => strategiesAtHand(using(), all, own).map(({ title }) => title);
  assert.deepEqual(titles([]), ["Normal", "Beam", "Best of 4", "Alike"]);
  assert.deepEqual(titles(scripts), ["Normal", "a", "b", "Beam"]);
  const atHand = strategiesAtHand(using(), all, scripts);
  for (const strategy of atHand) {
    const settings = withAtHand({ ...using("best-of"), columns: [{}, {}] }, strategy, all);
    assert.deepEqual(
      atHand.filter((other) => writes(other, settings, all)),
      [strategy],
    );
  }
  const others = [using("best-of"), { ...using(), columns: [{}, {}] }];
  for (const settings of others) assert.ok(!atHand.some((strategy) => writes(strategy, settings, all)));
});

test("strategyWords: what writes the next answer", () => {
  assert.equal(strategyWords(using("ban"), plugins), "Normal");
  assert.equal(strategyWords(using("beam"), plugins), "Beam");
  assert.equal(strategyWords(using("best-of"), plugins), "Best of 4");
  const eight = { ...defaultSettings, plugins: [{ name: "best-of", config: { n: 8 } }] };
  assert.equal(strategyWords(eight, plugins), "Best of 8");
  assert.equal(strategyWords(using("gone"), plugins), "Normal");
  assert.equal(strategyWords({ ...using("beam"), columns: [{}, {}, {}] }, plugins), "3 side by side");
});

test("columnSettings: what the column says, and else the chat's", () => {
  const settings = { ...using("beam", "ban"), columns: [{}], off: ["plugin:ban"], model: "a" };
  const column = columnSettings(settings, { model: "b", temperature: 0.5, plugin: "ban" });
  assert.deepEqual(
    [column.model, column.sampling, column.columns, column.off],
    ["b", { temperature: 0.5 }, undefined, []],
  );
  assert.deepEqual(column.plugins.at(-1), { name: "ban", config: { of: "ban" } });
  const { columns: _, ...rest } = settings;
  assert.deepEqual(columnSettings(settings, {}), rest);
  assert.equal(columnTitle({ model: "b", temperature: 0, plugin: "beam" }), "b · temperature 0 · with beam");
  assert.equal(columnTitle({}), "as this chat is set");
  for (const column of [{ model: "b", temperature: 0, plugin: "beam" }, {}])
    assert.equal(columnWords(columnTitle(column)), columnTitle(column), "in English they are the same");
});

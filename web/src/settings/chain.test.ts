// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Plugin } from "../host/rest.ts";
import { withStage } from "./addstage.ts";
import {
  addable,
  type HostChain,
  hostChain,
  misplaced,
  rolesOf,
  stagesOf,
  withoutStage,
  withStageMoved,
  withStageSwitched,
} from "./chain.ts";
import { defaultSettings, type Settings } from "./settings.ts";

function plugin(name: string, more: Partial<Plugin> = {}): Plugin {
  return {
    name,
    summary: "",
    fields: [],
    exports: ["penstock_sample"],
    place: "first",
    view: "none",
    ...more,
  };
}

const host: HostChain = {
  samplers: ["penalties", "top_k", "temperature"],
  plugins: [
    plugin("early"),
    plugin("late", { place: "last" }),
    plugin("row", { view: "logits" }),
    plugin("narrow", { view: "candidates" }),
    plugin("stop", { exports: ["penstock_stop"] }),
    plugin("chatml", { exports: ["penstock_template"] }),
  ],
};

function having(...names: string[]): Settings {
  return { ...defaultSettings, plugins: names.map((name) => ({ name })) };
}

test("rolesOf: what a plugin does", () => {
  assert.deepEqual(rolesOf({ exports: ["penstock_accept", "penstock_stop"] }), {
    stage: true,
    stop: true,
    template: false,
    program: false,
  });
  assert.deepEqual(rolesOf({ exports: ["penstock_template"] }), {
    stage: false,
    stop: false,
    template: true,
    program: false,
  });
  assert.equal(rolesOf({ exports: ["penstock_run"] }).program, true);
});

test("stagesOf: the host's chain, with plugins where their manifests say", () => {
  assert.deepEqual(stagesOf(defaultSettings, host), host.samplers);
  const chosen = having("late", "early", "stop", "chatml", "gone");
  assert.deepEqual(stagesOf(chosen, host), ["plugin:early", ...host.samplers, "plugin:late"]);
  const chain = ["top_k", "plugin:late", "plugin:gone"];
  assert.deepEqual(stagesOf({ ...chosen, chain }, host), ["plugin:early", ...chain]);
});

for (const [from, to, want] of [
  [0, 2, "bca"],
  [2, 0, "cab"],
  [1, 1, "abc"],
  [7, 0, "abc"],
] as const) {
  test(`withStageMoved: from ${from} to ${to}`, () =>
    assert.equal(withStageMoved(["a", "b", "c"], from, to).join(""), want));
}

test("withStage: natives come before the temperature, plugins to their places", () => {
  assert.deepEqual(withStage(defaultSettings, "xtc", host).chain, [
    "penalties",
    "top_k",
    "xtc",
    "temperature",
  ]);
  assert.deepEqual(withStage(defaultSettings, "adaptive_p", host).chain, [...host.samplers, "adaptive_p"]);
  const added = withStage({ ...defaultSettings, off: ["plugin:late"] }, "plugin:late", host);
  assert.deepEqual([added.chain, added.plugins, added.off], [undefined, [{ name: "late" }], []]);
  const named = withStage({ ...defaultSettings, chain: ["top_k"] }, "plugin:early", host);
  assert.deepEqual(named.chain, ["plugin:early", "top_k"]);
});

test("withoutStage: a plugin goes with its configuration, a native makes the chain one's own", () => {
  const chosen: Settings = {
    ...defaultSettings,
    plugins: [{ name: "late", config: { a: 1 } }],
    off: ["plugin:late"],
  };
  assert.deepEqual(withoutStage(chosen, "plugin:late", host), defaultSettings);
  assert.deepEqual(withoutStage(chosen, "top_k", host).chain, ["penalties", "temperature", "plugin:late"]);
});

test("withStageSwitched: a stage keeps its place, and a plugin its configuration", () => {
  const off = withStageSwitched(having("late"), "top_k", false, host);
  assert.deepEqual([off.chain, off.off], [[...host.samplers, "plugin:late"], ["top_k"]]);
  const back = withStageSwitched(off, "top_k", true, host);
  assert.deepEqual(back.off, []);
  const silent = withStageSwitched(having("late"), "plugin:late", false, host);
  assert.deepEqual([silent.chain, silent.off], [undefined, ["plugin:late"]]);
  assert.deepEqual(silent.plugins, [{ name: "late" }]);
});

test("addable: what is not there yet, and only plugins that are stages", () => {
  const { natives, plugins } = addable(having("early"), host);
  assert.ok(natives.includes("xtc") && !natives.includes("top_k"));
  assert.deepEqual(
    plugins.map(({ name }) => name),
    ["late", "row", "narrow"],
  );
  const full = having(...Array.from({ length: 16 }, (_, at) => `p${at}`));
  assert.deepEqual(addable(full, host).plugins, [], "the host takes 16 at most");
});

for (const [stage, stages, off, want] of [
  ["row", ["plugin:row", "top_k"], [], /^$/],
  ["row", ["penalties", "plugin:row"], [], /^$/],
  ["row", ["top_k", "plugin:row"], [], /before Top-k/],
  ["row", ["top_k", "plugin:row"], ["top_k"], /^$/],
  ["row", ["plugin:narrow", "plugin:row"], [], /before narrow/],
  ["early", ["top_k", "plugin:early"], [], /^$/],
] as const) {
  test(`misplaced: ${stage} in ${stages.join(", ")}, without ${off.join()}`, () =>
    assert.match(misplaced(stages, off, `plugin:${stage}`, host), want));
}

test("hostChain: llama.cpp's where the host tells none", () => {
  assert.deepEqual(hostChain({ samplers: ["top_k", 1] }, []).samplers, ["top_k"]);
  assert.equal(hostChain({}, []).samplers.at(-1), "temperature");
});

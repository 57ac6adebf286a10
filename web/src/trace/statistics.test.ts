// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultSettings } from "../settings/settings.ts";
import { firstDifference } from "./firstdifference.ts";
import { drawnCat, insteadOfFrog, left, stage } from "./sampletraces.ts";
import { statisticsOf } from "./statistics.ts";
import { Palette } from "./tokencolours.ts";
import { blockStarts, GrowingItems, itemAt, itemsOf, nextOf } from "./tokenitems.ts";
import { decider, meddlers, stageTimes } from "./tokentrace.ts";
import { variations } from "./variations.ts";

const cat = { text: " cat", trace: drawnCat() };
const toad = { text: " toad", trace: insteadOfFrog() };
const plain = { text: " x" };

test("reading: who decided, who had a hand in it, and what took the time", () => {
  assert.equal(decider(cat.trace), "dist");
  assert.equal(decider(toad.trace), "prepare");
  assert.deepEqual(meddlers(cat.trace), []);
  assert.deepEqual(meddlers(toad.trace), ["plugin:banned-phrases"]);
  const taken = Object.fromEntries([...stageTimes(toad.trace)].map(([name, ms]) => [name, ms.toFixed(2)]));
  assert.deepEqual(taken, { "plugin:banned-phrases": "0.20", prepare: "0.05", greedy: "0.02" });
});

test("reading: a plugin that changed nothing had no hand in it", () => {
  const idle = drawnCat();
  idle.stages.splice(1, 0, stage("plugin:idle", 1, idle.before));
  assert.deepEqual(meddlers(idle), []);
  const better = left(2, { " cat": 0.9, " dog": 0.1 }, [1, 0.9]);
  idle.stages.splice(2, 0, stage("plugin:busy", 1, better));
  assert.deepEqual(meddlers(idle), ["plugin:busy"]);
  assert.equal(decider(idle), "plugin:busy");
});

test("itemsOf: what was taken back stands before what came instead", () => {
  const items = itemsOf([cat, toad, plain]);
  assert.deepEqual(
    items.map(({ text, place, takenBy }) => [text, place, takenBy]),
    [
      [" cat", 0, undefined],
      [" frog", 1, "plugin:banned-phrases"],
      [" toad", 1, undefined],
      [" x", 2, undefined],
    ],
  );
  assert.deepEqual([nextOf([1, 4], 1, 1), nextOf([1, 4], 4, 1), nextOf([1, 4], 4, -1)], [4, undefined, 1]);
});

test("GrowingItems: what stays is the same, what was taken back goes", () => {
  const growing = new GrowingItems();
  const first = growing.update([cat]);
  const more = growing.update([cat, toad]);
  assert.equal(more[0], first[0]);
  assert.equal(growing.update([cat, toad]), more);
  const shorter = growing.update([cat, plain]);
  assert.deepEqual([shorter.length, shorter[0], shorter[1]?.text], [2, first[0], " x"]);
  assert.equal(itemAt(more, 1), 2);
  assert.equal(itemAt(more, 9), -1);
});

test("Palette: colours by probability, by stage and by plugin, each with its sign", () => {
  const items = itemsOf([cat, toad, plain]);
  const painted = (palette: Palette) => items.map((item) => palette.shade(item).label);
  assert.deepEqual(painted(new Palette("probability")), ["20–50 %", "50–90 %", "20–50 %", ""]);
  assert.deepEqual(painted(new Palette("stage")), ["dist", "plugin:banned-phrases", "prepare", ""]);
  const plugins = new Palette("plugin");
  assert.deepEqual(painted(plugins), ["", "plugin:banned-phrases", "plugin:banned-phrases", ""]);
  assert.deepEqual(plugins.legend, [{ name: "hue0", sign: "1", label: "plugin:banned-phrases", count: 2 }]);
});

test("statisticsOf: an answer in numbers", () => {
  const facts = statisticsOf([cat, toad, plain]);
  assert.deepEqual([facts.tokens, facts.traced, facts.changed, facts.takenBack], [3, 2, 1, 1]);
  assert.equal(facts.meanP?.toFixed(3), "0.305");
  assert.deepEqual(facts.chain, ["logit_bias", "top_k", "dist", "plugin:banned-phrases", "greedy"]);
  assert.equal(facts.times[0]?.name, "plugin:banned-phrases");
  assert.ok(Math.abs(facts.times.reduce((sum, { share }) => sum + share, 0) - 1) < 1e-9);
  assert.deepEqual(statisticsOf([]).times, []);
});

test("firstDifference: the first token that is not the same", () => {
  assert.equal(firstDifference([cat, toad], [cat, cat]), 1);
  assert.equal(firstDifference([cat, toad], [cat]), 1);
  assert.equal(firstDifference([cat], [cat]), undefined);
  assert.equal(firstDifference([plain], [{ text: " y" }]), 0);
});

test("variations: the same seed, one thing changed, always with a trace", () => {
  const settings = {
    ...defaultSettings,
    plugins: [{ name: "banned-phrases" }, { name: "min-p" }],
    sampling: { temperature: 0 },
  };
  const all = variations(settings, 7);
  assert.deepEqual(
    all.map(({ label }) => label),
    [
      "with the chat’s present settings",
      "without plugin banned-phrases",
      "without plugin min-p",
      "livelier (temperature 1.5)",
      "without any stage that cuts candidates",
    ],
  );
  for (const { settings: s } of all) assert.deepEqual([s.trace, s.sampling.seed], [true, 7]);
  assert.deepEqual(all[1]?.settings.plugins, [{ name: "min-p" }]);
  assert.deepEqual(all[4]?.settings.chain, ["plugin:banned-phrases", "plugin:min-p"]);
});

test("blockStarts: a block ends at a line break or a space, and no block is long", () => {
  const starts = (text: (at: number) => string, n = 1000) =>
    blockStarts(Array.from({ length: n }, (_, at) => ({ text: text(at), place: at })));
  assert.deepEqual(
    starts(() => "", 0),
    [],
  );
  assert.deepEqual(
    starts((at) => (at % 7 === 6 ? ".\n" : "a"), 220),
    [0, 105, 210],
  );
  assert.deepEqual(
    starts((at) => (at % 40 === 0 ? " a" : "a"), 400),
    [0, 160, 320],
  );
  assert.deepEqual(
    starts(() => "a", 700),
    [0, 300, 600],
  );
  const lines = (at: number) => (at % 11 === 0 ? "\n" : " a");
  assert.deepEqual(
    starts(lines, 500),
    starts(lines).filter((start) => start < 500),
  );
});

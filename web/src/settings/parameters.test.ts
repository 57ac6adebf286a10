// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { nativeStages } from "./nativestages.ts";
import {
  numberNamed,
  parameterNamed,
  parameters,
  parseNumber,
  rangeWords,
  valueWords,
} from "./parameters.ts";

const sampling = readFileSync(new URL("../../../host/sampling/params.go", import.meta.url), "utf8");

test("parameters: the ranges are those that the host checks", () => {
  const fields = sampling.matchAll(/(float32|int) +`json:"(\w+)" min:"(\S+?)" max:"(\S+?)"/g);
  let n = 0;
  for (const [, type, name = "", low, high] of fields) {
    const ours = numberNamed(name);
    assert.deepEqual([name, ours.low, ours.high], [name, Number(low), Number(high)]);
    assert.equal(ours.kind, type === "int" ? "integer" : "number", name);
    n++;
  }
  assert.equal(n, 24, "the host's table was not read");
});

test("parameters: each is a field of a request, and each stage is one of the host's", () => {
  const fields = readFileSync(new URL("../../../docs/fields.md", import.meta.url), "utf8");
  for (const { name } of parameters) assert.match(fields, new RegExp(`\`${name}\``), name);
  const host = [...sampling.matchAll(/^\t\{Name: "(\w+)"/gm)].map(([, name]) => name);
  assert.deepEqual(nativeStages.map((stage) => stage.name).sort(), host.sort());
  for (const name of nativeStages.flatMap((stage) => stage.parameters))
    assert.notEqual(parameterNamed(name), undefined, name);
});

for (const [name, typed, want] of [
  ["temperature", "0.5", { value: 0.5 }],
  ["temperature", " 0,5 ", { value: 0.5 }],
  ["temperature", "1e1", { value: 10 }],
  ["temperature", "", {}],
  ["temperature", "hot", { problem: "It must be a number from 0 to 100." }],
  ["temperature", "-1", { problem: "It must be a number from 0 to 100." }],
  ["temperature", "NaN", { problem: "It must be a number from 0 to 100." }],
  ["temperature", "Infinity", { problem: "It must be a number from 0 to 100." }],
  ["temperature", "0x10", { problem: "It must be a number from 0 to 100." }],
  ["top_k", "−1", { value: -1 }],
  ["max_tokens", "1.000", { value: 1000 }],
  ["max_tokens", "1,000,000", { value: 1_000_000 }],
  ["top_k", "4.5", { problem: "It must be a whole number of at least -1 (tokens)." }],
  ["seed", "4294967294", { value: 4294967294 }],
  ["seed", "4294967295", { problem: "It must be a whole number from 0 to 4294967294." }],
  ["max_tokens", "0", { problem: "It must be a whole number of at least 1." }],
] as const) {
  test(`parseNumber: ${name} of "${typed}"`, () =>
    assert.deepEqual(parseNumber(numberNamed(name), typed), want));
}

test("valueWords: what a special value means", () => {
  const [temperature, topK] = [numberNamed("temperature"), numberNamed("top_k")];
  assert.equal(valueWords(temperature, 0), "0");
  assert.equal(valueWords(topK, 0), "off");
  assert.equal(valueWords(topK, 40), "40");
  assert.equal(valueWords(topK, undefined), "");
  assert.match(rangeWords(temperature), /0 to 100/);
});

test("NativeStage.idle: which stages change nothing with the host's defaults", () => {
  const defaults: Record<string, number> = {
    repeat_penalty: 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    repeat_last_n: 64,
    dry_multiplier: 0,
    dry_base: 1.75,
    dry_penalty_last_n: 64,
    top_n_sigma: -1,
    top_k: 40,
    typical_p: 1,
    top_p: 0.95,
    min_p: 0.05,
    xtc_probability: 0,
    xtc_threshold: 0.1,
    temperature: 0.8,
    dynatemp_range: 0,
    adaptive_target: -1,
  };
  const idle = nativeStages.filter((stage) => stage.idle?.((name) => defaults[name] ?? Number.NaN));
  assert.deepEqual(
    idle.map((stage) => stage.name),
    ["penalties", "dry", "top_n_sigma", "typ_p", "xtc", "adaptive_p"],
  );
});

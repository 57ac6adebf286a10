// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { differences } from "./differences.ts";
import { defaultSettings } from "./settings.ts";

test("differences: none by default", () => assert.deepEqual(differences(defaultSettings), []));

test("differences: what is set, in a few words each", () => {
  const words = differences({
    ...defaultSettings,
    system: "Be short.",
    sampling: { temperature: 0.5, ignore_eos: true },
    format: { kind: "json" },
    plugins: [{ name: "a" }, { name: "b" }],
    off: ["plugin:b", "top_k"],
    stop: ["x"],
    trace: true,
    script: { source: "a", config: "", on: true },
  });
  const want = [
    "Instructions",
    "JSON",
    "a",
    "Script",
    "Temperature 0.5",
    "Go on to the limit on",
    "1 stop string",
    "Sampler chain",
  ];
  assert.deepEqual(words, [...want, "Token record"]);
});

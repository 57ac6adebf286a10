// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileRemedy, kindsOf, limitsOf, pluginFile, sizeWords } from "./pluginfile.ts";

test("pluginFile: all that the host tells", () => {
  const file = pluginFile({
    name: "min-p",
    state: "quarantined",
    file: "a.wasm",
    bundled: true,
    size: 84_123,
    sha256: "ab12",
    default: true,
    faults: 3,
    last_fault: "trap",
    model_errors: [{ model: "other", error: "no such token" }, 7],
    last_fault_at: "2026-01-02T03:04:05Z",
    exports: ["penstock_sample", "penstock_describe"],
    manifest: {
      version: "1.2",
      author: "Ada",
      license: "MIT",
      view: "candidates",
      candidates: 256,
      hold: 2,
      branches: 4,
      take_back: 5000,
    },
  } as Parameters<typeof pluginFile>[0]);
  assert.deepEqual(
    [file.name, file.version, file.by, file.state, file.size, file.always, file.bundled],
    ["min-p", "1.2", "Ada, MIT", "quarantined", 84_123, true, true],
  );
  assert.deepEqual(file.modelErrors, [{ model: "other", error: "no such token" }]);
  assert.deepEqual([file.faults, file.lastFault, file.faultedAt], [3, "trap", "2026-01-02T03:04:05Z"]);
  assert.deepEqual(
    kindsOf(file).map((kind) => kind.name),
    ["Sampler"],
  );
  assert.deepEqual(
    kindsOf({ exports: ["penstock_describe", "penstock_run", "penstock_messages", "penstock_draft"] }).map(
      ({ name }) => name,
    ),
    ["Messages", "Program", "Guesses"],
  );
  assert.deepEqual(limitsOf(file), [
    "sees the 256 likeliest tokens",
    "may take back 2 tokens, so text comes that much later",
    "may compute 5,000 more tokens than it keeps",
    "writes up to 4 continuations at once",
  ]);
});

test("pluginFile: what is odd is left out", () => {
  const odd = { name: "x", model_errors: "all", size: "big", faults: -1, state: "melted", manifest: 7 };
  const file = pluginFile(odd as unknown as Parameters<typeof pluginFile>[0]);
  assert.deepEqual([file.size, file.faults, file.state, file.version, file.by], [0, 0, "ready", "", ""]);
  assert.deepEqual(file.modelErrors, []);
  assert.deepEqual(limitsOf(file), []);
});

test("sizeWords", () => {
  assert.deepEqual([226, 84_123, 16_777_216].map(sizeWords), ["226 bytes", "84 kB", "16.8 MB"]);
});

test("fileRemedy: says what to do about each reason", () => {
  assert.match(fileRemedy("not a WebAssembly module that can be loaded: x"), /built module/);
  assert.match(fileRemedy('bad manifest: the name "a" is that of a.wasm; remove one'), /another name/);
  assert.match(fileRemedy("not a plugin of ABI v1"), /SDK/);
  assert.match(fileRemedy("limit exceeded"), /copy it over/);
});

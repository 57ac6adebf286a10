// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Signal, signal } from "@preact/signals";
import type { Offer } from "../../app.ts";
import { defaultSettings, type Script } from "../../settings/settings.ts";
import { withNamedScript } from "../../settings/strategies.ts";
import { changeStrategy } from "./changestrategy.ts";

const named = { name: "mine", source: "// mine", config: "" };

/** Chooses the script with a name in a chat that has another one. */
function choose(script: Script) {
  const offer: Signal<Offer | undefined> = signal(undefined);
  const settings = signal({ ...defaultSettings, script });
  changeStrategy({ offer }, { settings }, (before) => withNamedScript(before, named, []));
  return { offer, settings };
}

test("changeStrategy: a script that is kept nowhere else can be had back", () => {
  for (const script of [
    { source: "// an hour's work", config: "", on: true },
    { ...named, source: "// mine, changed", on: true },
    { ...named, config: "7", on: false, imported: true as const },
  ]) {
    const { offer, settings } = choose(script);
    assert.equal(settings.value.script.source, named.source);
    offer.value?.run();
    assert.deepEqual(settings.value.script, script);
  }
});

test("changeStrategy: nothing is offered where no script is lost", () => {
  for (const script of [
    { source: " ", config: "", on: false },
    { ...named, on: false },
  ])
    assert.equal(choose(script).offer.value, undefined);
});

// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import type { LiveModel, LiveSlot, LiveTicks } from "./liveframe.ts";
import { Rates } from "./rates.ts";

function ticks(n: number, decode: number, change: Partial<LiveTicks> = {}): LiveTicks {
  const of = (value: number) => Array.from({ length: n }, () => value);
  return {
    first: 0,
    left_out: 0,
    at_ms: Array.from({ length: n }, (_, i) => i),
    decode: of(decode),
    prefill: of(10),
    passes: of(1),
    forward_ms: of(0),
    sample_ms: of(0),
    plugin_ms: of(0),
    total_ms: of(1),
    ...change,
  };
}

const slot = (change: Partial<LiveSlot>): LiveSlot => ({
  slot: 0,
  state: "generating",
  request: 1,
  ...change,
});
const model = (slots: LiveSlot[], t = ticks(0, 0)): Pick<LiveModel, "slots" | "ticks"> => ({
  slots,
  ticks: t,
});

test("Rates: throughput comes near what the ticks say, and goes back to nothing", () => {
  const rates = new Rates();
  for (let time = 0; time <= 10_000; time += 250) rates.add(time, model([], ticks(50, 2)));
  const { generated, prompt, ticks: speed } = rates.throughput;
  assert.ok(Math.abs(generated - 400) < 1, `${generated}`);
  assert.ok(Math.abs(prompt - 2000) < 2 && Math.abs(speed - 200) < 1);
  for (let time = 10_250; time <= 20_000; time += 250) rates.add(time, model([]));
  assert.ok(rates.throughput.generated < 0.1);
});

test("Rates: of a frame that leaves ticks out, those that are there stand for the others", () => {
  const rates = new Rates();
  for (let time = 0; time <= 10_000; time += 1000)
    rates.add(time, model([], ticks(500, 1, { left_out: 500 })));
  assert.ok(Math.abs(rates.throughput.generated - 1000) < 1, `${rates.throughput.generated}`);
});

test("Rates: of a slot, from its own tokens", () => {
  const rates = new Rates();
  const at = (time: number, tokens: number, change: Partial<LiveSlot> = {}) => {
    const s = slot({ generated_tokens: tokens, ...change });
    rates.add(time, model([s]));
    return rates.of(s);
  };
  assert.equal(at(0, 1), undefined);
  assert.equal(at(250, 11, { tokens_per_second: 40 }), 40);
  for (let i = 2; i < 60; i++) at(250 * i, 1 + 25 * i, { tokens_per_second: 60 });
  assert.ok(Math.abs((at(15_000, 1501) ?? 0) - 100) < 1, "it follows the tokens of the last second");
  rates.add(15_250, model([]));
  assert.equal(at(15_500, 5), undefined, "what has ended is forgotten");
  assert.equal(rates.of({ slot: 1, state: "idle" }), undefined);
});

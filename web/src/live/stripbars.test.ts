// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { layOutBars, niceCeiling } from "./stripbars.ts";
import { Ticks } from "./ticks.ts";

function ticksEvery(ms: number, n: number, total: number, decode: (i: number) => number): Ticks {
  const ticks = new Ticks();
  const of = (value: (i: number) => number) => Array.from({ length: n }, (_, i) => value(i));
  const [zero, time] = [of(() => 0), of(() => total)];
  ticks.add({
    first: 0,
    left_out: 0,
    at_ms: of((i) => i * ms),
    decode: of(decode),
    prefill: zero,
    passes: zero,
    forward_ms: zero,
    sample_ms: zero,
    plugin_ms: zero,
    total_ms: time,
  });
  return ticks;
}

test("layOutBars: a bar is where its tick was and as wide as it took", () => {
  const bars = layOutBars(
    ticksEvery(100, 10, 50, () => 1),
    1000,
    100,
    10,
  );
  assert.deepEqual(
    bars.map((bar) => [bar.x, bar.width, bar.tick.number]),
    Array.from({ length: 10 }, (_, i) => [10 * i, 5, i]),
  );
});

test("layOutBars: of the ticks of one pixel the largest stands for all", () => {
  const ticks = ticksEvery(1, 5000, 0.5, (i) => (i % 10 === 3 ? 9 : 1));
  const bars = layOutBars(ticks, 4000, 100, 10);
  assert.ok(bars.length <= 101, `${bars.length} bars`);
  assert.ok(bars.every((bar) => bar.tick.decode === 9 || bar.x === 100));
  assert.deepEqual(bars[0]?.tick.number, 3003);
});

test("layOutBars: bars keep their places while time goes on by less than a pixel", () => {
  const ticks = ticksEvery(7, 400, 5, (i) => i);
  const numbers = (end: number) => layOutBars(ticks, end, 100, 10).map((bar) => [bar.x, bar.tick.number]);
  assert.deepEqual(numbers(2001).slice(0, 90), numbers(2009).slice(0, 90));
  const later = new Map(numbers(2011).map(([x, number]) => [number, x]));
  for (const [x = 0, number] of numbers(2001).slice(1))
    assert.equal(later.get(number), x - 1, `tick ${number}`);
});

test("layOutBars: nothing after the end, nothing without ticks", () => {
  assert.deepEqual(layOutBars(new Ticks(), 1000, 100, 10), []);
  assert.ok(
    layOutBars(
      ticksEvery(10, 100, 5, () => 1),
      500,
      100,
      10,
    ).every((bar) => bar.tick.at <= 500),
  );
});

test("niceCeiling: 1, 2, 5 and their tenfolds", () => {
  for (const [value, want] of [
    [0, 1],
    [-3, 1],
    [Number.NaN, 1],
    [0.03, 0.05],
    [1, 1],
    [1.01, 2],
    [37, 50],
    [99, 100],
    [1000, 1000],
  ] as const) {
    assert.ok(Math.abs(niceCeiling(value) - want) < 1e-9, `${value}: ${niceCeiling(value)}`);
  }
});

// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import type { LiveTicks } from "./liveframe.ts";
import { Ticks } from "./ticks.ts";

/** Ticks from number first on, one every 10 ms from time on, each of 4 ms. */
function columns(first: number, n: number, time = 10 * first): LiveTicks {
  const of = (value: (i: number) => number) => Array.from({ length: n }, (_, i) => value(i));
  return {
    first,
    left_out: 0,
    at_ms: of((i) => time + 10 * i),
    decode: of((i) => first + i),
    prefill: of(() => 0),
    passes: of(() => 1),
    forward_ms: of(() => 3),
    sample_ms: of(() => 0.5),
    plugin_ms: of(() => 0),
    total_ms: of(() => 4),
  };
}

const numbers = (ticks: Ticks) => Array.from({ length: ticks.size }, (_, i) => ticks.at(i)?.number);

test("Ticks: keeps the last ones, oldest first", () => {
  const ticks = new Ticks(5);
  assert.equal(ticks.size, 0);
  ticks.add(columns(0, 3));
  ticks.add(columns(3, 4));
  assert.deepEqual(numbers(ticks), [2, 3, 4, 5, 6]);
  assert.equal(ticks.at(5), undefined);
  assert.equal(ticks.at(-1), undefined);
  assert.equal(ticks.last?.decode, 6);
});

test("Ticks: what is told once more is not doubled", () => {
  const ticks = new Ticks(20);
  ticks.add(columns(0, 6));
  ticks.add(columns(2, 6)); // a new watch
  assert.deepEqual(numbers(ticks), [0, 1, 2, 3, 4, 5, 6, 7]);
  ticks.add(columns(2, 6));
  assert.equal(ticks.size, 8);
  ticks.add(columns(12, 2)); // some were left out
  assert.deepEqual(numbers(ticks).slice(-3), [7, 12, 13]);
});

test("Ticks: a model that was loaded anew begins anew", () => {
  const ticks = new Ticks(20);
  ticks.add(columns(0, 6));
  ticks.add(columns(0, 2, 5000));
  assert.deepEqual(numbers(ticks), [0, 1]);
  ticks.add(columns(0, 8, 9000));
  assert.equal(ticks.size, 8);
});

test("Ticks: finds a tick by its number, also where it begins before the one before it ends", () => {
  const ticks = new Ticks(20);
  ticks.add({ ...columns(3, 4), total_ms: [10.001, 10.001, 10.001, 10.001] });
  ticks.add(columns(9, 2));
  for (const at of [0, 1, 2, 3, 4, 5]) assert.equal(ticks.place(ticks.at(at)?.number ?? 0), at);
  assert.equal(ticks.place(8), 4);
  assert.equal(ticks.place(0), 0);
  assert.equal(ticks.place(11), 6);
});

test("Ticks: finds the tick at a time", () => {
  const ticks = new Ticks(4);
  assert.equal(ticks.nearest(5), -1);
  ticks.add(columns(0, 6)); // 2 to 5 are left: they begin at 20, 30, 40, 50
  assert.equal(ticks.from(0), 0);
  assert.equal(ticks.from(25), 1);
  assert.equal(ticks.from(1000), 4);
  for (const [time, number] of [
    [0, 2],
    [22, 2],
    [26, 2],
    [28, 3],
    [33, 3],
    [1000, 5],
  ] as const) {
    assert.equal(ticks.at(ticks.nearest(time))?.number, number, `at ${time}`);
  }
});

// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { queueWords, standing, stateWords, tickWords, waitWords } from "./livewords.ts";

test("stateWords: what a slot does", () => {
  for (const [slot, stands, words] of [
    [{ slot: 0, state: "idle" }, "idle", "Free"],
    [{ slot: 0, state: "prefilling" }, "reading", "Reads its prompt"],
    [{ slot: 0, state: "prefilling", waits_for: "turn" }, "waiting", "Waits"],
    [{ slot: 0, state: "generating" }, "writing", "Writes"],
    [{ slot: 0, state: "parked", waits_for: "paused" }, "waiting", "Paused"],
    [{ slot: 0, state: "parked", waits_for: "reader" }, "waiting", "Waits"],
  ] as const) {
    assert.equal(standing(slot), stands);
    assert.equal(stateWords(slot), words);
  }
});

test("waitWords: every one of the host's has words, and a new one is not lost", () => {
  for (const what of ["paused", "reader", "worker", "quota", "turn", "cells", "slot", "prefix", "disk"]) {
    assert.match(waitWords(what), /^[A-Z].*\.$/, what);
    assert.doesNotMatch(waitWords(what), new RegExp(`for ${what}\\.`), what);
  }
  assert.equal(waitWords("worker", ["a", "b"]), "a and b have not decided on the next token yet.");
  assert.equal(waitWords("worker", ["a"]), "a has not decided on the next token yet.");
  assert.equal(waitWords("tea"), "It waits for tea.");
  assert.equal(waitWords(undefined), "");
});

test("queueWords: who waits, and for what", () => {
  assert.equal(queueWords({ waiting: 0, for: {} }), "The queue is empty.");
  assert.equal(queueWords({ waiting: 1, for: { slot: 1 } }), "1 answer waits: 1 for a slot.");
  assert.equal(
    queueWords({ waiting: 4, for: { cells: 1, slot: 2, tea: 1, paused: 0 } }),
    "4 answers wait: 2 for a slot, 1 for room in the memory and 1 for tea.",
  );
});

test("tickWords: all numbers of a tick", () => {
  const tick = {
    number: 7,
    at: 0,
    decode: 2,
    prefill: 30,
    passes: 2,
    forward: 12,
    sample: 0.5,
    plugin: 0,
    total: 13,
  };
  assert.equal(
    tickWords(tick),
    "Tick 7: tokens 2 decoded and 30 of prompts; 2 passes; model 12 ms, sampling 500 µs, in all 13 ms.",
  );
  assert.match(tickWords({ ...tick, decode: 0, prefill: 0, plugin: 3 }), /tokens none;.*plugins 3 ms/);
});

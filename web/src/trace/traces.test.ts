// SPDX-License-Identifier: MIT
import "fake-indexeddb/auto";
import assert from "node:assert/strict";
import { test } from "node:test";
import { signal } from "@preact/signals";
import { drawnCat, insteadOfFrog } from "./sampletraces.ts";
import type { Piece } from "./tokenitems.ts";
import { type Recorded, Traces, withoutTraces } from "./traces.ts";
import { TraceStore } from "./tracestore.ts";

const cat: Piece = { text: " cat", trace: drawnCat() };
const toad: Piece = { text: " toad", trace: insteadOfFrog() };
const many = (piece: Piece, n: number) => Array.from({ length: n }, () => ({ ...piece }));

test("TraceStore: pieces are kept in chunks, written from any place, and forgotten with their chat", async () => {
  const store = await TraceStore.open("chunks");
  const pieces = many(cat, 150);
  await store.write("m", "c", pieces, 0);
  assert.deepEqual(await store.read("m"), pieces);
  const shorter = [...pieces.slice(0, 100), toad];
  await store.write("m", "c", shorter, 100);
  assert.deepEqual(await store.read("m"), shorter);
  await store.write("n", "d", [toad], 0);
  await store.forget("c");
  assert.deepEqual(await store.read("m"), []);
  assert.deepEqual(await store.read("n"), [toad]);
  store.close();
});

test("TraceStore: the oldest answers make room, the newest stays however long it is", async () => {
  const store = await TraceStore.open("room", 100);
  for (const [at, message] of ["a", "b", "c"].entries()) {
    await store.write(message, "chat", many(cat, 40), 0);
    await new Promise((later) => setTimeout(later, at + 2)); // a later millisecond
  }
  const kept = async () =>
    (await Promise.all(["a", "b", "c", "d"].map((m) => store.read(m)))).map((p) => p.length);
  assert.deepEqual(await kept(), [0, 40, 40, 0]);
  await store.write("d", "chat", many(cat, 200), 0);
  assert.deepEqual(await kept(), [0, 0, 0, 200]);
  store.close();
});

/** A page with a store. Its runs are in running. */
async function page(name: string) {
  const store = await TraceStore.open(name);
  const running = signal<ReadonlyMap<string, Recorded>>(new Map());
  return { store, running, traces: new Traces(running, async () => store) };
}

const run = (id: string, pieces: Piece[], before = 0): Recorded => ({
  id,
  chat: "c",
  before,
  pieces,
  changes: [],
  resumed: false,
  watching: false,
});

test("Traces: an answer's tokens are there while it runs, after its end, and on the next page", async () => {
  const { store, running, traces } = await page("whole");
  const one = run("m", [cat]);
  running.value = new Map([["m", one]]);
  assert.deepEqual(await traces.pieces("m"), [cat]);
  one.pieces.push(toad);
  running.value = new Map();
  assert.deepEqual(await traces.pieces("m"), [cat, toad]);
  const next = new Traces(signal(new Map()), async () => store);
  for (let tries = 0; tries < 100 && (await next.pieces("m")).length < 2; tries++)
    await new Promise(setImmediate);
  assert.deepEqual(await next.pieces("m"), [cat, toad]);
  assert.deepEqual(await next.pieces("unknown"), []);
  store.close();
});

test("Traces: after a reload the answer goes on where the page was left", async () => {
  const { store, running, traces } = await page("reload");
  await store.write("m", "c", [cat, toad, cat], 0);
  running.value = new Map([["m", run("m", [toad], 2)]]);
  assert.deepEqual(await traces.pieces("m"), [cat, toad, toad]);
  running.value = new Map();
  for (let tries = 0; tries < 100; tries++) await new Promise(setImmediate);
  assert.deepEqual(await store.read("m"), [cat, toad, toad]);
  store.close();
});

test("Traces: a chat that goes from the list takes its traces along", async () => {
  const { store, traces } = await page("list");
  await store.write("m", "c", [cat], 0);
  const list = signal([{ id: "c" }, { id: "d" }]);
  traces.follow(list);
  list.value = [{ id: "d" }];
  for (let tries = 0; tries < 100 && (await store.read("m")).length > 0; tries++)
    await new Promise(setImmediate);
  assert.deepEqual(await store.read("m"), []);
  store.close();
});

test("withoutTraces: tokens of which nothing is known have a place, and those too many have none", () => {
  assert.deepEqual(withoutTraces([cat], 2), [cat, { text: "" }]);
  assert.deepEqual(withoutTraces([cat, toad, cat], 2), [cat, toad]);
});

test("Traces: an answer that no chat keeps is not recorded", async () => {
  const { store, running, traces } = await page("unkept");
  running.value = new Map([["m", { ...run("m", [cat]), chat: "" }]]);
  assert.deepEqual(await traces.pieces("m"), []);
  store.close();
});

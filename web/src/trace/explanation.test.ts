// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { explanationOf } from "./explanation.ts";
import { interventionsOf } from "./interventions.ts";
import { drawnCat, idOf, insteadOfFrog, left, stage } from "./sampletraces.ts";
import { itemsOf } from "./tokenitems.ts";

const said = (item: Parameters<typeof explanationOf>[0]) => explanationOf(item).map(({ text }) => text);

test("explanationOf: a token that was drawn although another was likelier", () => {
  const trace = drawnCat();
  assert.deepEqual(said({ text: " cat", place: 0, trace }), [
    "The model’s first choice was ␣dog (42 %). ␣cat was 2nd (31 %).",
    "Top-k kept 3 of 1,000.",
    "The random draw chose ␣cat (37 %).",
  ]);
});

test("explanationOf: why a word changed under banned-phrases", () => {
  const [frog, toad] = itemsOf([{ text: " toad", trace: insteadOfFrog() }]);
  assert.ok(frog && toad);
  assert.deepEqual(said(toad), [
    "plugin:banned-phrases took back 1 token: ␣frog.",
    "The model’s first choice was ␣frog (60 %). ␣toad was 2nd (30 %).",
    "plugin:banned-phrases banned ␣frog.",
    "greedy chose ␣toad (75 %).",
  ]);
  assert.deepEqual(said(frog), [
    "The model’s first choice was ␣frog (60 %).",
    "greedy chose ␣frog (60 %).",
    "plugin:banned-phrases took ␣frog back. Nobody saw it.",
  ]);
});

test("explanationOf: tokens that were not drawn", () => {
  const model = left(9, { " a": 0.9, " b": 0.1 }, [2, 0.1]);
  const none = left(0, {});
  const trace = { id: idOf(" b"), token: " b", stages: [] };
  const tell = (more: object) =>
    said({ text: " b", place: 0, trace: { ...trace, before: none, how: "chosen", by: "", ...more } });
  assert.deepEqual(tell({ how: "forced", by: "plugin:f", before: model }), [
    "The model’s first choice was ␣a (90 %). ␣b was 2nd (10 %).",
    "plugin:f forced ␣b: no stage was asked.",
  ]);
  assert.deepEqual(tell({ how: "spliced", by: "plugin:s" }), ["plugin:s put ␣b here itself."]);
  assert.deepEqual(tell({ how: "injected", by: "client" }), ["You put ␣b here."]);
  assert.deepEqual(said({ text: " b", place: 0 }), ["No record was kept of this token."]);
});

test("explanationOf: ranks that move, and the same step many times", () => {
  const trace = drawnCat();
  trace.stages[0] = stage("plugin:taste", 1, left(1000, { " cat": 0.9, " dog": 0.1 }, [1, 0.9]));
  const back = { by: "client", text: " x", tokens: [{ id: 1, token: " x" }] };
  trace.taken_back = [back, back];
  trace.notes = [{ by: "plugin:taste", text: "two animals" }];
  assert.deepEqual(said({ text: " cat", place: 0, trace }), [
    "You took back 1 token: ␣x, 2 times.",
    "The model’s first choice was ␣dog (42 %). ␣cat was 2nd (31 %).",
    "plugin:taste changed the probabilities. ␣cat rose from 2nd to 1st.",
    "Top-k kept 3 of 1,000. ␣cat fell from 1st to 2nd.",
    "plugin:taste notes: two animals",
    "The random draw chose ␣cat (37 %).",
  ]);
});

test("interventionsOf: what was done to an answer, in a sentence", () => {
  const toad = { text: " toad", trace: insteadOfFrog() };
  assert.deepEqual(interventionsOf([toad]), ["plugin:banned-phrases took back ␣frog."]);
  assert.deepEqual(interventionsOf([toad, toad]), ["plugin:banned-phrases took back ␣frog twice."]);
  const back = (text: string) => ({ by: "client", text, tokens: [] });
  const many = {
    ...drawnCat(),
    how: "injected" as const,
    by: "client",
    taken_back: ["a", "b", "c", "d", "e"].map(back),
  };
  assert.deepEqual(interventionsOf([{ text: "", trace: many }]), [
    "You took back a, b, c and 2 more.",
    "You put in 1 token.",
  ]);
  assert.deepEqual(interventionsOf([{ text: " cat", trace: drawnCat() }]), []);
});

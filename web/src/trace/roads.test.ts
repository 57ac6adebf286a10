// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { beginningAt, forksOf, piecesWith, textsOf } from "./roads.ts";
import { drawnCat, insteadOfFrog, left } from "./sampletraces.ts";
import { itemsOf, type Piece } from "./tokenitems.ts";

const sure = { ...drawnCat(), before: left(1000, { " cat": 0.9, " dog": 0.1 }, [1, 0.9]) };
const pieces: Piece[] = [
  { text: "A" },
  { text: " cat", trace: drawnCat() },
  { text: " cat", trace: sure },
  { text: " toad", trace: insteadOfFrog() },
];

test("forksOf: places where the model was unsure, or something was taken back", () => {
  const forks = forksOf(itemsOf(pieces));
  assert.deepEqual(
    forks.map(({ place, shade, roads, instead }) => [
      place,
      shade,
      roads.map(({ token }) => token),
      instead.map(({ text }) => text),
    ]),
    [
      [1, 2, [" dog", " owl", " a"], []],
      [3, 2, [" frog", " newt"], [" frog"]],
    ],
  );
});

test("forksOf: nothing that would end the answer or is no text is offered", () => {
  const trace = drawnCat();
  trace.before = left(9, { " cat": 0.4, "<|im_end|>": 0.3, "</s>": 0.1, "\ufffd": 0.1, "": 0.1 }, [1, 0.4]);
  assert.deepEqual(forksOf(itemsOf([{ text: " cat", trace }])), []);
});

test("beginningAt: the text up to the token, of the answer or of its reasoning", () => {
  const thinking: Piece[] = ["<think>", "Hm", ".", "</think>", "\n", "A", " cat"].map((text) => ({ text }));
  const parts = { content: "A cat", reasoning: "Hm." };
  for (const { name, message, of = pieces, place, want } of [
    {
      name: "plain",
      message: { content: "A cat cat toad" },
      place: 2,
      want: { content: "A cat owl", reasoning: "", tokens: 3 },
    },
    {
      name: "its record has lost the beginning",
      message: { content: "Once A cat cat toad" },
      place: 1,
      want: { content: "Once A owl", reasoning: "", tokens: 2 },
    },
    {
      name: "after the reasoning",
      message: parts,
      of: thinking,
      place: 6,
      want: { content: "A owl", reasoning: "Hm.", tokens: 7 },
    },
    {
      name: "in the reasoning",
      message: parts,
      of: thinking,
      place: 2,
      want: { content: "", reasoning: "Hm owl", tokens: 3 },
    },
    {
      name: "elsewhere",
      message: { content: "", reasoning: "" },
      of: thinking.slice(0, 1),
      place: 0,
      want: undefined,
    },
  ])
    assert.deepEqual(beginningAt(message, of, place, " owl"), want, name);
});

test("textsOf: text that was sent late belongs to its own token, where the record knows it", () => {
  const named = (text: string, token: string): Piece => ({ text, trace: { ...drawnCat(), token } });
  const end = named("", "<|im_end|>");
  const late = [named("", "A"), named("A cat", " cat"), end];
  assert.deepEqual(textsOf(late), ["A", " cat", "<|im_end|>"]);
  assert.deepEqual(textsOf([named("A", " A"), named(" cat", " cat")]), ["A", " cat"], "a space is left out");
  assert.deepEqual(textsOf([named("", "\ufffd"), named("é", "\ufffd")]), ["", "é"]);
  assert.deepEqual(beginningAt({ content: "A cat" }, late, 1, " dog"), {
    content: "A dog",
    reasoning: "",
    tokens: 2,
  });
});

test("piecesWith: the record ends with the token that a person chose", () => {
  const dog = drawnCat().before.best[0];
  assert.ok(dog);
  const begun = piecesWith(pieces, 1, dog);
  assert.deepEqual(
    begun.map(({ text, trace }) => [text, trace?.by, trace?.before.chosen?.rank]),
    [
      ["A", undefined, undefined],
      [" dog", "client", 1],
    ],
  );
});

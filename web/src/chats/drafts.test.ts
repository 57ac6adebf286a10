// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { Drafts } from "./drafts.ts";

function storage(kept: string | null = null) {
  const items = new Map<string, string>();
  const getItem = (name: string) => items.get(name) ?? kept;
  const setItem = (name: string, value: string) => void items.set(name, value);
  return { items, getItem, setItem };
}

test("Drafts: each chat has its own, and their texts outlive a reload", () => {
  const place = storage();
  const drafts = new Drafts(place);
  drafts.change("a", { text: "one" });
  drafts.change("", { text: "new", files: [{ name: "f", text: "x" }] });
  assert.deepEqual(drafts.of("b").value, { text: "", files: [] });
  const again = new Drafts(place);
  assert.equal(again.of("a").value.text, "one");
  assert.deepEqual(again.of("").value, { text: "new", files: [{ name: "f", text: "x" }] });
  again.clear("a");
  assert.equal(new Drafts(place).of("a").value.text, "");
});

test("Drafts: few and short ones are kept", () => {
  const place = storage();
  const drafts = new Drafts(place);
  for (let i = 0; i < 50; i++) drafts.change(`c${i}`, { text: "x".repeat(60_000) });
  const kept = Object.entries(JSON.parse(place.items.get("penstock.drafts") ?? "") as Record<string, string>);
  assert.equal(kept.length, 30);
  assert.ok(kept.every(([, text]) => text.length === 50_000));
});

test("Drafts: text files are kept as far as there is room, the last ones first, and no pictures", () => {
  const place = storage();
  const drafts = new Drafts(place);
  const picture = { name: "p", file: "0".repeat(64), type: "image/png", size: 1 };
  const text = (letter: string) => ({ name: letter, text: letter.repeat(600_000) });
  drafts.change("a", { files: [text("a")] });
  drafts.change("b", { files: [text("b"), picture] });
  drafts.change("c", { files: [text("c")] });
  const names = (drafts: Drafts) =>
    ["a", "b", "c"].map((chat) =>
      drafts
        .of(chat)
        .value.files.map(({ name }) => name)
        .join(""),
    );
  assert.deepEqual(names(drafts), ["a", "bp", "c"]);
  assert.deepEqual(names(new Drafts(place)), ["", "b", "c"]);
  drafts.clear("c");
  assert.deepEqual(names(new Drafts(place)), ["a", "b", ""]);
  drafts.change("a", { files: [{ name: "long", text: "x".repeat(2_000_000) }] });
  assert.deepEqual(names(new Drafts(place)), ["", "b", ""]);
});

for (const kept of ["", "null", "[1]", '{"a": 3}', "nonsense"]) {
  test(`Drafts: ${JSON.stringify(kept)} in the storage is no error`, () => {
    assert.deepEqual(new Drafts(storage(kept)).of("a").value, { text: "", files: [] });
  });
}

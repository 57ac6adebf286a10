// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { Drafts } from "./drafts.ts";

function storage(kept: string | null = null) {
  const state = { kept };
  const getItem = () => state.kept;
  const setItem = (_name: string, value: string) => {
    state.kept = value;
  };
  return { state, getItem, setItem };
}

test("Drafts: each chat has its own, and their texts outlive a reload", () => {
  const place = storage();
  const drafts = new Drafts(place);
  drafts.change("a", { text: "one" });
  drafts.change("", { text: "new", files: [{ name: "f", text: "x" }] });
  assert.deepEqual(drafts.of("b").value, { text: "", files: [] });
  const again = new Drafts(place);
  assert.equal(again.of("a").value.text, "one");
  assert.deepEqual(again.of("").value, { text: "new", files: [] });
  again.clear("a");
  assert.equal(new Drafts(place).of("a").value.text, "");
});

test("Drafts: few and short ones are kept", () => {
  const place = storage();
  const drafts = new Drafts(place);
  for (let i = 0; i < 50; i++) drafts.change(`c${i}`, { text: "x".repeat(60_000) });
  const kept = Object.entries(JSON.parse(place.state.kept ?? "") as Record<string, string>);
  assert.equal(kept.length, 30);
  assert.ok(kept.every(([, text]) => text.length === 50_000));
});

for (const kept of ["", "null", "[1]", '{"a": 3}', "nonsense"]) {
  test(`Drafts: ${JSON.stringify(kept)} in the storage is no error`, () => {
    assert.equal(new Drafts(storage(kept)).of("a").value.text, "");
  });
}

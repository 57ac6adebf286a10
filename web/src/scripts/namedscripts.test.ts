// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { NamedScripts } from "./namedscripts.ts";
import { readShared, shared } from "./sharedscript.ts";

function storage(before?: string) {
  const items = new Map(before === undefined ? [] : [["penstock.scripts", before]]);
  return {
    getItem: (name: string) => items.get(name) ?? null,
    setItem: (name: string, value: string) => void items.set(name, value),
  };
}

test("NamedScripts: they are kept by name, and what is not valid is left out", () => {
  const kept = storage();
  const scripts = new NamedScripts(kept);
  assert.equal(scripts.save({ name: " b ", source: "1", config: "" }), "");
  assert.equal(scripts.save({ name: "a", source: "2", config: "{}" }), "");
  assert.equal(scripts.save({ name: "b", source: "3", config: "" }), "");
  assert.match(scripts.save({ name: " ", source: "1", config: "" }), /name/);
  assert.match(scripts.save({ name: "c", source: " ", config: "" }), /no script/);
  const want = [
    { name: "a", source: "2", config: "{}" },
    { name: "b", source: "3", config: "" },
  ];
  assert.deepEqual(scripts.list.value, want);
  assert.deepEqual(new NamedScripts(kept).list.value, want);
  scripts.remove("a");
  assert.deepEqual(scripts.list.value, want.slice(1));
  for (const wrong of ["{", "{}", '[null, 7, {"name": "a"}]'])
    assert.deepEqual(new NamedScripts(storage(wrong)).list.value, []);
});

test("shared: a script comes back from its link, and does not run", () => {
  const script = { name: "Öl", source: "// 🐸\nx", config: '{"a": 1}', on: true };
  assert.deepEqual(readShared(shared(script) ?? ""), { ...script, on: false, imported: true });
  assert.equal(shared({ ...script, source: "x".repeat(20_000) }), undefined);
});

for (const text of ["", "!", "e30", btoa('{"source": 7}'), btoa("\xff"), "A".repeat(20_000)])
  test(`readShared: ${text.slice(0, 20)} holds no script`, () => assert.equal(readShared(text), undefined));

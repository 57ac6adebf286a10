// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { CarefulStorage, type SmallStorage } from "./storage.ts";

function kept(full = false): SmallStorage {
  const items = new Map([["a", "1"]]);
  return {
    getItem: (name) => items.get(name) ?? null,
    setItem: (name, value) => {
      if (full) throw new DOMException("no room", "QuotaExceededError");
      items.set(name, value);
    },
    removeItem: (name) => void items.delete(name),
  };
}

test("CarefulStorage: keeps what it is given", () => {
  const below = kept();
  const storage = new CarefulStorage(() => below);
  storage.setItem("b", "2");
  assert.equal(below.getItem("b"), "2");
  storage.removeItem("a");
  assert.equal(storage.getItem("a"), null);
});

test("CarefulStorage: a browser that keeps nothing, or has no room, is no error", () => {
  const below = kept(true);
  const denied = () => {
    throw new DOMException("denied", "SecurityError");
  };
  for (const storage of [new CarefulStorage(() => below), new CarefulStorage(denied)]) {
    storage.setItem("a", "2");
    assert.equal(storage.getItem("a"), "2", "it is known until the page is left");
    storage.removeItem("a");
    assert.equal(storage.getItem("a"), null);
  }
});

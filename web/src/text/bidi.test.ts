// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { visible, visibleHTML, withoutControls } from "./bidi.ts";

test("visible: names the controls and keeps all else", () => {
  assert.deepEqual(visible("a\u202Eb"), [{ text: "a" }, { text: "", control: "U+202E" }, { text: "b" }]);
  assert.deepEqual(visible("שלום"), [{ text: "שלום" }]);
  assert.deepEqual(visible(""), []);
});

test("visibleHTML and withoutControls: none is left", () => {
  assert.equal(visibleHTML("x\u2067y"), 'x<span class="control" data-name="U+2067"></span>y');
  assert.equal(withoutControls("\u202Agpj\u202C.exe"), "gpj.exe");
});

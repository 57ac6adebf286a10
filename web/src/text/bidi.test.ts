// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { splitControls, visibleHTML, withoutControls } from "./bidi.ts";

test("splitControls: names the controls and keeps all else", () => {
  assert.deepEqual(splitControls("a\u202Eb"), [
    { text: "a" },
    { text: "", control: "U+202E" },
    { text: "b" },
  ]);
  assert.deepEqual(splitControls("שלום"), [{ text: "שלום" }]);
  assert.deepEqual(splitControls(""), []);
});

test("visibleHTML and withoutControls: none is left", () => {
  assert.equal(visibleHTML("x\u2067y"), 'x<span class="control" data-name="U+2067"></span>y');
  assert.equal(withoutControls("\u202Agpj\u202C.exe"), "gpj.exe");
});

// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { laidOutJSON, parsedJSON } from "./parsedjson.ts";

test("parsedJSON: an empty text has no value", () => {
  assert.deepEqual(parsedJSON(" "), {});
  assert.deepEqual(parsedJSON('{"a":1}'), { value: { a: 1 } });
  assert.match(parsedJSON("{").problem ?? "", /^This is not JSON: /);
});

test("laidOutJSON: a line for each value, unless they are nested too deeply", () => {
  assert.equal(laidOutJSON({ a: [1] }), '{\n  "a": [\n    1\n  ]\n}');
  const deep = `${"[".repeat(3000)}${"]".repeat(3000)}`;
  assert.equal(laidOutJSON(JSON.parse(deep)), deep);
});

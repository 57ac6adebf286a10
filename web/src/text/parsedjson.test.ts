// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { parsedJSON } from "./parsedjson.ts";

test("parsedJSON: an empty text has no value", () => {
  assert.deepEqual(parsedJSON(" "), {});
  assert.deepEqual(parsedJSON('{"a":1}'), { value: { a: 1 } });
  assert.match(parsedJSON("{").problem ?? "", /^This is not JSON: /);
});

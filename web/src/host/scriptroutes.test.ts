// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Checked, checkScript, scriptError } from "./scriptroutes.ts";

const never = new AbortController().signal;

async function told(answer: unknown): Promise<Checked> {
  return checkScript({ call: async () => answer }, { source: "a" }, never);
}

test("checkScript: the calls have the names that a script exports", async () => {
  assert.deepEqual(await told({ ok: true, implements: ["penstock_open", "penstock_sample"] }), {
    implements: ["sample"],
  });
  assert.deepEqual(await told(undefined), {
    implements: [],
    error: { message: "the server refuses the script without a reason" },
  });
});

test("scriptError: a place is that of its fields, or of its message", () => {
  const message = "TypeError: x is not a function (script.js:3:9)";
  assert.deepEqual(scriptError({ message }), { message, line: 3, column: 9 });
  assert.deepEqual(scriptError({ message, line: 4, column: 0 }), { message, line: 4, column: 9 });
  assert.deepEqual(scriptError({ message: "m", param: "config.word" }), { message: "m", ofConfig: true });
});

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

test("checkScript: what was printed outside of hooks is kept", async () => {
  const { log } = await told({ ok: true, implements: ["penstock_sample"], log: ["a", 1] });
  assert.deepEqual(log, ["a", "1"]);
});

test("scriptError: a place is that of its fields, or of its message", () => {
  const message = "TypeError: x is not a function";
  const placed = `${message} (script.js:3:9)`;
  assert.deepEqual(scriptError({ message: placed }), { message, line: 3, column: 9 });
  assert.deepEqual(scriptError({ message: placed, line: 4, column: 0 }), { message, line: 4, column: 9 });
  assert.deepEqual(scriptError({ message: "m", param: "config.word" }), { message: "m", ofConfig: true });
});

test("scriptError: of a script that ran it has what that threw and printed", () => {
  const message =
    "plugin ban: penstock_sample: error of the plugin: TypeError: no foo (script.js:1:5); its log ends with: a | b";
  assert.deepEqual(scriptError({ message }), {
    message: "TypeError: no foo\nConsole: a | b",
    line: 1,
    column: 5,
  });
});

// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { once } from "./once.ts";

test("once: what was loaded is not loaded again, and what failed is", async () => {
  let calls = 0;
  const load = once(async () => {
    if (++calls === 1) throw new Error("no server");
    return calls;
  });
  const failed = load();
  assert.equal(load(), failed);
  await assert.rejects(failed, /no server/);
  assert.deepEqual(await Promise.all([load(), load()]), [2, 2]);
  assert.equal(await load(), 2);
});

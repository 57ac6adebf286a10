// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { effect } from "@preact/signals";
import { AdminAccess, NoKey } from "./adminaccess.ts";
import { Refused } from "./rest.ts";

/** An access whose questions are answered with these keys, and what it asked. */
function open(...keys: (string | undefined)[]) {
  const kept = {
    key: "",
    keep(key: string) {
      kept.key = key;
    },
    forget() {
      kept.key = "";
    },
  };
  const admin = new AdminAccess(kept);
  const refused: boolean[] = [];
  effect(() => {
    const question = admin.question.value;
    if (question === undefined) return;
    refused.push(question.refused);
    queueMicrotask(() => question.answer(keys.shift(), false));
  });
  return { admin, refused };
}

async function takesRight(key: string): Promise<string> {
  await Promise.resolve();
  if (key !== "right") throw new Refused(401, { message: "no" });
  return "done";
}

test("AdminAccess.act: acts at the same time ask for the key once", async () => {
  const { admin, refused } = open("wrong", "right");
  assert.deepEqual(await Promise.all([admin.act(takesRight), admin.act(takesRight)]), ["done", "done"]);
  assert.deepEqual(refused, [false, true]);
  assert.equal(await admin.act(takesRight), "done");
  assert.equal(refused.length, 2, "it is kept");
});

test("AdminAccess.act: ends when nobody gives the key", async () => {
  const { admin } = open(undefined);
  await assert.rejects(admin.act(takesRight), NoKey);
});

test("AdminAccess.act: a server that takes no changes is remembered until it does", async () => {
  const { admin } = open();
  const closed = async () => {
    throw new Refused(403, { message: "no", code: "admin_disabled" });
  };
  await assert.rejects(admin.act(closed), Refused);
  assert.equal(admin.closed.value, true);
  await admin.act(async () => undefined);
  assert.equal(admin.closed.value, false);
});

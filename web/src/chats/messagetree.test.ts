// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Message } from "./message.ts";
import { MessageTree } from "./messagetree.ts";

let created = 0;

function message(id: string, parent: string | null, role: Message["role"] = "user"): Message {
  return { id, parent, role, chat: "c", created: created++, content: id };
}

test("MessageTree: the last child of each message is shown, until another is", () => {
  const tree = new MessageTree([message("a", null), message("b", "a"), message("c", "a"), message("d", "b")]);
  assert.deepEqual(tree.path.value, ["a", "c"]);
  tree.show("b");
  assert.deepEqual(tree.path.value, ["a", "b", "d"]);
  assert.deepEqual(tree.siblings("b"), ["b", "c"]);
  tree.add(message("e", "a"));
  assert.deepEqual(tree.path.value, ["a", "e"], "a new one is shown");
  tree.add(message("f", null));
  assert.deepEqual(tree.path.value, ["f"], "also as a beginning");
  tree.show("a");
  assert.deepEqual(tree.path.value, ["a", "e"]);
});

test("MessageTree: a message is watched by itself", () => {
  const tree = new MessageTree([message("a", null), message("b", "a")]);
  const path = tree.path.value;
  tree.change("b", (m) => ({ ...m, content: "more" }));
  assert.equal(tree.node("b").value.content, "more");
  assert.equal(tree.path.value, path, "the path has not changed");
  assert.deepEqual(
    tree.upTo("b").map((m) => m.id),
    ["a", "b"],
  );
  assert.deepEqual(tree.upTo(null), []);
});

test("MessageTree: a branch that points to nothing shows the last child", () => {
  const tree = new MessageTree([message("a", null), message("b", "a")]);
  tree.branches.value = { "": "gone", a: "gone" };
  assert.deepEqual(tree.path.value, ["a", "b"]);
});

test("MessageTree.put: a message that was deleted comes back to its place among its siblings", () => {
  const tree = new MessageTree([message("a", null), message("b", "a"), message("c", "a")]);
  const [gone] = tree.remove("b");
  tree.put(gone ?? assert.fail());
  assert.deepEqual(tree.siblings("c"), ["b", "c"]);
});

test("MessageTree: a hundred thousand siblings are read at once", () => {
  const some = cost(10_000);
  const many = cost(100_000);
  assert.ok(many < 50 * some, `${many} µs of the processor for ten times as many as in ${some} µs`);
});

/** The microseconds of the processor that n siblings take, the least of three times. */
function cost(n: number): number {
  const all = Array.from({ length: n }, (_, at) => message(`m${at}`, null));
  const took = [1, 2, 3].map(() => {
    const begun = process.cpuUsage();
    assert.equal(new MessageTree(all).path.value[0], `m${n - 1}`);
    const { user, system } = process.cpuUsage(begun);
    return user + system;
  });
  return Math.min(...took);
}

test("MessageTree: messages that follow each other in a circle are there once", () => {
  const tree = new MessageTree([message("a", "b"), message("b", "a")]);
  assert.deepEqual(
    tree.upTo("b").map((m) => m.id),
    ["a", "b"],
  );
});

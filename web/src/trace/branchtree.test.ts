// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import type { BranchChange } from "../host/protocol.ts";
import { rowsOf } from "./branchrows.ts";
import { BranchTree } from "./branchtree.ts";

const token = (text: string, logprob?: number) => ({
  id: text.length,
  token: text,
  ...(logprob !== undefined && { logprob }),
});

function treeOf(...changes: unknown[]): BranchTree {
  const tree = new BranchTree();
  tree.update(changes as BranchChange[]);
  return tree;
}

/** Each row as "level text score standing". */
function drawn(tree: BranchTree): string[] {
  return rowsOf(tree).map(({ level, tokens, score, standing, ends }) => {
    const text = tokens.map((one) => one.token).join("");
    return [level, text, score?.toFixed(1), standing, ...ends.map((n) => `choice ${n}`)].join("|");
  });
}

// A beam of two: " there was" and " there is", of which the second is dropped for a fork of the
// first.
const begun = [
  { branch: 1, at: 4, tokens: [token(" there", -0.5)], score: -0.5 },
  { branch: 2, parent: 1, at: 5, tokens: [token(" is", -2)], score: -2.5 },
  { branch: 1, tokens: [token(" was", -1)], score: -1.5 },
  { branch: 3, parent: 1, at: 6, tokens: [token(" an", -3)], score: -4.5 },
  { branch: 1, tokens: [token(" a", -1)], score: -2.5 },
  { branch: 2, dropped: true },
];

test("rowsOf: what parts stands below what it parts from, the most promising last and on its level", () => {
  assert.deepEqual(drawn(treeOf(...begun)), [
    "1| there|-0.5|alive",
    "2| is|-2.5|dropped",
    "1| was|-1.5|alive",
    "2| an|-4.5|alive",
    "1| a|-2.5|alive",
  ]);
});

test("rowsOf: the answer's way is marked up to where it ends, and goes before a higher score", () => {
  const ended = [
    { branch: 3, tokens: [token(" owl", -1), token(" who", -1)], score: -6.5 },
    { branch: 1, dropped: true },
    { branch: 3, chosen: 8, choice: 0 },
  ];
  assert.deepEqual(drawn(treeOf(...begun, ...ended)), [
    "1| there|-0.5|chosen",
    "2| is|-2.5|dropped",
    "1| was|-1.5|chosen",
    "2| a|-2.5|dropped",
    "1| an owl|-5.5|chosen|choice 0",
    "1| who|-6.5|alive",
  ]);
  const other = { branch: 1, chosen: 7, choice: 0 }; // a later entry counts in its place
  assert.match(drawn(treeOf(...begun, ...ended, other)).join(), / a\|-2.5\|chosen\|choice 0/);
});

test("rowsOf: tokens that one branch after another goes on with are one row", () => {
  const tree = treeOf(
    { branch: 1, at: 2, tokens: [token("a", -1)], score: -1 },
    { branch: 2, parent: 1, at: 3, tokens: [token("b", -1)], score: -2 },
    { branch: 1, dropped: true },
    { branch: 3, parent: 2, at: 4, tokens: [token("c", -1)], score: -3 },
    { branch: 2, dropped: true },
    { branch: 4, parent: 3, at: 5 },
  );
  assert.deepEqual(drawn(tree), ["1|abc|-3.0|alive"]);
});

test("rowsOf: branches that part at the prompt, that have no tokens yet, and that were cut back", () => {
  const tree = treeOf(
    { branch: 1, at: 3, tokens: [token("a", -1)], score: -1 },
    { branch: 2, parent: 1, at: 3, tokens: [token("b", -2), token("c")], score: -2 },
    { branch: 3, at: 3 },
    { branch: 4, parent: 2, at: 4, tokens: [token("d", -1)], score: -3 }, // of 2 without its last token
    { branch: 2, dropped: true },
    { branch: 5, parent: 4, at: 3, tokens: [token("e", -9)], score: -9 }, // cut back before all of them
  );
  assert.deepEqual(drawn(tree), [
    "2|b|-2.0|alive",
    "3|c|-2.0|dropped",
    "2|d|-3.0|alive",
    "2|e|-9.0|alive",
    "2|||alive",
    "1|a|-1.0|alive",
  ]);
});

test("BranchTree: takes changes of any shape, and what is new of a list that grew", () => {
  const tree = treeOf(
    null,
    {},
    { branch: "x" },
    { branch: 7, parent: 9, tokens: [null, {}, token("a", -1)] },
  );
  assert.deepEqual(drawn(tree), ["1|a|-1.0|alive"]);
  assert.equal(tree.size, 1);
  const changes = [...begun] as BranchChange[];
  const growing = new BranchTree();
  for (let n = 0; n <= changes.length; n++) growing.update(changes.slice(0, n));
  assert.deepEqual(drawn(growing), drawn(treeOf(...begun)));
  assert.equal(growing.size, 5);
});

test("rowsOf: as many branches as a host tells of are laid out, however deep", () => {
  const changes = Array.from({ length: 4096 }, (_, i) => ({
    branch: i + 1,
    ...(i > 0 && { parent: i }),
    at: i,
    tokens: Array.from({ length: 9 }, () => token("x", -1)),
  }));
  const tree = treeOf(...changes);
  assert.equal(tree.size, 32_768, "of more tokens the first count");
  assert.ok(rowsOf(tree).length >= 3641);
});

test("BranchTree: no more branches and tokens are kept than a host tells of", () => {
  const tokens = Array.from({ length: 10 }, () => token("a"));
  const tree = treeOf(...Array.from({ length: 5000 }, (_, branch) => ({ branch, at: 0, tokens })));
  assert.equal(tree.branches.size, 4096);
  assert.equal(tree.size, 32_768);
});

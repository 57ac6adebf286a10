// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { traceRows, visible } from "./trace.ts";

const candidates = (...p: number[]) => p.map((p, id) => ({ id, token: ` t${id}`, logit: 1, p }));

test("traceRows: the model first, then every stage with its time and the best that it left", () => {
  const rows = traceRows({
    id: 0,
    token: " t0",
    before: { n: 1536, best: candidates(0.5, 0.25, 0.125, 0.1) },
    stages: [
      { name: "plugin:min-p", ms: 0.0523, after: { n: 2, best: candidates(0.66667, 0.33333) } },
      { name: "dist", ms: 1.5, after: { n: 1, best: candidates(1) } },
    ],
  });
  assert.deepEqual(rows, [
    { stage: "model", time: "", left: "1,536", best: "␣t0 50%  ␣t1 25%  ␣t2 12.5%" },
    { stage: "plugin:min-p", time: "52 µs", left: "2", best: "␣t0 66.7%  ␣t1 33.3%" },
    { stage: "dist", time: "1,500 µs", left: "1", best: "␣t0 100%" },
  ]);
});

test("visible: what cannot be seen gets a sign", () => {
  assert.equal(visible(" a\n\tb"), "␣a⏎⇥b");
  assert.equal(visible(""), "∅");
});

// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { matrixOf } from "./candidatematrix.ts";
import { drawnCat, insteadOfFrog, left } from "./sampletraces.ts";

test("matrixOf: each stage is a column with what it left and its time", () => {
  const { columns } = matrixOf(drawnCat());
  assert.deepEqual(
    columns.map(({ name, left: n, same, share }) => [
      name,
      n,
      same,
      share === undefined ? "" : share.toFixed(1),
    ]),
    [
      ["model", 1000, false, ""],
      ["logit_bias", 1000, true, "0.1"],
      ["top_k", 3, false, "0.6"],
      ["dist", 1, false, "0.3"],
    ],
  );
});

test("matrixOf: what is cut is known to be cut, and ranks move", () => {
  const { rows } = matrixOf(insteadOfFrog());
  const states = rows.map(({ token, chosen, cells }) => [
    token,
    chosen,
    cells.map((cell) => cell.state).join(" "),
  ]);
  assert.deepEqual(states, [
    [" frog", false, "left cut cut"],
    [" toad", true, "left left left"],
    [" newt", false, "left left cut"],
  ]);
  assert.deepEqual(
    rows[1]?.cells.map(({ moved }) => moved),
    [undefined, 1, 0],
  );
});

test("matrixOf: a token far behind the best stands last, with its rank", () => {
  const trace = drawnCat();
  trace.before = left(1000, { " dog": 0.42, " owl": 0.1 }, [700, 0.0001]);
  const cat = matrixOf(trace).rows.at(-1);
  assert.equal(cat?.token, " cat");
  assert.deepEqual(cat?.cells[0], { state: "left", p: 0.0001, rank: 700 });
});

// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { cleanTrace } from "./cleantrace.ts";
import { drawnCat, insteadOfFrog } from "./sampletraces.ts";

test("cleanTrace: a trace of the host stays as it is", () => {
  for (const trace of [drawnCat(), insteadOfFrog()])
    assert.deepEqual(cleanTrace(JSON.parse(JSON.stringify(trace))), trace);
});

test("cleanTrace: stages that changed nothing share a survey", () => {
  const trace = cleanTrace(JSON.parse(JSON.stringify(drawnCat())));
  assert.equal(trace?.stages[0]?.after, trace?.before);
  assert.notEqual(trace?.stages[1]?.after, trace?.before);
});

test("cleanTrace: what is no trace is none, and what is wrong in one is left out", () => {
  for (const wrong of [
    undefined,
    null,
    7,
    "x",
    [],
    {},
    { id: 1, token: "a" },
    { id: "1", token: "a", stages: [] },
  ])
    assert.equal(cleanTrace(wrong), undefined);
  const odd = {
    id: 1,
    token: "a",
    how: "wished",
    before: 3,
    stages: [{ after: { n: -2, best: [{}, 7] } }, null],
  };
  assert.deepEqual(cleanTrace(odd), {
    id: 1,
    token: "a",
    how: "chosen",
    by: "client",
    before: { n: 0, best: [] },
    stages: [
      { name: "", ms: 0, after: { n: 0, best: [] } },
      { name: "", ms: 0, after: { n: 0, best: [] } },
    ],
  });
});

test("cleanTrace: traces in traces go one level deep", () => {
  let trace: object = drawnCat();
  for (let depth = 0; depth < 5000; depth++)
    trace = { ...drawnCat(), taken_back: [{ by: "p", text: "x", tokens: [{ id: 1, token: "x", trace }] }] };
  const inner = cleanTrace(trace)?.taken_back?.[0]?.tokens[0]?.trace;
  assert.equal(inner?.token, " cat");
  assert.equal(inner?.taken_back, undefined);
});

// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { ChannelClaims } from "./tabs.ts";

/** Resolves when a claim is granted. */
function granted(claims: ChannelClaims): { release: () => void; promise: Promise<void> } {
  let release = () => {};
  const promise = new Promise<void>((resolve) => {
    release = claims.claim("answer", resolve);
  });
  return { release: () => release(), promise };
}

test("ChannelClaims.hold: a new answer is this tab's, and each that asks for it at once is refused", async (t) => {
  const mine = new ChannelClaims("hold");
  const others = [1, 2, 3, 4].map(() => new ChannelClaims("hold"));
  const listener = new BroadcastChannel("hold");
  t.after(() => {
    for (const tab of [mine, ...others, listener]) tab.close();
  });
  let refusals = 0;
  const refused = new Promise<void>((resolve) => {
    listener.addEventListener("message", ({ data }) => {
      if (data.kind === "held" && ++refusals === others.length) resolve();
    });
  });
  mine.hold("answer");
  const claims = others.map((tab) => tab.claim("answer", () => assert.fail("two tabs have it")));
  await refused;
  for (const giveUp of claims) giveUp();
});

test("ChannelClaims: a tab that was refused lets one ask that has a higher name", async (t) => {
  const tab = new ChannelClaims("refused");
  const other = new BroadcastChannel("refused");
  t.after(() => {
    tab.close();
    other.close();
  });
  const heard: string[] = [];
  const sent = () =>
    new Promise<void>((resolve) => {
      other.onmessage = ({ data }) => {
        heard.push(`${data.answer} ${data.kind}`);
        resolve();
      };
    });
  const asked = sent();
  const giveUp = tab.claim("answer", () => assert.fail("it was refused"));
  await asked;
  const last = "\uffff"; // no name is higher
  other.postMessage({ answer: "answer", by: last, kind: "held" });
  other.postMessage({ answer: "answer", by: last, kind: "ask" });
  tab.hold("own");
  const answered = sent(); // its answer to the next question, so it has heard the one before
  other.postMessage({ answer: "own", by: last, kind: "ask" });
  await answered;
  giveUp();
  assert.deepEqual(heard, ["answer ask", "own held"]);
});

test("ChannelClaims: of two tabs that ask at once, one has it, and the other when it is given up", async (t) => {
  const tabs = [new ChannelClaims("test"), new ChannelClaims("test")];
  t.after(() => {
    for (const tab of tabs) tab.close();
  });
  const claims = tabs.map(granted);
  const order: number[] = [];
  claims.forEach(({ promise }, at) => void promise.then(() => order.push(at)));
  await Promise.race(claims.map(({ promise }) => promise));
  const first = order[0] ?? assert.fail();
  assert.equal(order.length, 1);
  claims[first]?.release();
  await claims[1 - first]?.promise;
  assert.deepEqual(order, [first, 1 - first]);
});

// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { allowed, BoundedFetch } from "./boundedfetch.ts";

const url = "http://server/mcp";

test("BoundedFetch: a server that sends without end is given up, and one asked again is not", async () => {
  let given = 0;
  const half = new Uint8Array(allowed.bytes / 2);
  let chunks = 2;
  const endless = () =>
    new Response(
      new ReadableStream({
        pull: (stream) => (chunks-- > 0 ? stream.enqueue(half) : stream.close()),
      }),
      { status: 201, headers: { "mcp-session-id": "s" } },
    );
  const bounded = new BoundedFetch(
    () => given++,
    async () => endless(),
  );
  const whole = await bounded.fetch(url, { method: "POST" });
  assert.equal((await whole.arrayBuffer()).byteLength, allowed.bytes);
  assert.deepEqual([whole.status, whole.headers.get("mcp-session-id")], [201, "s"]);
  bounded.renew();
  chunks = 1000;
  const more = await bounded.fetch(url, { method: "POST" });
  await assert.rejects(more.arrayBuffer(), /more than 8 MB/);
  assert.equal(given, 1);
  assert.ok(chunks > 900, "the rest is not read");
  assert.match(bounded.problem ?? "", /8 MB/);
});

test("BoundedFetch: a server cannot keep the page asking", async () => {
  let given = 0;
  let asked = 0;
  const bounded = new BoundedFetch(
    () => given++,
    async () => {
      asked++;
      return new Response(null, { status: 202 });
    },
  );
  for (let n = 0; n < allowed.requests; n++) await bounded.fetch(url, { method: "POST" });
  await assert.rejects(bounded.fetch(url, { method: "POST" }), /more than 100 requests/);
  assert.deepEqual([asked, given], [allowed.requests, 1]);
});

test("BoundedFetch: no stream of notices is opened; one that goes on with an answer is", async () => {
  const bounded = new BoundedFetch(
    () => {},
    async () => new Response("data", { status: 200 }),
  );
  assert.equal((await bounded.fetch(url, { method: "GET" })).status, 405);
  const headers = new Headers({ "Last-Event-ID": "1" });
  assert.equal((await bounded.fetch(url, { method: "GET", headers })).status, 200);
});

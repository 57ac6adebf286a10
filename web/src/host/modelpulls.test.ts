// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { ModelPulls, type Pull } from "./modelpulls.ts";
import { Refused } from "./rest.ts";

const place = { address: (path: string) => new URL(path, "http://h/x/") };

/** A server that sends these lines, and what it was asked. */
function sending(t: TestContext, pieces: readonly string[], status = 200) {
  const asked: unknown[] = [];
  t.mock.method(globalThis, "fetch", async (url: URL, { headers, body }: RequestInit) => {
    asked.push({ url: url.href, headers, body });
    const stream = new ReadableStream({
      start(controller) {
        for (const piece of pieces) controller.enqueue(new TextEncoder().encode(piece));
        controller.close();
      },
    });
    return new Response(stream, { status });
  });
  return asked;
}

test("ModelPulls.pull: it tells how far it is, and what the model is called", async (t) => {
  const asked = sending(t, [
    '{"status":"pulling big-Q4_K_M-00001-of-00002.gguf","total":100,"comp',
    'leted":10}\n{"status":"pulling","total":100,"completed":60}\n',
    '{"status":"verifying sha256 digest"}\n{"status":"success"}\n',
  ]);
  const pulls = new ModelPulls(place);
  const seen: string[] = [];
  pulls.list.subscribe(
    ([pull]) => pull && seen.push(`${pull.phase} ${pull.text} ${pull.done}/${pull.total}`),
  );
  const ended = await pulls.pull("owner/big", "secret");
  assert.deepEqual(ended, {
    name: "owner/big",
    phase: "done",
    text: "verifying sha256 digest",
    done: 60,
    total: 100,
    model: "big-Q4_K_M",
  } satisfies Pull);
  assert.deepEqual(seen, [
    "running  0/0",
    "running pulling big-Q4_K_M-00001-of-00002.gguf 10/100",
    "running pulling 60/100",
    "running verifying sha256 digest 60/100",
    "done verifying sha256 digest 60/100",
  ]);
  assert.deepEqual(asked, [
    {
      url: "http://h/x/api/pull",
      headers: { Authorization: "Bearer secret", "Content-Type": "application/json" },
      body: '{"model":"owner/big"}',
    },
  ]);
  pulls.dismiss("owner/big");
  assert.deepEqual(pulls.list.value, []);
});

for (const [name, pieces, text] of [
  [
    "the server's words",
    ['{"status":"pulling"}\n{"error":"not enough disk space"}\n'],
    /^not enough disk space$/,
  ],
  ["an end without a word", ['{"status":"pulling"}\n'], /^the connection to the server was lost/],
  ["what is no line of JSON", ["<html>\n"], /^the connection to the server was lost/],
  ["a line without an end", [`{"status":"${"x".repeat(70_000)}`], /^the connection to the server was lost/],
] as const) {
  test(`ModelPulls.pull: it fails with ${name}`, async (t) => {
    sending(t, pieces);
    const ended = await new ModelPulls(place).pull("owner/name", "");
    assert.equal(ended?.phase, "failed");
    assert.match(ended?.text ?? "", text);
  });
}

test("ModelPulls.pull: a refusal is thrown in the server's words, also in Ollama's shape", async (t) => {
  sending(t, ['{"error":"the admin key is wrong"}'], 401);
  const pulls = new ModelPulls(place);
  await assert.rejects(pulls.pull("owner/name", ""), (error) => {
    assert.ok(error instanceof Refused && error.status === 401);
    return error.message === "the admin key is wrong";
  });
  assert.deepEqual(pulls.list.value, []);
});

test("ModelPulls.stop: the request ends, and can be made again", async (t) => {
  t.mock.method(globalThis, "fetch", async (_: URL, { signal }: RequestInit) => {
    const stream = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('{"status":"pulling"}\n'));
        signal?.addEventListener("abort", () => controller.error(signal.reason));
      },
    });
    return new Response(stream);
  });
  const pulls = new ModelPulls(place);
  const ending = pulls.pull("owner/name", "");
  assert.equal(await pulls.pull("owner/name", ""), undefined, "it is on its way already");
  await new Promise<void>((resolve) =>
    pulls.list.subscribe(([pull]) => pull?.text === "pulling" && resolve()),
  );
  pulls.stop("owner/name");
  assert.equal((await ending)?.phase, "stopped");
});

// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { base64url, KeyNeeded, parsedJSON, Rest } from "./rest.ts";

/** A host whose one answer is given, and the requests it got. */
function answering(t: TestContext, status: number, body: unknown, key = "") {
  const requests: { url: string; headers: unknown }[] = [];
  t.mock.method(globalThis, "fetch", async (url: URL, options: RequestInit) => {
    requests.push({ url: url.href, headers: options.headers });
    return new Response(JSON.stringify(body), { status });
  });
  return { host: new Rest(new URL("http://h/below/"), () => key), requests };
}

test("Rest.models: what it serves, asked for below the page's own path and with the key", async (t) => {
  const { host, requests } = answering(
    t,
    200,
    {
      data: [
        { id: "tiny", meta: { built_in: true } },
        { id: "own", status: { value: "unloaded" }, meta: { size: 5 } },
        { no: "name" },
      ],
    },
    "k",
  );
  const want = [
    { name: "tiny", builtIn: true, state: "loaded", failed: "", size: 0, parameters: 0 },
    { name: "own", builtIn: false, state: "unloaded", failed: "", size: 5, parameters: 0 },
  ];
  assert.deepEqual(await host.models(), want);
  assert.deepEqual(requests, [{ url: "http://h/below/v1/models", headers: { Authorization: "Bearer k" } }]);
});

test("Rest.models: 401 asks for a key", async (t) => {
  await assert.rejects(answering(t, 401, {}).host.models(), KeyNeeded);
});

test("Rest.models: an error in the host's words, or its status without any", async (t) => {
  const error = { message: "the model is loading" };
  await assert.rejects(answering(t, 503, { error }).host.models(), /^Error: the model is loading$/);
  await assert.rejects(answering(t, 502, "x").host.models(), /^Error: the server answered 502$/);
});

test("Rest.models: nobody there", async (t) => {
  t.mock.method(globalThis, "fetch", () => Promise.reject(new TypeError("NetworkError when fetching")));
  const host = new Rest(new URL("http://h/"), () => "");
  await assert.rejects(host.models(), /^Error: the server does not answer$/);
});

test("Rest.plugins: what each does and can be told, of those that can be used", async (t) => {
  const config_schema = { type: "object", properties: { min_p: {}, draw: {} } };
  const data = [
    {
      name: "min-p",
      state: "ready",
      exports: ["penstock_sample"],
      manifest: { summary: "drops the tail", place: "last", view: "candidates", config_schema },
    },
    { name: "x", state: "ready", manifest: {} },
    { name: "broken", state: "failed", error: "no WebAssembly" },
    { name: "faulty", state: "quarantined", manifest: {} },
    { name: "script", state: "ready", file: "", manifest: {} }, // the host's own
  ];
  const silent = { exports: [], place: "first", view: "none" };
  const want = [
    {
      name: "min-p",
      summary: "drops the tail",
      fields: ["min_p", "draw"],
      exports: ["penstock_sample"],
      place: "last",
      view: "candidates",
      schema: config_schema,
    },
    { name: "x", summary: "", fields: [], ...silent },
    { name: "faulty", summary: "", fields: [], ...silent },
  ];
  assert.deepEqual(await answering(t, 200, { data }).host.plugins(), want);
});

test("Rest.models: what each takes besides text, where the host says so", async (t) => {
  const architecture = { input_modalities: ["text", "image"], output_modalities: ["text"] };
  const data = [{ id: "sees", architecture }, { id: "silent" }, { id: "odd", architecture: 7 }];
  const told = await answering(t, 200, { data }).host.models();
  assert.deepEqual(
    told.map(({ abilities }) => abilities),
    [{ sees: true, hears: false }, undefined, undefined],
  );
});

test("Rest.props: the defaults of a model, whatever else the host tells", async (t) => {
  const params = { temperature: 0.8, samplers: ["top_k"] };
  const { host, requests } = answering(t, 200, {
    model_alias: "tiny",
    default_generation_settings: { n_ctx: 1024, params },
    chat_template_caps: { supports_tools: true, supports_system_role: false, odd: "yes" },
    modalities: { vision: true, video: false, audio: false },
    body_limit: 1024,
  });
  assert.deepEqual(await host.props("a b"), {
    model: "tiny",
    context: 1024,
    abilities: { sees: true, hears: false },
    bodyLimit: 1024,
    defaults: params,
    template: { supports_tools: true, supports_system_role: false, odd: false },
  });
  assert.equal(requests[0]?.url, "http://h/below/props?model=a%20b");
});

test("Rest.props: nothing is known of a host that tells nothing", async (t) => {
  assert.deepEqual(await answering(t, 200, null).host.props(), { defaults: {}, template: {} });
});

for (const status of [404, 503]) {
  test(`Host.plugins: none where the route answers ${status}`, async (t) => {
    assert.deepEqual(await answering(t, status, {}).host.plugins(), []);
  });
}

for (const [key, want] of [
  ["secret", "c2VjcmV0"],
  ["a", "YQ"],
  ["ÿ?>", "w78_Pg"],
] as const) {
  test(`base64url of ${key}`, () => assert.equal(base64url(key), want));
}

test("parsedJSON: an answer that is no JSON is told in words", () => {
  assert.deepEqual(parsedJSON('{"a":1}'), { a: 1 });
  assert.throws(() => parsedJSON("<html>"), /not Penstock/);
});

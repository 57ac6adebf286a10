// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fetchForSignIn, renewedOnce, SignIn } from "./oauth.ts";
import { cleanSignedIn, comeBack } from "./signin.ts";

const way = { url: "https://auth/", state: "mine" };

test("comeBack: the state is checked, and an error is told in words", async () => {
  const other = new BroadcastChannel("penstock-oauth");
  for (const [told, want] of [
    [
      { code: "c", iss: "i" },
      { code: "c", iss: "i" },
    ],
    [{ error: "access_denied" }, /declined/],
    [{ error: "server_error", error_description: "no\u202e room" }, /failed: no room/],
    [{}, /failed/],
  ] as const) {
    const waiting = comeBack(way, new AbortController().signal);
    other.postMessage({ state: "another", code: "x" });
    other.postMessage({ ...told, state: "mine" });
    if (want instanceof RegExp) await assert.rejects(waiting, want);
    else assert.deepEqual(await waiting, want);
  }
  const stop = new AbortController();
  const waiting = comeBack(way, stop.signal);
  stop.abort();
  await assert.rejects(waiting, /stopped/);
  other.close();
});

test("cleanSignedIn: what is too long, no text or unknown is left out", () => {
  const client = { client_id: "me", client_secret: 7, other: "x" };
  const tokens = { access_token: "a", refresh_token: "r".repeat(20_000), scope: "line\nbreak" };
  assert.deepEqual(cleanSignedIn({ client, tokens, at: 5 }), {
    client: { client_id: "me" },
    tokens: { access_token: "a" },
    at: 5,
  });
  assert.deepEqual(cleanSignedIn({ client, tokens: { scope: "a" } }), { client: { client_id: "me" }, at: 0 });
  assert.equal(cleanSignedIn({ tokens }), undefined);
  assert.equal(cleanSignedIn("x"), undefined);
});

// The worker's own place, for this file alone: all run in one process.
before(() => {
  Object.assign(globalThis, { self: { location: new URL("https://page.example/assets/mcp.worker.js") } });
});
after(() => {
  Reflect.deleteProperty(globalThis, "self");
});

const local = new URL("http://127.0.0.1:1/mcp");
const far = new URL("https://far.example/mcp");

for (const [name, server, url] of [
  ["a scheme that runs code", far, "javascript:alert(1)"],
  ["a plain address", far, "http://auth.example/"],
  ["this machine, where the server is elsewhere", far, "http://localhost:1/"],
  ["an endless address", far, `https://auth.example/${"x".repeat(9000)}`],
] as const)
  test(`SignIn: ${name} is no way to sign in`, async () => {
    const signIn = new SignIn(server, undefined, () => {});
    assert.throws(() => signIn.redirectToAuthorization(new URL(url)), /needs https/);
    assert.equal(signIn.way, undefined);
    await assert.rejects(fetchForSignIn(server, url), /needs https/);
  });

test("SignIn: none leads to the page's own host, which would take it for a person's wish", async () => {
  const url = new URL("https://page.example/v1/plugins");
  assert.throws(() => new SignIn(far, undefined, () => {}).redirectToAuthorization(url), /of this page/);
  await assert.rejects(fetchForSignIn(far, url), /of this page/);
});

test("SignIn.isOf: another issuer is none, nor is one whose name is only claimed", () => {
  const [auth, other] = ["https://auth.example", "https://other.example"];
  for (const [at, issuer, token, came, want, says] of [
    [auth, auth, other, auth, true],
    [auth, auth, auth, other, false],
    [auth, auth, auth, "", true],
    [auth, auth, auth, "", false, true],
    [auth, other, auth, other, false],
    [auth, other, other, other, true], // a copy of its metadata
    [auth, "x", auth, "x", false],
  ] as const) {
    const signIn = new SignIn(far, undefined, () => {});
    signIn.saveDiscoveryState({
      authorizationServerUrl: at,
      authorizationServerMetadata: {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${token}/token`,
        response_types_supported: ["code"],
        authorization_response_iss_parameter_supported: says,
      },
    });
    assert.equal(signIn.isOf(came), want, `${issuer} at ${at}, code to ${token}, came with ${came}`);
  }
});

test("SignIn: no token goes to a server in the clear", () => {
  const signIn = new SignIn(new URL("http://far.example/mcp"), undefined, () => {});
  const discovered = { authorizationServerUrl: "https://auth.example/" };
  assert.throws(() => signIn.saveDiscoveryState(discovered), /needs https/);
});

test("SignIn: https, and within this machine", () => {
  for (const [server, url] of [
    [far, "https://auth.example/"],
    [local, "http://localhost:2/"],
  ] as const) {
    const signIn = new SignIn(server, undefined, () => {});
    const state = signIn.state();
    signIn.redirectToAuthorization(new URL(`${url}?state=${state}`));
    assert.deepEqual(signIn.way, { url: `${url}?state=${state}`, state });
    assert.match(state, /^[\da-f]{32}$/);
    assert.notEqual(signIn.state(), state);
  }
});

test("fetchForSignIn: what a server tells of its sign-in is bounded", async (t) => {
  t.mock.method(globalThis, "fetch", async () => new Response("x".repeat(300 << 10)));
  await assert.rejects((await fetchForSignIn(local, local)).text(), /more than 256 KB/);
});

test("renewedOnce: who renews a token at the same time shares the answer, and no failure stays", async () => {
  const answers = [new Response("busy", { status: 503 }), new Response("new"), new Response("code")];
  let asked = 0;
  const fetch = renewedOnce(async () => answers[asked++] ?? Response.error());
  const send = async (form: Record<string, string>) =>
    (await fetch("https://auth.example/token", { body: new URLSearchParams(form) })).text();
  const renew = () => send({ grant_type: "refresh_token", refresh_token: "r" });
  assert.deepEqual(await Promise.all([renew(), renew()]), ["busy", "busy"]);
  assert.deepEqual(await Promise.all([renew(), renew()]), ["new", "new"]);
  assert.equal(await renew(), "new"); // which is not kept yet
  assert.equal(await send({ grant_type: "authorization_code" }), "code");
  assert.equal(asked, 3);
});

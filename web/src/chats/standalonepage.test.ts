// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import type { TokenTrace } from "../host/protocol.ts";
import { percent } from "../trace/tokenwords.ts";
import type { Message } from "./message.ts";
import { standalonePage } from "./standalonepage.ts";

const hostile = '</script><script>alert(1)</script><img src=x onerror="alert(2)">\u202e';
const question: Message = { id: "q", chat: "c", parent: null, role: "user", created: 1, content: hostile };
const answer: Message = { id: "a", chat: "c", parent: "q", role: "assistant", created: 2, content: hostile };
const survey = {
  n: 2,
  best: [
    { id: 1, token: hostile, logit: 1, p: 0.75 },
    { id: 2, token: "toad", logit: 0, p: 0.25 },
  ],
  chosen: { rank: 1, logit: 1, p: 0.75 },
};
const trace: TokenTrace = {
  id: 1,
  token: hostile,
  how: "chosen",
  by: "dist",
  before: survey,
  stages: [{ name: "dist", ms: 1, after: survey }],
};

function page(): string {
  return standalonePage({
    title: hostile,
    messages: [{ ...question, files: [{ name: hostile, file: "f", type: "image/png", size: 1 }] }, answer],
    urls: new Map([["f", "data:image/png;base64,AA=="]]),
    pieces: new Map([["a", [{ text: hostile, trace }]]]),
  });
}

test("standalonePage: nothing runs but its own script, which its policy names", () => {
  const html = page();
  const scripts = [...html.matchAll(/<script>([\s\S]*?)<\/script>/g)].map(([, code]) => code ?? "");
  assert.equal(scripts.length, 1, "a text has begun a script");
  const hash = (code = "") => `'sha256-${createHash("sha256").update(code).digest("base64")}'`;
  const style = /<style>([\s\S]*?)<\/style>/.exec(html)?.[1];
  const policy = /Content-Security-Policy" content="([^"]*)"/.exec(html)?.[1];
  assert.equal(
    policy,
    `default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; media-src data:; style-src ${hash(style)}; script-src ${hash(scripts[0])}`,
  );
  assert.equal(html.match(/<img /g)?.length, 1, "a text has begun a picture");
  assert.ok(!html.includes("\u202e"), "a text can turn others around");
});

test("standalonePage: an answer's tokens with sentences and candidates, without a record only the text", () => {
  const facts = JSON.parse(/id="facts">([^<]*)<\/script>/.exec(page())?.[1] ?? "");
  const [[name, sentences, best]] = facts;
  assert.match(name, /script/);
  assert.match(sentences.join(" "), /The model’s first choice was .* \(75.%\)/);
  assert.deepEqual(best[1], ["toad", percent(0.25)]);
  const plain = standalonePage({ title: "x", messages: [answer], urls: new Map(), pieces: new Map() });
  assert.ok(!plain.includes("tokens were chosen"));
});

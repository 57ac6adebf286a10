// SPDX-License-Identifier: MIT

// Embeddings with Ollama's official client.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { Ollama } from "ollama";
import { Host, key, model } from "./host.ts";

const host = Host.use();
let client: Ollama;

before(() => {
  client = new Ollama({ host: host.url, headers: { Authorization: `Bearer ${key}` } });
});

test("one input or several have normalised vectors", async () => {
  const several = await client.embed({ model, input: ["A frog in a pond.", "A king in a castle."] });
  assert.equal(several.embeddings.length, 2);
  for (const vector of several.embeddings) assert.ok(Math.abs(Math.hypot(...vector) - 1) < 1e-3);
  assert.ok(several.prompt_eval_count > 2);
  const one = await client.embed({ model, input: "A frog in a pond." });
  assert.equal(one.embeddings[0]?.length, several.embeddings[0]?.length);
  const old = await client.embeddings({ model, prompt: "A frog in a pond." });
  assert.equal(old.embedding.length, one.embeddings[0]?.length);
});

// SPDX-License-Identifier: MIT

// Embeddings with OpenAI's official client, which asks for base64 and decodes it.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import OpenAI from "openai";
import { Host, key, model, refusal } from "./host.ts";

const host = Host.use();
let client: OpenAI;

before(() => {
  client = new OpenAI({ baseURL: `${host.url}/v1`, apiKey: key, maxRetries: 0 });
});

test("base64 and floats are the same normalised vectors", async () => {
  const input = ["A frog in a pond.", "A king in a castle."];
  const coded = await client.embeddings.create({ model, input });
  const plain = await client.embeddings.create({ model, input, encoding_format: "float" });
  assert.equal(coded.data.length, 2);
  for (const [i, { embedding, index }] of coded.data.entries()) {
    assert.equal(index, i);
    assert.ok(embedding.length > 0);
    assert.ok(Math.abs(Math.hypot(...embedding) - 1) < 1e-3);
    for (const [j, value] of embedding.entries()) {
      assert.ok(Math.abs(value - (plain.data[i]?.embedding[j] ?? Number.NaN)) < 1e-5);
    }
  }
  assert.ok(coded.usage.prompt_tokens > 2);
  assert.equal(coded.usage.total_tokens, coded.usage.prompt_tokens);
});

test("a wrong field is named", async () => {
  const bad = await refusal(
    OpenAI.BadRequestError,
    client.embeddings.create({ model, input: "x", encoding_format: "hex" as "float" }),
  );
  assert.equal(bad.param, "encoding_format");
});

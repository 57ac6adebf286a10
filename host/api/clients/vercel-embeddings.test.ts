// SPDX-License-Identifier: MIT

// Embeddings with Vercel's AI SDK.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { createOpenAICompatible, type OpenAICompatibleProvider } from "@ai-sdk/openai-compatible";
import { embedMany } from "ai";
import { Host, key, model } from "./host.ts";

const host = Host.use();
let provider: OpenAICompatibleProvider;

before(() => {
  provider = createOpenAICompatible({ name: "penstock", baseURL: `${host.url}/v1`, apiKey: key });
});

test("embeddings come for several values", async () => {
  const { embeddings } = await embedMany({
    model: provider.embeddingModel(model),
    values: ["A frog in a pond.", "A king in a castle."],
    maxRetries: 0,
  });
  assert.equal(embeddings.length, 2);
  assert.ok((embeddings[0]?.length ?? 0) > 0);
});

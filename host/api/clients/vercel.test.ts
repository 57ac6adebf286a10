// SPDX-License-Identifier: MIT

// Vercel's AI SDK with its provider for OpenAI-compatible servers.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { createOpenAICompatible, type OpenAICompatibleProvider } from "@ai-sdk/openai-compatible";
import { APICallError, generateObject, generateText, stepCountIs, streamObject, streamText, tool } from "ai";
import { collect, Host, key, model, refusal } from "./host.ts";
import { Place, toolDescription, toolName, weather } from "./weather.ts";

const prompt = "What is the weather in Paris?";
// The model may call several times at once, and would.
const single = { penstock: { parallel_tool_calls: false } };
const host = Host.withTools();
let provider: OpenAICompatibleProvider;

before(() => {
  provider = createOpenAICompatible({
    name: "penstock",
    baseURL: `${host.url}/v1`,
    apiKey: key,
    includeUsage: true,
    supportsStructuredOutputs: true,
  });
});

/** A tool that notes what it is called with. */
function noting(called: Place[]) {
  return tool({
    description: toolDescription,
    inputSchema: Place,
    execute: async (place) => {
      called.push(place);
      return weather;
    },
  });
}

test("text comes whole and streamed, with its usage", async () => {
  const ask = { model: provider(model), prompt, temperature: 0, maxOutputTokens: 20, maxRetries: 0 };
  const whole = await generateText(ask);
  assert.ok(whole.text);
  assert.equal(whole.finishReason, "length");
  assert.equal(whole.usage.outputTokens, 20);
  const streamed = streamText(ask);
  assert.equal((await collect(streamed.textStream)).join(""), whole.text);
  assert.equal((await streamed.usage).outputTokens, 20);
});

test("the tool loop calls the tool and answers with its result", async () => {
  const called: Place[] = [];
  const result = await generateText({
    model: provider(model),
    prompt,
    maxOutputTokens: 300,
    temperature: 0,
    providerOptions: single,
    maxRetries: 0,
    tools: { [toolName]: noting(called) },
    stopWhen: stepCountIs(2),
    // The first step must call, and the second may not.
    prepareStep: ({ stepNumber }) => ({ toolChoice: stepNumber === 0 ? "required" : "none" }),
  });
  assert.equal(called.length, 1);
  assert.deepEqual(result.steps.map(({ finishReason }) => finishReason)[0], "tool-calls");
  assert.equal(result.steps.length, 2);
  assert.ok(result.text);
});

test("the tool loop streams", async () => {
  const called: Place[] = [];
  const result = streamText({
    model: provider(model),
    prompt,
    maxOutputTokens: 300,
    temperature: 0,
    providerOptions: single,
    maxRetries: 0,
    tools: { [toolName]: noting(called) },
    toolChoice: { type: "tool", toolName },
  });
  const parts = await collect(result.fullStream);
  const deltas = parts.flatMap((part) => (part.type === "tool-input-delta" ? [part.delta] : []));
  assert.deepEqual(Place.parse(JSON.parse(deltas.join(""))), called[0]);
  assert.ok(parts.some((part) => part.type === "tool-result" && part.output === weather));
});

test("an object has the schema's shape, whole and streamed", async () => {
  const ask = {
    model: provider(model),
    prompt,
    schema: Place,
    maxOutputTokens: 200,
    temperature: 0,
    maxRetries: 0,
  };
  Place.parse((await generateObject(ask)).object);
  const streamed = streamObject(ask);
  await collect(streamed.partialObjectStream);
  Place.parse(await streamed.object);
});

test("an error says what is wrong", async () => {
  const error = await refusal(
    APICallError,
    generateText({ model: provider(model), prompt, temperature: -1, maxRetries: 0 }),
  );
  assert.equal(error.statusCode, 400);
  assert.match(error.message, /temperature is -1/);
});

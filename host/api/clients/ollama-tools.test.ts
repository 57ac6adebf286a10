// SPDX-License-Identifier: MIT

// Tools with Ollama's official client.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { Ollama } from "ollama";
import { collect, Host, key, model } from "./host.ts";
import { Place, placeSchema, toolDescription, toolName, weather } from "./weather.ts";

const messages = [{ role: "user", content: "What is the weather in Paris?" }];
const greedy = { temperature: 0, num_predict: 20 };
const tool = {
  type: "function",
  function: { name: toolName, description: toolDescription, parameters: placeSchema },
};
const host = Host.withTools();
let client: Ollama;

before(() => {
  client = new Ollama({ host: host.url, headers: { Authorization: `Bearer ${key}` } });
});

test("a forced call has a name and arguments that fit the schema", async () => {
  const forced = { tool_choice: "required", parallel_tool_calls: false }; // extras of this host
  const ask = { model, messages, tools: [tool], options: { temperature: 0, num_predict: 300 }, ...forced };
  const whole = await client.chat(ask);
  const call = whole.message.tool_calls?.[0];
  assert.equal(call?.function.name, toolName);
  Place.parse(call?.function.arguments);
  const parts = await collect(await client.chat({ ...ask, stream: true }));
  const calls = parts.flatMap(({ message }) => message.tool_calls ?? []);
  assert.deepEqual(
    calls.map((c) => c.function),
    whole.message.tool_calls?.map((c) => c.function),
  );
});

test("a tool's result goes back", async () => {
  const ask = { model, tools: [tool], options: greedy };
  const first = await client.chat({ ...ask, messages });
  assert.ok(first.message.content || first.message.tool_calls);
  const call = { function: { name: toolName, arguments: { city: "Paris", days: "one" } } };
  const next = await client.chat({
    ...ask,
    messages: [
      ...messages,
      { role: "assistant", content: "", tool_calls: [call] },
      { role: "tool", content: weather, tool_name: toolName },
    ],
  });
  assert.ok(next.prompt_eval_count > first.prompt_eval_count);
});

test("thinking stands beside the content", async () => {
  const ask = { model, messages, think: true, options: { ...greedy, reasoning_budget_tokens: 8 } };
  const whole = await client.chat(ask);
  assert.ok(whole.message.thinking);
  const parts = await collect(await client.chat({ ...ask, stream: true }));
  assert.ok(parts.some(({ message }) => message.thinking));
});

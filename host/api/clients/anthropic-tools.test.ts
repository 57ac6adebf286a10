// SPDX-License-Identifier: MIT

// Tools, structured answers and thinking with Anthropic's official client.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import { zodOutputFormat } from "@anthropic-ai/sdk/helpers/zod";
import { collect, Host, key, model, refusal } from "./host.ts";
import { Place, placeSchema, toolDescription, toolName, weather } from "./weather.ts";

const messages = [{ role: "user" as const, content: "What is the weather in Paris?" }];
const tool = { name: toolName, description: toolDescription, input_schema: placeSchema };
const ask = { model, messages, tools: [tool], max_tokens: 300, temperature: 0 };
const any = { type: "any" as const, disable_parallel_tool_use: true };
const host = Host.withTools();
let client: Anthropic;

before(() => {
  client = new Anthropic({ baseURL: host.url, apiKey: key, maxRetries: 0 });
});

test("a forced call has an id, a name and input that fits the schema", async () => {
  const message = await client.messages.create({ ...ask, tool_choice: any });
  assert.equal(message.stop_reason, "tool_use");
  const call = message.content.find((block) => block.type === "tool_use");
  assert.match(call?.id ?? "", /./);
  assert.equal(call?.name, toolName);
  Place.parse(call?.input);
});

test("a tool that is chosen by name is called", async () => {
  const message = await client.messages.create({
    ...ask,
    tools: [{ ...tool, name: "other" }, tool],
    tool_choice: { type: "tool", name: toolName, disable_parallel_tool_use: true },
  });
  const calls = message.content.filter((block) => block.type === "tool_use");
  assert.deepEqual(
    calls.map(({ name }) => name),
    [toolName],
  );
});

test("a call's input comes as parts of its JSON", async () => {
  const whole = await client.messages.create({ ...ask, tool_choice: any });
  const events = await collect(await client.messages.create({ ...ask, tool_choice: any, stream: true }));
  const start = events.find((e) => e.type === "content_block_start" && e.content_block.type === "tool_use");
  assert.ok(start?.type === "content_block_start" && start.content_block.type === "tool_use");
  assert.equal(start.content_block.name, toolName);
  assert.deepEqual(start.content_block.input, {});
  const parts = events.flatMap((e) =>
    e.type === "content_block_delta" && e.delta.type === "input_json_delta" ? [e.delta.partial_json] : [],
  );
  const call = whole.content.find((block) => block.type === "tool_use");
  assert.deepEqual(JSON.parse(parts.join("")), call?.input);
  const accumulated = await client.messages.stream({ ...ask, tool_choice: any }).finalMessage();
  assert.deepEqual(accumulated.content.find((block) => block.type === "tool_use")?.input, call?.input);
});

test("a tool's result goes back as text and as blocks", async () => {
  const message = await client.messages.create({ ...ask, tool_choice: any });
  const call = message.content.find((block) => block.type === "tool_use");
  assert.ok(call);
  for (const content of [weather, [{ type: "text" as const, text: weather }]]) {
    const result = { type: "tool_result" as const, tool_use_id: call.id, content };
    const next = await client.messages.create({
      ...ask,
      max_tokens: 40,
      tool_choice: { type: "none" },
      messages: [
        ...messages,
        { role: "assistant", content: message.content },
        { role: "user", content: [result] },
      ],
    });
    assert.ok(next.content[0]?.type === "text" && next.content[0].text);
  }
});

test("tools count as input", async () => {
  const without = await client.messages.countTokens({ model, messages });
  const withTool = await client.messages.countTokens({ model, messages, tools: [tool] });
  assert.ok(withTool.input_tokens > without.input_tokens);
});

test("the client parses a structured answer", async () => {
  const message = await client.messages.parse({
    model,
    messages,
    max_tokens: 200,
    ...{ temperature: 0 },
    output_config: { format: zodOutputFormat(Place) },
  });
  Place.parse(message.parsed_output);
});

test("thinking is a block before the text, within its budget", async () => {
  const think = {
    ...{ temperature: 0, ignore_eos: true }, // or it might say nothing after it has thought
    model,
    messages,
    max_tokens: 60,
    thinking: { type: "enabled" as const, budget_tokens: 8 },
  };
  const message = await client.messages.create(think);
  assert.deepEqual(
    message.content.map(({ type }) => type),
    ["thinking", "text"],
  );
  assert.ok(message.content[0]?.type === "thinking" && message.content[0].thinking);
  const streamed = await client.messages.stream(think).finalMessage();
  assert.deepEqual(
    streamed.content.map(({ type }) => type),
    ["thinking", "text"],
  );
  const next = await client.messages.create({
    model,
    max_tokens: 5,
    messages: [...messages, { role: "assistant", content: message.content }, ...messages],
  });
  assert.notEqual(next.content[0]?.type, "thinking");
});

test("a wrong tool or choice is refused by name", async () => {
  const absent = await refusal(
    Anthropic.BadRequestError,
    client.messages.create({ ...ask, tool_choice: { type: "tool", name: "absent" } }),
  );
  assert.match(absent.message, /tool_choice.*absent/);
  const nameless = await refusal(
    Anthropic.BadRequestError,
    client.messages.create({ ...ask, tools: [{ name: "", input_schema: { type: "object" } }] }),
  );
  assert.match(nameless.message, /tools\[0\]\.name/);
});

test("a tool that Anthropic's own server runs is left out with a warning", async () => {
  const { data, response } = await client.messages
    .create({ ...ask, tools: [{ type: "web_search_20250305", name: "web_search" }] })
    .withResponse();
  assert.equal(data.content[0]?.type, "text");
  assert.match(response.headers.get("warning") ?? "", /tools\[0\] is left out/);
});

// SPDX-License-Identifier: MIT

// OpenAI's responses with its official client.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import OpenAI from "openai";
import { zodTextFormat } from "openai/helpers/zod";
import { collect, Host, key, model, refusal } from "./host.ts";
import { Place, placeSchema, toolDescription, toolName, walkGrammar, walks, weather } from "./weather.ts";

const input = "What is the weather in Paris?";
const tools = [
  {
    type: "function" as const,
    name: toolName,
    description: toolDescription,
    parameters: placeSchema,
    strict: true,
  },
];
const host = Host.withTools();
let client: OpenAI;

before(() => {
  client = new OpenAI({ baseURL: `${host.url}/v1`, apiKey: key, maxRetries: 0 });
});

test("an answer has its text, its status and its usage", async () => {
  const answer = await client.responses.create({
    model,
    input,
    instructions: "Be brief.",
    max_output_tokens: 20,
    temperature: 0,
  });
  assert.equal(answer.object, "response");
  assert.ok(answer.output_text);
  assert.equal(answer.status, "incomplete");
  assert.equal(answer.incomplete_details?.reason, "max_output_tokens");
  assert.equal(answer.usage?.output_tokens, 20);
  assert.ok((answer.usage?.input_tokens ?? 0) > 0);
});

test("events come in order and make the whole answer", async () => {
  const ask = { model, input, temperature: 0, max_output_tokens: 20 };
  const whole = await client.responses.create(ask);
  const events = await collect(await client.responses.create({ ...ask, stream: true }));
  assert.deepEqual(
    events.map(({ type }) => type).filter((type, i, all) => type !== all[i - 1]),
    [
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.incomplete",
    ],
  );
  assert.deepEqual(
    events.map(({ sequence_number }) => sequence_number),
    events.map((_, i) => i),
  );
  const text = events.map((e) => (e.type === "response.output_text.delta" ? e.delta : "")).join("");
  assert.equal(text, whole.output_text);
});

test("the client's stream helper puts the answer together", async () => {
  const stream = client.responses.stream({ model, input, max_output_tokens: 20, temperature: 0 });
  assert.ok((await stream.finalResponse()).output_text);
});

test("a forced call comes whole and streamed, and its result goes back", async () => {
  const ask = {
    model,
    input,
    tools,
    tool_choice: "required" as const,
    temperature: 0,
    max_output_tokens: 300,
    parallel_tool_calls: false,
  };
  const whole = await client.responses.create(ask);
  const call = whole.output.find((item) => item.type === "function_call");
  assert.ok(call);
  assert.equal(call.name, toolName);
  Place.parse(JSON.parse(call.arguments));

  const events = await collect(await client.responses.create({ ...ask, stream: true }));
  const deltas = events.map((e) => (e.type === "response.function_call_arguments.delta" ? e.delta : ""));
  assert.equal(deltas.join(""), call.arguments);
  const done = events.find((e) => e.type === "response.function_call_arguments.done");
  assert.equal(done?.arguments, call.arguments);

  const next = await client.responses.create({
    model,
    tools,
    tool_choice: "none",
    max_output_tokens: 20,
    temperature: 0,
    input: [
      { role: "user", content: input },
      call,
      { type: "function_call_output", call_id: call.call_id, output: weather },
    ],
  });
  assert.ok(next.output_text);
});

test("a custom tool gets a text of its grammar, whole and streamed, and its call goes back", async () => {
  const format = { type: "grammar" as const, syntax: "lark" as const, definition: walkGrammar };
  const custom = { type: "custom" as const, name: "walk", description: "Walks", format };
  const ask = {
    model,
    input: "Which way?",
    tools: [custom],
    tool_choice: { type: "custom" as const, name: "walk" },
    temperature: 0,
    max_output_tokens: 300,
    parallel_tool_calls: false,
  };
  const whole = await client.responses.create(ask);
  const call = whole.output.find((item) => item.type === "custom_tool_call");
  assert.ok(call?.call_id);
  assert.equal(call.name, "walk");
  assert.match(call.input, walks);

  const events = await collect(await client.responses.create({ ...ask, stream: true }));
  const deltas = events.map((e) => (e.type === "response.custom_tool_call_input.delta" ? e.delta : ""));
  assert.equal(deltas.join(""), call.input);
  const done = events.find((e) => e.type === "response.custom_tool_call_input.done");
  assert.equal(done?.input, call.input);

  const next = await client.responses.create({
    model,
    tools: [custom],
    max_output_tokens: 4,
    input: [
      { role: "user", content: "Which way?" },
      call,
      { type: "custom_tool_call_output", call_id: call.call_id, output: "done" },
    ],
  });
  assert.ok(next.id);
});

test("the client parses a structured answer", async () => {
  const answer = await client.responses.parse({
    model,
    input,
    max_output_tokens: 200,
    temperature: 0,
    text: { format: zodTextFormat(Place, "place") },
  });
  Place.parse(answer.output_parsed);
});

test("errors name the field, and an aborted answer frees its slot", async () => {
  const bad = await refusal(
    OpenAI.BadRequestError,
    client.responses.create({ model, input, temperature: -1 }),
  );
  assert.equal(bad.param, "temperature");
  await host.freed(async () => {
    const stream = await client.responses.create({ model, input, stream: true, ...{ ignore_eos: true } });
    for await (const event of stream) if (event.type === "response.output_text.delta") break;
  });
});

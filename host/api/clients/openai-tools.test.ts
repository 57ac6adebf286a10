// SPDX-License-Identifier: MIT

// Tools and structured answers with OpenAI's official client.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import OpenAI from "openai";
import { zodFunction, zodResponseFormat } from "openai/helpers/zod";
import { collect, Host, key, model, refusal } from "./host.ts";
import { Place, placeSchema, toolDescription, toolName, walkGrammar, walks, weather } from "./weather.ts";

const messages = [{ role: "user" as const, content: "What is the weather in Paris?" }];
const tool = {
  type: "function" as const,
  function: { name: toolName, description: toolDescription, parameters: placeSchema },
};
const zodTool = zodFunction({ name: toolName, description: toolDescription, parameters: Place });
const ask = {
  model,
  messages,
  max_tokens: 300,
  temperature: 0,
  tools: [tool],
  tool_choice: "required" as const,
  parallel_tool_calls: false,
};
const host = Host.withTools();
let client: OpenAI;

before(() => {
  client = new OpenAI({ baseURL: `${host.url}/v1`, apiKey: key, maxRetries: 0 });
});

test("a forced call has an id, a name and arguments that fit the schema", async () => {
  const choice = (await client.chat.completions.create(ask)).choices[0];
  assert.equal(choice?.finish_reason, "tool_calls");
  const call = choice?.message.tool_calls?.[0];
  assert.ok(call?.type === "function" && call.id);
  assert.equal(call.function.name, toolName);
  Place.parse(JSON.parse(call.function.arguments));
});

test("a function that is chosen by name is called", async () => {
  const other = { type: "function" as const, function: { name: "other", parameters: placeSchema } };
  const chosen = { type: "function" as const, function: { name: toolName } };
  const answer = await client.chat.completions.create({
    ...ask,
    tools: [other, tool],
    tool_choice: chosen,
  });
  const call = answer.choices[0]?.message.tool_calls?.[0];
  assert.equal(call?.type === "function" ? call.function.name : call, toolName);
});

test("a call comes in deltas that make the same call", async () => {
  const whole = (await client.chat.completions.create(ask)).choices[0]?.message.tool_calls?.[0];
  const chunks = await collect(await client.chat.completions.create({ ...ask, stream: true }));
  const parts = chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
  assert.ok(parts[0]?.id);
  assert.equal(parts[0]?.function?.name, toolName);
  assert.ok(parts.slice(1).every(({ id, function: f }) => id === undefined && f?.name === undefined));
  assert.equal(
    parts.map(({ function: f }) => f?.arguments ?? "").join(""),
    whole?.type === "function" ? whole.function.arguments : whole,
  );
  assert.equal(
    chunks.findLast(({ choices }) => choices[0]?.finish_reason)?.choices[0]?.finish_reason,
    "tool_calls",
  );
});

test("the client's own loop runs the tool and hands its result back", async () => {
  const called: Place[] = [];
  const runner = client.chat.completions.runTools(
    {
      model,
      messages,
      max_tokens: 300,
      temperature: 0,
      parallel_tool_calls: false,
      tool_choice: { type: "function", function: { name: toolName } }, // the runner then ends after one call
      tools: [
        {
          type: "function",
          function: {
            name: toolName,
            description: toolDescription,
            parameters: placeSchema,
            parse: (text: string) => Place.parse(JSON.parse(text)),
            function: (place: Place) => {
              called.push(place);
              return weather;
            },
          },
        },
      ],
    },
    { maxChatCompletions: 2 },
  );
  await runner.done();
  assert.equal(called.length, 1);
  assert.equal(runner.messages.at(-1)?.role, "tool");
  const last = await client.chat.completions.create({
    model,
    messages: runner.messages,
    max_tokens: 60, // some may begin what could be a mark, which is not shown
    temperature: 0,
    tools: [tool],
    tool_choice: "none",
  });
  assert.ok(last.choices[0]?.message.content);
  assert.equal(last.choices[0]?.message.tool_calls, undefined);
});

test("a custom tool gets a text of its grammar, whole and streamed, and its call goes back", async () => {
  const grammar = { syntax: "lark" as const, definition: walkGrammar };
  const custom = { name: "walk", description: "Walks", format: { type: "grammar" as const, grammar } };
  const chosen = { type: "custom" as const, custom: { name: "walk" } };
  const walk = { ...ask, tools: [{ type: "custom" as const, custom }], tool_choice: chosen };
  const choice = (await client.chat.completions.create(walk)).choices[0];
  assert.equal(choice?.finish_reason, "tool_calls");
  const call = choice.message.tool_calls?.[0];
  assert.ok(call?.type === "custom" && call.id && !("function" in call));
  assert.equal(call.custom.name, "walk");
  assert.match(call.custom.input, walks);

  const chunks = await collect(await client.chat.completions.create({ ...walk, stream: true }));
  // The client's types know no custom tools in deltas.
  const deltas = chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []) as {
    custom?: { input?: string };
  }[];
  assert.equal(deltas.map(({ custom }) => custom?.input ?? "").join(""), call.custom.input);

  const result = { role: "tool" as const, tool_call_id: call.id, content: "done" };
  const next = [...messages, choice.message, result];
  assert.ok((await client.chat.completions.create({ model, messages: next, max_tokens: 4 })).id);
});

test("the client parses a structured answer", async () => {
  const answer = await client.chat.completions.parse({
    model,
    messages,
    max_tokens: 200,
    temperature: 0,
    response_format: zodResponseFormat(Place, "place"),
  });
  Place.parse(answer.choices[0]?.message.parsed);
});

test("the client parses the arguments of a tool while they stream", async () => {
  const stream = client.chat.completions.stream({ ...ask, tools: [zodTool] });
  const seen: unknown[] = [];
  stream.on("tool_calls.function.arguments.delta", ({ parsed_arguments }) => seen.push(parsed_arguments));
  const answer = await stream.finalChatCompletion();
  const call = answer.choices[0]?.message.tool_calls?.[0];
  assert.ok(seen.length > 0);
  Place.parse(call?.type === "function" ? call.function.parsed_arguments : undefined);
});

test("JSON is an object of any shape", async () => {
  const answer = await client.chat.completions.create({
    model,
    messages,
    max_tokens: 300,
    temperature: 0,
    response_format: { type: "json_object" },
  });
  const [choice] = answer.choices;
  assert.match(choice?.message.content ?? "", /^\s*\{/);
  if (choice?.finish_reason === "stop") JSON.parse(choice.message.content ?? "");
});

test("a wrong schema or tool is refused by the field's name", async () => {
  const schema = { type: "object", properties: { a: { type: "no-such-type" } } };
  const format = await refusal(
    OpenAI.BadRequestError,
    client.chat.completions.create({
      model,
      messages,
      response_format: { type: "json_schema", json_schema: { name: "x", schema } },
    }),
  );
  assert.match(format.param ?? "", /^response_format/);
  const unknown = { type: "function" as const, function: { name: "absent" } };
  const choice = await refusal(
    OpenAI.BadRequestError,
    client.chat.completions.create({ ...ask, tool_choice: unknown }),
  );
  assert.match(choice.param ?? "", /^tool_choice/);
});

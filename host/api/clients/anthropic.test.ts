// SPDX-License-Identifier: MIT

// Anthropic's official client against the real host.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import { collect, Host, key, model, refusal } from "./host.ts";

const messages = [{ role: "user" as const, content: "Tell me a story about a frog." }];
// The client's types no longer have a temperature; the API still takes it.
const ask = { model, messages, max_tokens: 20, temperature: 0 };
const host = Host.use();
let client: Anthropic;

before(() => {
  client = new Anthropic({ baseURL: host.url, apiKey: key, maxRetries: 0 }); // sends x-api-key
});

test("a message has all its parts", async () => {
  const { content, usage, ...rest } = await client.messages.create(ask);
  const { id, type, role, model: served, stop_reason, stop_sequence } = rest;
  assert.match(id, /^msg_/);
  assert.deepEqual(
    { type, role, served, stop_reason, stop_sequence },
    { type: "message", role: "assistant", served: model, stop_reason: "max_tokens", stop_sequence: null },
  );
  assert.equal(content.length, 1);
  assert.ok(content[0]?.type === "text" && content[0].text);
  assert.equal(usage.output_tokens, 20);
  assert.ok(usage.input_tokens + (usage.cache_read_input_tokens ?? 0) > 0);
});

test("the events have their order and make the whole message", async () => {
  const whole = await client.messages.create(ask);
  const events = await collect(await client.messages.create({ ...ask, stream: true }));
  assert.deepEqual(
    events.map(({ type }) => type).filter((type, i, all) => type !== all[i - 1]),
    [
      "message_start",
      "content_block_start",
      "content_block_delta",
      "content_block_stop",
      "message_delta",
      "message_stop",
    ],
  );
  const text = events.map((e) =>
    e.type === "content_block_delta" && e.delta.type === "text_delta" ? e.delta.text : "",
  );
  assert.ok(whole.content[0]?.type === "text");
  assert.equal(text.join(""), whole.content[0].text);
  const end = events.find((e) => e.type === "message_delta");
  assert.equal(end?.delta.stop_reason, "max_tokens");
  assert.equal(end?.usage.output_tokens, 20);
});

test("the client's stream helper puts the message together", async () => {
  const message = await client.messages.stream(ask).finalMessage();
  assert.equal(message.stop_reason, "max_tokens");
  assert.ok(message.content[0]?.type === "text" && message.content[0].text);
  assert.equal(message.usage.output_tokens, 20);
});

test("the system prompt counts as text and as blocks", async () => {
  const plain = await client.messages.countTokens({ model, messages });
  const system = "You are a poet. Answer in rhymes.";
  const asText = await client.messages.countTokens({ model, messages, system });
  const asBlocks = await client.messages.countTokens({
    model,
    messages,
    system: [{ type: "text", text: system, cache_control: { type: "ephemeral" } }],
  });
  assert.ok(asText.input_tokens > plain.input_tokens);
  assert.deepEqual(asBlocks, asText);
  const { usage } = await client.messages.create({ ...ask, system });
  assert.equal(usage.input_tokens + (usage.cache_read_input_tokens ?? 0), asText.input_tokens);
});

test("a conversation that was computed before is read from the cache", async () => {
  const long = [{ role: "user" as const, content: "There was a frog in a pond. ".repeat(20) }];
  await client.messages.create({ ...ask, messages: long });
  const { usage } = await client.messages.create({ ...ask, messages: long });
  assert.ok((usage.cache_read_input_tokens ?? 0) > 0);
});

test("a stop sequence ends the message and is named", async () => {
  const whole = await client.messages.create(ask);
  assert.ok(whole.content[0]?.type === "text");
  const { text } = whole.content[0];
  const stop = text.slice(10, 14);
  const cut = await client.messages.create({ ...ask, stop_sequences: ["no such text", stop] });
  assert.equal(cut.stop_reason, "stop_sequence");
  assert.equal(cut.stop_sequence, stop);
  assert.ok(cut.content[0]?.type === "text");
  assert.equal(cut.content[0].text, text.slice(0, text.indexOf(stop)));
});

test("the text that the last message begins is continued", async () => {
  const prefilled = [...messages, { role: "assistant" as const, content: "Once upon a time" }];
  const { content } = await client.messages.create({ ...ask, messages: prefilled });
  assert.ok(content[0]?.type === "text" && content[0].text);
  assert.doesNotMatch(content[0].text, /^Once upon a time/);
});

test("errors have their classes, types and messages that help", async () => {
  const hot = await refusal(
    Anthropic.BadRequestError,
    client.messages.create({ ...ask, ...{ temperature: 2 } }),
  );
  assert.equal(hot.type, "invalid_request_error");
  assert.match(hot.message, /temperature is 2/);
  assert.ok(hot.requestID);
  const { max_tokens: _, ...endless } = ask;
  const missing = await refusal(Anthropic.BadRequestError, client.messages.create(endless as typeof ask));
  assert.match(missing.message, /max_tokens/);
  const image = {
    type: "image" as const,
    source: { type: "base64" as const, media_type: "image/png" as const, data: "aGk=" },
  };
  const seeing = await refusal(
    Anthropic.BadRequestError,
    client.messages.create({ ...ask, messages: [{ role: "user", content: [image] }] }),
  );
  assert.match(
    seeing.message,
    /messages\[0\]\.content\[0\] is a picture, and the model .* reads text only; leave it out, or name a model that takes a picture/,
  );
  const stranger = new Anthropic({ baseURL: host.url, apiKey: "guess", maxRetries: 0 });
  const unknown = await refusal(Anthropic.AuthenticationError, stranger.messages.create(ask));
  assert.equal(unknown.type, "authentication_error");
});

test("a key may come as a bearer token too", async () => {
  const bearer = new Anthropic({ baseURL: host.url, apiKey: null, authToken: key, maxRetries: 0 });
  assert.ok((await bearer.messages.countTokens({ model, messages })).input_tokens > 0);
});

test("a message that the client aborts frees its slot", async () => {
  await host.freed(async () => {
    const stream = client.messages.stream({ ...ask, max_tokens: 8000, ...{ ignore_eos: true } });
    for await (const event of stream) if (event.type === "content_block_delta") break;
  });
});

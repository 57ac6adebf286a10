// SPDX-License-Identifier: MIT

// OpenAI's official client against the real host.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import OpenAI from "openai";
import { collect, Host, key, model, refusal } from "./host.ts";

const question = [{ role: "user" as const, content: "Tell me a story about a frog." }];
const host = Host.use();
let client: OpenAI;

before(() => {
  client = new OpenAI({ baseURL: `${host.url}/v1`, apiKey: key, maxRetries: 0 });
});

test("models are listed and found by name", async () => {
  const listed = await collect(client.models.list());
  assert.deepEqual(
    listed.map(({ id, object }) => ({ id, object })),
    [{ id: model, object: "model" }],
  );
  assert.equal((await client.models.retrieve(model)).id, model);
});

test("an answer has the same text streamed and whole", async () => {
  const ask = { model, messages: question, seed: 7, max_completion_tokens: 40, n: 2, logprobs: true };
  const whole = await client.chat.completions.create({ ...ask, top_logprobs: 2 });
  const stream = client.chat.completions.stream({
    ...ask,
    top_logprobs: 2,
    stream: true,
    stream_options: { include_usage: true },
  });
  const streamed = await stream.finalChatCompletion();
  assert.equal(whole.choices.length, 2);
  for (const [i, { message, finish_reason, logprobs }] of whole.choices.entries()) {
    assert.ok(message.content);
    assert.equal(streamed.choices[i]?.message.content, message.content);
    assert.equal(streamed.choices[i]?.finish_reason, finish_reason);
    assert.equal(logprobs?.content?.[0]?.top_logprobs.length, 2);
    assert.deepEqual(
      streamed.choices[i]?.logprobs?.content?.map(({ token }) => token),
      logprobs?.content?.map(({ token }) => token),
    );
  }
  assert.equal(streamed.usage?.completion_tokens, whole.usage?.completion_tokens);
  assert.equal(streamed.usage?.prompt_tokens, whole.usage?.prompt_tokens);
});

test("usage comes in a last chunk only when it is asked for", async () => {
  const ask = { model, messages: question, temperature: 0, max_tokens: 5, stream: true } as const;
  const plain = await collect(await client.chat.completions.create(ask));
  assert.ok(plain.every(({ usage }) => usage === undefined || usage === null));
  const counted = await collect(
    await client.chat.completions.create({ ...ask, stream_options: { include_usage: true } }),
  );
  assert.equal(counted.at(-1)?.choices.length, 0);
  assert.equal(counted.at(-1)?.usage?.completion_tokens, 5);
});

test("an answer ends before a stop text, and at its length", async () => {
  const greedy = { model, messages: question, temperature: 0, max_tokens: 40 };
  const all = (await client.chat.completions.create(greedy)).choices[0]?.message.content ?? "";
  const stop = all.slice(10, 14);
  const cut = (await client.chat.completions.create({ ...greedy, stop })).choices[0];
  assert.equal(cut?.finish_reason, "stop");
  assert.equal(cut?.message.content, all.slice(0, all.indexOf(stop)));
  const short = (await client.chat.completions.create({ ...greedy, max_tokens: 3 })).choices[0];
  assert.equal(short?.finish_reason, "length");
});

test("a text is continued, whole, streamed and with its prompt", async () => {
  const ask = { model, prompt: "Once upon a time", max_tokens: 10, temperature: 0 };
  const whole = await client.completions.create(ask);
  assert.ok(whole.choices[0]?.text);
  const chunks = await collect(await client.completions.create({ ...ask, stream: true }));
  assert.equal(chunks.map(({ choices }) => choices[0]?.text ?? "").join(""), whole.choices[0]?.text);
  const echoed = await client.completions.create({ ...ask, echo: true });
  assert.equal(echoed.choices[0]?.text, ask.prompt + whole.choices[0]?.text);
});

test("errors have their classes, their fields and messages that help", async () => {
  const ask = { model, messages: question, max_tokens: 5 };
  const bad = await refusal(
    OpenAI.BadRequestError,
    client.chat.completions.create({ ...ask, temperature: -1 }),
  );
  assert.equal(bad.param, "temperature");
  assert.match(bad.message, /temperature is -1/);
  const stranger = new OpenAI({ baseURL: `${host.url}/v1`, apiKey: "guess", maxRetries: 0 });
  assert.equal((await refusal(OpenAI.AuthenticationError, stranger.models.list())).status, 401);
  assert.equal((await refusal(OpenAI.NotFoundError, client.models.retrieve("no-such-model"))).status, 404);
});

test("an answer that the client aborts frees its slot", async () => {
  await host.freed(async () => {
    const stream = await client.chat.completions.create({
      model,
      messages: question,
      stream: true,
      ...{ ignore_eos: true }, // an extra of this host
    });
    for await (const _ of stream) break; // which aborts the request
  });
});

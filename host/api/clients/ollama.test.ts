// SPDX-License-Identifier: MIT

// Ollama's official client against the real host.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { Ollama } from "ollama";
import { collect, Host, key, model, refusal } from "./host.ts";
import { Place, placeSchema } from "./weather.ts";

const messages = [{ role: "user", content: "Tell me a story about a frog." }];
const prompt = "Tell me a story about a frog.";
const greedy = { temperature: 0, num_predict: 20 };
const host = Host.use();
let client: Ollama;

before(() => {
  client = new Ollama({ host: host.url, headers: { Authorization: `Bearer ${key}` } });
});

test("models are listed, shown and said to run", async () => {
  const { models } = await client.list();
  assert.deepEqual(
    models.map(({ name }) => name),
    [`${model}:latest`],
  );
  assert.equal(models[0]?.details.format, "gguf");
  assert.match(models[0]?.digest ?? "", /^[0-9a-f]{64}$/);
  const shown = await client.show({ model });
  assert.ok(shown.capabilities.includes("completion"));
  assert.ok(shown.template.includes("messages"));
  assert.equal((shown.model_info as unknown as Record<string, unknown>)["general.architecture"], "llama");
  assert.equal((await client.ps()).models[0]?.name, `${model}:latest`);
  assert.match((await client.version()).version, /./);
});

test("a chat has the same text streamed and whole", async () => {
  const whole = await client.chat({ model, messages, options: greedy, keep_alive: "5m" });
  assert.equal(whole.model, model);
  assert.equal(whole.message.role, "assistant");
  assert.ok(whole.message.content);
  assert.equal(whole.done, true);
  assert.equal(whole.done_reason, "length");
  assert.equal(whole.eval_count, 20);
  assert.ok(
    whole.prompt_eval_count > 0 && whole.eval_duration > 0 && whole.total_duration > whole.eval_duration,
  );
  const parts = await collect(
    await client.chat({ model: `${model}:latest`, messages, options: greedy, stream: true }),
  );
  assert.equal(parts.map(({ message }) => message.content).join(""), whole.message.content);
  assert.ok(parts.length > 5);
  assert.ok(parts.slice(0, -1).every(({ done }) => !done));
  assert.equal(parts.at(-1)?.done_reason, "length");
  assert.equal(parts.at(-1)?.eval_count, 20);
});

test("a generation has the same text streamed and whole, and its context goes on", async () => {
  const whole = await client.generate({ model, prompt, system: "Be kind.", options: greedy });
  assert.ok(whole.response);
  const parts = await collect(
    await client.generate({ model, prompt, system: "Be kind.", options: greedy, stream: true }),
  );
  assert.equal(parts.map(({ response }) => response).join(""), whole.response);
  assert.deepEqual(parts.at(-1)?.context, whole.context);
  const next = await client.generate({ model, prompt: "And then?", context: whole.context, options: greedy });
  assert.ok(next.prompt_eval_count > whole.prompt_eval_count);
});

test("a raw prompt is continued as it stands", async () => {
  const raw = await client.generate({ model, prompt: "Once upon a", raw: true, options: greedy });
  assert.match(raw.response ?? "", /^ time/);
});

test("an answer ends before a stop text", async () => {
  const whole = await client.chat({ model, messages, options: greedy });
  const stop = whole.message.content.slice(10, 14);
  const cut = await client.chat({ model, messages, options: { ...greedy, stop: [stop] } });
  assert.equal(cut.done_reason, "stop");
  assert.equal(cut.message.content, whole.message.content.split(stop)[0]);
});

test("a format forces JSON, and a schema its shape", async () => {
  const options = { num_predict: 200, temperature: 0 };
  const chat = await client.chat({ model, messages, format: placeSchema, options });
  Place.parse(JSON.parse(chat.message.content));
  const generated = await client.generate({ model, prompt, format: placeSchema, options });
  Place.parse(JSON.parse(generated.response ?? ""));
  const json = await client.chat({ model, messages, format: "json", options });
  assert.match(json.message.content, /^\s*\{/);
});

test("errors have their status and messages that help", async () => {
  const kind = Error; // the client does not export its ResponseError
  const hot = await refusal(kind, client.chat({ model, messages, options: { temperature: -1 } }));
  assert.equal((hot as Error & { status_code?: number }).status_code, 400);
  assert.match(hot.message, /options\.temperature is -1/);
  const streamed = await refusal(
    kind,
    client.chat({ model, messages, options: { temperature: -1 }, stream: true }),
  );
  assert.match(streamed.message, /options\.temperature is -1/);
  const seeing = await refusal(
    kind,
    client.chat({ model, messages: [{ role: "user", content: "What is this?", images: ["aGk="] }] }),
  );
  assert.match(
    seeing.message,
    /messages\[0\]\.images\[0\] is a picture, and the model .* reads text only; leave it out, or name a model that takes a picture/,
  );
  const stranger = new Ollama({ host: host.url });
  assert.equal(((await refusal(kind, stranger.list())) as Error & { status_code?: number }).status_code, 401);
});

test("an answer that the client aborts frees its slot", async () => {
  const endless = { ignore_eos: true }; // an extra of this host
  await host.freed(async () => {
    const stream = await client.chat({ model, messages, stream: true, ...endless });
    for await (const _ of stream) {
      stream.abort();
      break;
    }
  });
});

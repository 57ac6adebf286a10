// SPDX-License-Identifier: MIT

// Pictures and sounds, sent by the official clients to a host with a model that sees and hears.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import Anthropic from "@anthropic-ai/sdk";
import { generateText, streamText } from "ai";
import { Ollama } from "ollama";
import OpenAI, { toFile } from "openai";
import { picture, sound } from "./files.ts";
import { collect, Host, key, model, refusal } from "./host.ts";

const question = "What is this?";
const red = picture(220, 20, 20).toString("base64");
const blue = picture(20, 30, 220).toString("base64");
const short = { model, temperature: 0, max_tokens: 16 };
const rows = 16; // tokens of a picture by this model's projector
const host = Host.withMedia();
let openai: OpenAI;

before(() => {
  openai = new OpenAI({ baseURL: `${host.url}/v1`, apiKey: key, maxRetries: 0 });
});

const dataURL = (base64: string) => `data:image/png;base64,${base64}`;

function chatAbout(...pictures: string[]) {
  const parts = pictures.map((p) => ({ type: "image_url" as const, image_url: { url: dataURL(p) } }));
  return [{ role: "user" as const, content: [...parts, { type: "text" as const, text: question }] }];
}

test("OpenAI: an answer about a picture is the same streamed and whole, and depends on the picture", async () => {
  const about = async (...pictures: string[]) => {
    const whole = await openai.chat.completions.create({ ...short, messages: chatAbout(...pictures) });
    return { text: whole.choices[0]?.message.content, prompt: whole.usage?.prompt_tokens ?? 0 };
  };
  const stream = openai.chat.completions.stream({
    ...short,
    messages: chatAbout(red),
    stream_options: { include_usage: true },
  });
  const streamed = await stream.finalChatCompletion();
  const first = await about(red);
  assert.ok(first.text);
  assert.equal(streamed.choices[0]?.message.content, first.text);
  assert.equal(streamed.usage?.prompt_tokens, first.prompt);
  assert.notEqual((await about(blue)).text, first.text);
  const none = await about();
  assert.equal(first.prompt - none.prompt, rows);
  assert.equal((await about(red, blue)).prompt - none.prompt, 2 * rows);
});

test("OpenAI: responses take pictures", async () => {
  const content = [
    { type: "input_text" as const, text: question },
    { type: "input_image" as const, image_url: dataURL(red), detail: "auto" as const },
  ];
  const ask = { model, temperature: 0, max_output_tokens: 16, input: [{ role: "user" as const, content }] };
  const whole = await openai.responses.create(ask);
  const streamed = await openai.responses.stream(ask).finalResponse();
  assert.ok(whole.output_text);
  assert.equal(streamed.output_text, whole.output_text);
});

test("OpenAI: a sound is heard in a chat", async () => {
  const about = async (hertz: number) => {
    const data = sound(hertz).toString("base64");
    const content = [
      { type: "input_audio" as const, input_audio: { data, format: "wav" as const } },
      { type: "text" as const, text: question },
    ];
    const stream = openai.chat.completions.stream({
      ...short,
      messages: [{ role: "user", content }],
      stream_options: { include_usage: true },
    });
    const { choices, usage } = await stream.finalChatCompletion();
    assert.equal(usage?.prompt_tokens_details?.audio_tokens, 375);
    return choices[0]?.message.content;
  };
  assert.notEqual(await about(300), await about(3000));
});

test("OpenAI: a sound is transcribed, whole, as text and streamed", async () => {
  const ask = async () => ({ file: await toFile(sound(440), "speech.wav"), model, temperature: 0 });
  const extra = { max_tokens: 12 }; // of this host
  const whole = await openai.audio.transcriptions.create({ ...(await ask()), ...extra });
  assert.ok(whole.text);
  assert.ok(whole.usage?.type === "tokens");
  assert.deepEqual([whole.usage.output_tokens, whole.usage.input_token_details?.audio_tokens], [12, 375]);
  const text = await openai.audio.transcriptions.create({
    ...(await ask()),
    ...extra,
    response_format: "text",
  });
  assert.equal(text as unknown, whole.text);
  const streaming = { ...(await ask()), ...extra, stream: true as const, include: ["logprobs" as const] };
  const events = await collect(await openai.audio.transcriptions.create(streaming));
  const deltas = events.flatMap((e) => (e.type === "transcript.text.delta" ? [e] : []));
  assert.equal(deltas.map(({ delta }) => delta).join(""), whole.text);
  assert.ok(deltas.every(({ logprobs }) => logprobs?.length === 1));
  const last = events.at(-1);
  assert.ok(last?.type === "transcript.text.done");
  assert.equal(last.text, whole.text);
});

test("OpenAI: what cannot be read is a 400 that names the part", async () => {
  const broken = await refusal(
    OpenAI.BadRequestError,
    openai.chat.completions.create({ ...short, messages: chatAbout(red, "aGk=") }),
  );
  assert.equal(broken.param, "messages[0].content[1]");
  const far = { type: "image_url" as const, image_url: { url: "https://example.com/a.png" } };
  const elsewhere = await refusal(
    OpenAI.BadRequestError,
    openai.chat.completions.create({ ...short, messages: [{ role: "user", content: [far] }] }),
  );
  assert.match(elsewhere.message, /this server fetches no others \(media\.urls\)/);
  const silent = await refusal(
    OpenAI.BadRequestError,
    openai.audio.transcriptions.create({ file: await toFile(Buffer.from("OggS"), "a.ogg"), model }),
  );
  assert.equal(silent.param, "file");
  assert.match(silent.message, /save it as WAV or MP3/);
});

test("Anthropic: a message and a tool's result have pictures", async () => {
  const client = new Anthropic({ baseURL: host.url, apiKey: key, maxRetries: 0 });
  const image = (data: string) => ({
    type: "image" as const,
    source: { type: "base64" as const, media_type: "image/png" as const, data },
  });
  const about = (data: string) => ({
    ...short,
    messages: [{ role: "user" as const, content: [image(data), { type: "text" as const, text: question }] }],
  });
  const whole = await client.messages.create(about(red));
  const streamed = await client.messages.stream(about(red)).finalText();
  assert.ok(whole.content[0]?.type === "text" && whole.content[0].text);
  assert.equal(streamed, whole.content[0].text);
  assert.notEqual(await client.messages.stream(about(blue)).finalText(), streamed);
  const { temperature: _, max_tokens: __, ...counted } = about(red);
  const { input_tokens: total } = await client.messages.countTokens(counted);
  const { usage } = whole;
  assert.equal(total, usage.input_tokens + (usage.cache_read_input_tokens ?? 0));
  const call = { type: "tool_use" as const, id: "1", name: "look", input: {} };
  const result = { type: "tool_result" as const, tool_use_id: "1", content: [image(blue)] };
  const looked = await client.messages.create({
    ...short,
    messages: [
      { role: "user", content: question },
      { role: "assistant", content: [call] },
      { role: "user", content: [result] },
    ],
  });
  assert.equal(looked.content[0]?.type, "text");
});

test("Ollama: a chat and a prompt have pictures, and the model says that it sees", async () => {
  const client = new Ollama({ host: host.url, headers: { Authorization: `Bearer ${key}` } });
  const { capabilities } = await client.show({ model });
  assert.ok(capabilities?.includes("vision"));
  const options = { temperature: 0, num_predict: 16 };
  const chat = (...images: string[]) => ({
    model,
    options,
    messages: [{ role: "user", content: question, images }],
  });
  const whole = await client.chat(chat(red));
  const chunks = await collect(await client.chat({ ...chat(red), stream: true }));
  assert.ok(whole.message.content);
  assert.equal(chunks.map(({ message }) => message.content).join(""), whole.message.content);
  assert.equal(chunks.at(-1)?.prompt_eval_count, whole.prompt_eval_count);
  const prompted = await client.generate({ model, options, prompt: question, images: [picture(1, 2, 3)] });
  assert.ok(prompted.response);
  const broken = await client.chat(chat("aGk=")).then(
    () => assert.fail("no picture is answered"),
    (error: Error) => error,
  );
  assert.match(broken.message, /messages\[0\]\.images\[0\] is no file of a kind that is read here/);
});

test("AI SDK: a message has a picture and a sound", async () => {
  const provider = createOpenAICompatible({ name: "penstock", baseURL: `${host.url}/v1`, apiKey: key });
  const ask = (image: Buffer) => ({
    model: provider(model),
    temperature: 0,
    maxOutputTokens: 16,
    messages: [
      {
        role: "user" as const,
        content: [
          { type: "text" as const, text: question },
          { type: "image" as const, image, mediaType: "image/png" },
          { type: "file" as const, data: sound(500), mediaType: "audio/wav" },
        ],
      },
    ],
  });
  const whole = await generateText(ask(picture(220, 20, 20)));
  const streamed = (await collect(streamText(ask(picture(220, 20, 20))).textStream)).join("");
  assert.ok(whole.text);
  assert.equal(streamed, whole.text);
  const plain = await generateText({
    ...ask(picture(0, 0, 0)),
    messages: [{ role: "user", content: question }],
  });
  assert.ok((whole.usage.inputTokens ?? 0) - (plain.usage.inputTokens ?? 0) >= rows + 375);
});

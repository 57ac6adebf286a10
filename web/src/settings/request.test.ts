// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Message } from "../chats/message.ts";
import { requestFor, ruleNames } from "./request.ts";
import { cleanSettings, defaultSettings, type Settings } from "./settings.ts";

const none = new Set<string>();

function message(role: Message["role"], content: string, more: Partial<Message> = {}): Message {
  return { id: content, chat: "c", parent: null, role, created: 0, content, ...more };
}

function body(settings: Partial<Settings>, offered: readonly string[] = []) {
  return requestFor({ ...defaultSettings, ...settings }, new Set(offered), []);
}

test("requestFor: the defaults leave every choice to the host", () => {
  assert.deepEqual(requestFor(defaultSettings, none, []), { messages: [] });
});

test("requestFor: all choices, zero and false included", () => {
  const sampling = { temperature: 0, max_tokens: 9, seed: 0, ignore_eos: false, reasoning_effort: "low" };
  assert.deepEqual(body({ model: "tiny", sampling, stop: ["\n"], templateArgs: { a: 1 }, trace: true }), {
    messages: [],
    model: "tiny",
    ...sampling,
    stop: ["\n"],
    chat_template_kwargs: { a: 1 },
    trace: true,
  });
});

test("requestFor: a script that is on goes with the plugins, also where its configuration is no JSON", () => {
  const script = { source: "a", config: "", on: true };
  assert.deepEqual(body({ script }).plugins, [{ script: "a" }]);
  const plugins = body({ script: { ...script, config: '{"x":1}' }, plugins: [{ name: "p" }] }, ["p"]).plugins;
  assert.deepEqual(plugins, ["p", { script: "a", config: { x: 1 } }]);
  assert.deepEqual(body({ script: { ...script, config: "{" } }).plugins, [{ script: "a", config: "{" }]);
  assert.equal(body({ script: { ...script, on: false } }).plugins, undefined);
  assert.equal(body({ script: { ...script, source: " \n" } }).plugins, undefined);
});

test("requestFor: rules are scripts with names of their own, or the format of the answer", () => {
  const rules: Settings["rules"] = [
    { text: "Never say “frog”!", on: true, source: "a", config: { phrases: ["frog"] } },
    { text: "never say frog", on: true, source: "b" },
    { text: "never say toad", on: false, source: "c" },
    { text: "蛙", on: true, source: "d" },
    { text: "a date", on: true, format: { kind: "regex", text: "\\d" } },
    { text: "yes or no", on: false, format: { kind: "regex", text: "Yes|No" } },
  ];
  assert.deepEqual(body({ rules, format: { kind: "json" } }), {
    messages: [],
    plugins: [
      { script: "a", name: "rule-never-say-frog", config: { phrases: ["frog"] } },
      { script: "b", name: "rule-never-say-frog-2" },
      { script: "d", name: "rule" },
    ],
    regex: "\\d",
  });
  assert.match(ruleNames([{ text: "x".repeat(99) }])[0] ?? "", /^rule-x{35}$/);
});

test("requestFor: a plugin that the host uses by default is switched off by name", () => {
  const settings = { ...defaultSettings, off: ["plugin:quiet", "plugin:other", "top_k"] };
  const { plugins } = requestFor(settings, new Set(["quiet", "loud"]), [], undefined, ["quiet", "loud"]);
  assert.deepEqual(plugins, [{ name: "quiet", enabled: false }]);
});

test("requestFor: only plugins that the host has and that are switched on", () => {
  const plugins: Settings["plugins"] = [
    { name: "a" },
    { name: "gone", config: {} },
    { name: "b", config: { x: 1 } },
    { name: "c", on_error: "skip" },
    { name: "d" },
  ];
  const host = ["a", "b", "c", "d", "other"];
  assert.deepEqual(body({ plugins, off: ["plugin:d"] }, host), {
    messages: [],
    plugins: ["a", { name: "b", config: { x: 1 } }, { name: "c", on_error: "skip" }],
  });
  const chain = ["plugin:a", "top_k", "plugin:gone", "plugin:d", "plugin:other", "temperature"];
  const { samplers } = body({ plugins, chain, off: ["plugin:d", "temperature"] }, host);
  assert.deepEqual(samplers, ["plugin:a", "top_k"]);
  assert.deepEqual(body({ chain: ["top_k"], off: ["top_k"] }).samplers, [], "a chain may be empty");
});

for (const [format, want] of [
  [{ kind: "text" }, {}],
  [{ kind: "json" }, { response_format: { type: "json_object" } }],
  [{ kind: "schema", text: '{"type":"object"}' }, { json_schema: { type: "object" } }],
  [{ kind: "schema", text: "{ nonsense" }, { json_schema: "{ nonsense" }],
  [{ kind: "schema", text: " " }, {}],
  [{ kind: "grammar", text: 'root ::= "a"' }, { grammar: 'root ::= "a"' }],
  [{ kind: "regex", text: "a+" }, { regex: "a+" }],
  [{ kind: "regex", text: "" }, {}],
] as const) {
  test(`requestFor: the format ${JSON.stringify(format)}`, () =>
    assert.deepEqual(body({ format }), { messages: [], ...want }));
}

test("requestFor: imported settings cannot put other fields into it", () => {
  const sampling = { messages: "x", stream: true, plugins: ["a"], n: 5, temperature: 1 };
  assert.deepEqual(requestFor(cleanSettings({ sampling }), none, []), { messages: [], temperature: 1 });
});

test("requestFor: messages as templates take them, with the files of a question", () => {
  const files = [{ name: "a.md", text: "```\nx\n```\n" }];
  const asked = [
    message("user", "unanswered"),
    message("assistant", ""),
    message("user", "Read this.", { files }),
    message("assistant", "Yes."),
    message("user", "And?"),
  ];
  assert.deepEqual(requestFor({ ...defaultSettings, system: "Be brief." }, none, asked).messages, [
    { role: "system", content: "Be brief." },
    { role: "user", content: "a.md:\n````\n```\nx\n```\n````\n\nRead this." },
    { role: "assistant", content: "Yes." },
    { role: "user", content: "And?" },
  ]);
});

test("requestFor: a file may have any number of marks", () => {
  const files = [{ name: "a.md", text: "`x` ".repeat(200_000) }];
  const [asked] = requestFor(defaultSettings, none, [message("user", "Read this.", { files })]).messages;
  assert.match(String(asked?.content).slice(0, 20), /^a\.md:\n```\n`x`/);
});

const picture = { name: "p.png", file: "0a", type: "image/png", size: 3 };
const sound = { name: "s.wav", file: "0b", type: "audio/wav", size: 4 };
const parts = [
  { type: "image_url", image_url: { url: "frame:0a" } },
  { type: "input_audio", input_audio: { data: "frame:0b" } },
];

test("requestFor: pictures and sounds are parts before the text, by the names of their frames", () => {
  const files = [picture, { name: "t", text: "x" }, sound];
  const asked = [
    message("user", "What?", { files }),
    message("assistant", "A frog."),
    message("user", "Why?"),
  ];
  const { messages } = requestFor(defaultSettings, none, asked);
  assert.deepEqual(messages[0]?.content, [...parts, { type: "text", text: "t:\n```\nx\n```\n\nWhat?" }]);
  assert.equal(messages[2]?.content, "Why?");
  const alone = requestFor(defaultSettings, none, [message("user", "", { files: [picture] })]);
  assert.deepEqual(alone.messages[0]?.content, [parts[0]], "no part without a text");
});

test("requestFor: a model is told of what it cannot see or hear, and not sent it", () => {
  const asked = [message("user", "What?", { files: [picture, sound] })];
  const deaf = requestFor(defaultSettings, none, asked, { sees: true, hears: false });
  const told = "(s.wav: a sound that you cannot perceive)\n\nWhat?";
  assert.deepEqual(deaf.messages[0]?.content, [parts[0], { type: "text", text: told }]);
  const plain = requestFor(defaultSettings, none, asked, { sees: false, hears: false });
  assert.equal(plain.messages[0]?.content, `(p.png: a picture that you cannot perceive)\n\n${told}`);
});

const call = { id: "c1", type: "function" as const, function: { name: "weather", arguments: "{}" } };
const calling = (more: Partial<Message>) =>
  message("assistant", "", {
    calls: [call],
    answer: { phase: "done", model: "m", seq: 1, tokens: 1, asked: 0, outcome: { reason: "tool_calls" } },
    ...more,
  });

test("requestFor: functions that the model may call, its calls, and what came of them", () => {
  const functions = [{ name: "weather", description: "Of a city.", parameters: { type: "object" } }];
  const results = [{ call: "c1", content: "wet" }];
  const asked = [message("user", "Rain?"), calling({ reasoning: "Look.", results })];
  const body = requestFor(defaultSettings, none, asked, undefined, [], functions);
  assert.deepEqual(body.tools, [{ type: "function", function: functions[0] }]);
  assert.deepEqual(body.messages, [
    { role: "user", content: "Rain?" },
    { role: "assistant", content: "", reasoning_content: "Look.", tool_calls: [call] },
    { role: "tool", tool_call_id: "c1", content: "wet" },
  ]);
});

test("requestFor: a call that nobody answered gets an answer, and one that was cut off is left out", () => {
  const results = [{ call: "c1", content: "it does not answer", failed: true, open: true }];
  const { messages } = requestFor(defaultSettings, none, [message("user", "Rain?"), calling({ results })]);
  assert.match(String(messages[2]?.content), /was not answered/);
  const stopped = message("assistant", "", { calls: [call] });
  const cut = requestFor(defaultSettings, none, [message("user", "Rain?"), stopped, message("user", "And?")]);
  assert.deepEqual(cut.messages, [{ role: "user", content: "And?" }]);
});

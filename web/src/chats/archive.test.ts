// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { defaultSettings, type Script } from "../settings/settings.ts";
import { readArchive, renamed, writeArchive } from "./archive.ts";
import type { WholeChat } from "./chats.ts";
import type { Attachment } from "./message.ts";
import { transcript } from "./transcript.ts";

const whole: WholeChat = {
  info: {
    id: "c1",
    title: "Frogs",
    created: 1,
    changed: 2,
    settings: defaultSettings,
    branches: { "": "m1" },
  },
  messages: [
    { id: "m1", chat: "c1", parent: null, role: "user", created: 1, content: "Hello <b>" },
    {
      id: "m2",
      chat: "c1",
      parent: "m1",
      role: "assistant",
      created: 2,
      content: "Hi",
      answer: {
        phase: "done",
        model: "tiny",
        seq: 2,
        tokens: 2,
        asked: 1,
        outcome: { reason: "stop" },
      },
    },
  ],
};

const nothing = async () => undefined;

const blob = (value: unknown) => new Blob([typeof value === "string" ? value : JSON.stringify(value)]);

test("An archive holds chats as they are", async () => {
  const parts = await writeArchive([whole, { ...whole, info: { ...whole.info, id: "c2" } }], nothing);
  const read = await readArchive(new Blob(parts));
  assert.equal(read.length, 2);
  assert.deepEqual(read[0], whole);
  assert.deepEqual(await readArchive(new Blob(await writeArchive([], nothing))), []);
});

test("An archive does not tell the addresses of servers, which may have a key in them", async () => {
  const settings = { ...defaultSettings, servers: ["https://tools/mcp?key=secret"] };
  const parts = await writeArchive([{ ...whole, info: { ...whole.info, settings } }], nothing);
  assert.doesNotMatch(parts.join(""), /secret/);
});

const archive = (chat: unknown) => ({ penstock: "chats", version: 1, chats: [chat] });
const message = { id: "m", role: "user", content: "x" };
for (const [name, value, want] of [
  ["no JSON", "<html>", /^it is no JSON: /],
  ["an empty file", "", /^it is no JSON: /],
  ["a list", [], /^the file must be an object$/],
  ["another program's export", { conversations: [] }, /^neither Penstock, ChatGPT, /],
  ["no version", { penstock: "chats", chats: [] }, /^version is missing$/],
  ["a newer version", { penstock: "chats", version: 3, chats: [] }, /newer Penstock wrote it, in version 3/],
  ["no chats", { penstock: "chats", version: 1 }, /^chats must be a list$/],
  ["files that are no list", { ...archive(message), files: {} }, /^files must be a list$/],
  ["a file that is none", { ...archive(message), files: ["x.png"] }, /^files\[0\] must be a data: URL/],
  ["broken base64", { ...archive(message), files: ["data:;base64,A"] }, /^files\[0\] must be a data: URL/],
  ["a chat that is none", archive(7), /^chats\[0\] must be an object$/],
  ["a chat without id", archive({ messages: [message] }), /^chats\[0\]\.id is missing/],
  ["a hostile id", archive({ id: "../x", messages: [message] }), /^chats\[0\]\.id /],
  ["no messages", archive({ id: "c", messages: [] }), /^chats\[0\]\.messages is empty$/],
  [
    "a strange role",
    archive({ id: "c", messages: [{ ...message, role: "robot" }] }),
    /^chats\[0\]\.messages\[0\]\.role must be/,
  ],
  [
    "a content that is no text",
    archive({ id: "c", messages: [{ ...message, content: {} }] }),
    /messages\[0\]\.content must be a text$/,
  ],
  [
    "one id twice",
    archive({ id: "c", messages: [message, message] }),
    /messages\[1\]\.id is that of an earlier message$/,
  ],
] as const) {
  test(`readArchive: ${name}`, async () => {
    await assert.rejects(readArchive(blob(value)), { name: "Error", message: want });
  });
}

test("readArchive: an answer that ran has ended, and a circle is cut", async () => {
  const [chat] = await readArchive(
    blob(
      archive({
        id: "c",
        messages: [
          { ...message, id: "a", parent: "b" },
          {
            id: "b",
            parent: "a",
            role: "assistant",
            content: "",
            answer: { phase: "streaming", stream: "s" },
          },
        ],
      }),
    ),
  );
  assert.deepEqual(
    chat?.messages.map(({ id, parent }) => [id, parent]),
    [
      ["a", null],
      ["b", "a"],
    ],
  );
  assert.deepEqual(chat?.messages[1]?.answer?.outcome, { reason: "cancelled" });
  assert.equal(chat?.messages[1]?.answer?.stream, undefined);
});

test("readArchive: a script is not switched on by who wrote the archive", async () => {
  const script = { source: "export function sample() {}", config: "{}", on: true };
  const read = async (script: Script) => {
    const chat = { ...whole, info: { ...whole.info, settings: { ...defaultSettings, script } } };
    const [again] = await readArchive(new Blob(await writeArchive([chat], nothing)));
    return again?.info.settings.script;
  };
  assert.deepEqual(await read(script), { ...script, on: false, imported: true });
  assert.deepEqual(await read({ ...script, source: " " }), { ...script, source: " " });
});

test("renamed: nothing that is there is overwritten", () => {
  const free = renamed(whole, () => false);
  assert.equal(free.info.id, "c1");
  assert.notEqual(free.messages[0]?.id, "m1");
  assert.equal(free.messages[1]?.parent, free.messages[0]?.id);
  assert.deepEqual(free.info.branches, { "": free.messages[0]?.id });
  const copy = renamed(whole, (id) => id === "c1");
  assert.notEqual(copy.info.id, "c1");
  assert.equal(copy.info.title, "Frogs (copy)");
  assert.ok(copy.messages.every(({ chat }) => chat === copy.info.id));
});

test("transcript: questions and answers as Markdown, files in fences that hold them", () => {
  const [question, answer] = whole.messages;
  assert.ok(question !== undefined && answer !== undefined);
  const text = transcript("Frogs", [
    { ...question, files: [{ name: "a.md", text: "```\nx\n```\n" }] },
    answer,
  ]);
  assert.equal(
    text,
    "# Frogs\n\n## Question\n\na.md:\n\n````\n```\nx\n```\n````\n\nHello <b>\n\n## Answer of tiny\n\nHi\n",
  );
});

const bytes = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 1, 2, 3]);
const hash = createHash("sha256").update(bytes).digest("hex");
const png = new Blob([bytes], { type: "image/png" });
const picture = { name: "a [b].png", file: hash, type: "image/png", size: bytes.length, width: 3, height: 2 };

function withFiles(...files: Attachment[]): WholeChat {
  const [question, answer] = whole.messages;
  assert.ok(question !== undefined && answer !== undefined);
  return { info: whole.info, messages: [{ ...question, files }, answer] };
}

test("An archive holds each picture once, and reads it back with its bytes", async () => {
  const chat = withFiles({ name: "t", text: "x" }, picture, picture);
  const text = (await writeArchive([chat, chat], async (file) => (file === hash ? png : undefined))).join("");
  assert.equal(text.split("data:image/png;base64,").length, 2);
  assert.equal(JSON.parse(text).version, 2);
  const [read] = await readArchive(blob(text));
  assert.deepEqual(read?.messages, chat.messages);
  const kept = await read?.files?.get(hash)?.arrayBuffer();
  assert.deepEqual(new Uint8Array(kept ?? new ArrayBuffer()), bytes);
  const copy = renamed(read ?? whole, () => true);
  assert.equal(copy.files, read?.files, "a copy has them, too");
});

test("An archive without pictures is one that an earlier page reads", async () => {
  const text = (await writeArchive([withFiles(picture)], nothing)).join("");
  assert.equal(JSON.parse(text).version, 1);
  assert.equal((await readArchive(blob(text)))[0]?.messages[0]?.files, undefined, "its bytes are lost");
});

test("readArchive: what a file is, its bytes say", async () => {
  const html = Buffer.from("<script>alert(1)</script>");
  const other = createHash("sha256").update(html).digest("hex");
  const files = [`data:text/html;base64,${html.toString("base64")}`];
  files.push(`data:text/html;base64,${Buffer.from(bytes).toString("base64")}`);
  const lies = { ...picture, type: "image/webp", size: 1 };
  const named = [lies, { ...picture, file: other }, { ...picture, file: "0".repeat(64) }];
  const value = {
    penstock: "chats",
    version: 2,
    chats: [{ ...whole.info, messages: withFiles(...named).messages }],
    files,
  };
  const [read] = await readArchive(blob(value));
  assert.deepEqual(read?.messages[0]?.files, [picture]);
  assert.equal(read?.files?.get(hash)?.type, "image/png");
  assert.equal(read?.files?.size, 1);
});

test("transcript: calls of tools, with what they answered", () => {
  const call = { id: "c", type: "function" as const, function: { name: "weather", arguments: '{"a":1}' } };
  const [question, answer] = whole.messages;
  assert.ok(question !== undefined && answer !== undefined);
  const results = [{ call: "c", content: "wet" }];
  const text = transcript("Rain", [question, { ...answer, content: "", calls: [call], results }]);
  assert.match(text, /Calls weather:\n\n```\n\{\n {2}"a": 1\n\}\n```\n\nIt answers:\n\n```\nwet\n```\n$/);
});

test("transcript: pictures are data: URLs at the end, sounds are named", () => {
  const sound = { name: "s.wav", file: "5", type: "audio/wav", size: 9 };
  const text = transcript(
    "Frogs",
    withFiles(picture, sound).messages,
    new Map([[hash, "data:image/png;base64,AA=="]]),
  );
  assert.match(text, /## Question\n\n!\[a {2}b .png\]\[picture 1\]\n\n\(s.wav\)\n\nHello/);
  assert.ok(text.endsWith("\n\n[picture 1]: data:image/png;base64,AA==\n"), text);
});

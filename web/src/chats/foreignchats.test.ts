// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { readArchive } from "./archive.ts";
import type { WholeChat } from "./chats.ts";
import { MessageTree } from "./messagetree.ts";
import { sampleZip } from "./samplezip.ts";

const png = "data:image/png;base64,iVBORw0KGgoAAAA=";

async function read(value: unknown): Promise<WholeChat> {
  const [chat] = await readArchive(new Blob([JSON.stringify(value)]));
  assert.ok(chat !== undefined, "no chat was found");
  return chat;
}

/** What is shown of a chat: role, reasoning and text of each message. */
function shown({ info, messages }: WholeChat): string[] {
  const tree = new MessageTree(messages);
  tree.branches.value = info.branches;
  return tree.path.value.map((id) => {
    const { role, reasoning, content } = tree.node(id).value;
    return [role, ...(reasoning === undefined ? [] : [`(${reasoning})`]), content].join(" ");
  });
}

const said = (role: string, ...parts: unknown[]) => ({
  author: { role },
  create_time: 1_700_000_001.5,
  content: { content_type: "text", parts },
  metadata: { model_slug: "gpt-x" },
});
const chatGPT = {
  title: "Frogs",
  conversation_id: "6f-1",
  create_time: 1_700_000_000,
  update_time: 1_700_000_009,
  current_node: "a1",
  mapping: {
    root: { id: "root", message: null, parent: null },
    s: { message: said("system", ""), parent: "root" },
    q: { message: said("user", "What is a frog?"), parent: "s" },
    t: {
      message: {
        author: { role: "assistant" },
        content: { content_type: "thoughts", thoughts: [{ summary: "Hm", content: "Green." }] },
      },
      parent: "q",
    },
    tool: { message: { ...said("assistant", "search()"), recipient: "web" }, parent: "t" },
    a1: { message: said("assistant", "An amphibian. \ue200cite\ue202turn0\ue201"), parent: "tool" },
    a2: { message: said("assistant", "A prince."), parent: "q" },
  },
};

test("readForeign: ChatGPT's tree, with the branch that was shown and the reasoning before an answer", async () => {
  const chat = await read([chatGPT]);
  assert.deepEqual(shown(chat), ["user What is a frog?", "assistant (Hm\n\nGreen.) An amphibian."]);
  assert.equal(chat.info.title, "Frogs");
  assert.equal(chat.info.id, "6f1", "the same at the next import, so that it is known as a copy");
  assert.deepEqual([chat.info.created, chat.info.changed], [1_700_000_000_000, 1_700_000_009_000]);
  assert.equal(chat.messages.length, 3, "the other answer is a branch");
  assert.equal(chat.messages[1]?.answer?.model, "gpt-x");
});

test("readForeign: Open WebUI's tree, its folded reasoning, pictures and system prompt", async () => {
  const message = { role: "assistant", model: "m", parentId: "q", timestamp: 5 };
  const details =
    '<details type="reasoning" done="true" duration="2">\n<summary>Thought for 2 seconds</summary>\n&gt; It &lt;is&gt;\n&gt; green.\n</details>\n';
  const chat = await read([
    {
      id: "w",
      title: "Frogs",
      created_at: 4,
      updated_at: 6,
      chat: {
        params: { system: "Be brief." },
        history: {
          currentId: "a",
          messages: {
            q: { role: "user", content: "Hi", parentId: null, files: [{ type: "image", url: png }] },
            a: { ...message, content: `${details}A frog.` },
            b: { ...message, content: "Another." },
          },
        },
      },
    },
  ]);
  assert.deepEqual(shown(chat), ["user Hi", "assistant (It <is>\ngreen.) A frog."]);
  assert.equal(chat.info.settings.system, "Be brief.");
  const [picture] = chat.messages[0]?.files ?? [];
  assert.ok(picture !== undefined && "file" in picture && chat.files?.has(picture.file));
});

test("readForeign: llama-server's messages, with calls of tools and what came of them", async () => {
  const call = { id: "c1", type: "function", function: { name: "weather", arguments: "{}" } };
  const base = { convId: "l", timestamp: 7 };
  const chat = await read({
    conv: { id: "l", name: "Weather", lastModified: 8, currNode: "a2" },
    messages: [
      { ...base, id: "r", type: "root", role: "system", content: "", parent: null },
      { ...base, id: "s", type: "system", role: "system", content: "Be kind.", parent: "r" },
      {
        ...base,
        id: "q",
        role: "user",
        content: "Rain?",
        parent: "s",
        extra: [{ type: "textFile", name: "t", content: "x" }],
      },
      {
        ...base,
        id: "a1",
        role: "assistant",
        content: "",
        reasoningContent: "Look.",
        toolCalls: JSON.stringify([call]),
        parent: "q",
      },
      { ...base, id: "t", role: "tool", toolCallId: "c1", content: "wet", parent: "a1" },
      { ...base, id: "a2", role: "assistant", content: "Yes.", parent: "t" },
    ],
  });
  assert.deepEqual(shown(chat), ["user Rain?", "assistant (Look.) ", "assistant Yes."]);
  assert.equal(chat.info.settings.system, "Be kind.");
  assert.deepEqual(chat.messages[0]?.files, [{ name: "t", text: "x" }]);
  assert.deepEqual(chat.messages[1]?.calls, [call]);
  assert.deepEqual(chat.messages[1]?.results, [{ call: "c1", content: "wet" }]);
});

test("readForeign: LM Studio's versions, of which one is shown, and a plain list of messages", async () => {
  const block = (text: string, style?: unknown) => ({
    type: "contentBlock",
    content: [{ type: "text", text }],
    ...(style !== undefined && { style }),
  });
  const version = (...steps: unknown[]) => ({ type: "multiStep", role: "assistant", steps });
  const question = { type: "singleStep", role: "user", content: [{ type: "text", text: "Hi" }] };
  const chat = await read({
    name: "Frogs",
    createdAt: 3,
    systemPrompt: "Be brief.",
    messages: [
      { versions: [question], currentlySelected: 0 },
      {
        versions: [version(block("One.")), version(block("Hm.", { type: "thinking" }), block("Two."))],
        currentlySelected: 1,
      },
      { role: "user", content: "And?" },
    ],
  });
  assert.deepEqual(shown(chat), ["user Hi", "assistant (Hm.) Two.", "user And?"]);
  assert.equal(chat.messages.length, 4);
  assert.equal(chat.info.settings.system, "Be brief.");
});

for (const [name, nodes] of [
  ["a circle", { a: { message: said("user", "x"), parent: "b" }, b: { message: null, parent: "a" } }],
  [
    "a circle of nothing but silence",
    { a: { message: null, parent: "b" }, b: { message: null, parent: "a" } },
  ],
  ["nodes that are none", { a: 7, b: { message: { content: [] } }, c: null }],
] as const) {
  test(`readForeign: ${name} does no harm`, async () => {
    const chats = await readArchive(new Blob([JSON.stringify([{ title: 7, mapping: nodes }])]));
    assert.ok(chats.length <= 1 && (chats[0]?.messages.length ?? 0) <= 1);
  });
}

test("readArchive: ChatGPT's ZIP archive, whose chats stand in several files", async () => {
  const other = { ...chatGPT, title: "Toads" };
  const chats = await readArchive(
    sampleZip({
      "user.json": "{}",
      "conversations-000.json": JSON.stringify([chatGPT]),
      "x/conversations-001.json": JSON.stringify([other]),
    }),
  );
  assert.deepEqual(
    chats.map(({ info }) => info.title),
    ["Frogs", "Toads"],
  );
});

test("readArchive: a ZIP archive without chats, or that is broken, is named", async () => {
  await assert.rejects(readArchive(sampleZip({ "user.json": "{}" })), /it has no conversations\.json/);
  const whole = sampleZip({ "conversations.json": JSON.stringify([chatGPT]) });
  await assert.rejects(readArchive(whole.slice(0, whole.size - 23)), /its end is missing/);
});

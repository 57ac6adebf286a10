// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import type { Message } from "../chats/message.ts";
import { curlCommand, upToQuestion, webSocketFrame } from "./curl.ts";

const base = new URL("http://127.0.0.1:8080/below/");

/** The arguments that curl would get from a shell, and what it would read. */
function run(command: string): { words: string[]; input: string } {
  const script = `curl() { printf '%s\\0' "$@"; for w; do [ "$w" = @- ] && { printf '\\1'; cat; }; done; true; }\n${command}`;
  const env = { ...process.env, PENSTOCK_API_KEY: "the key" };
  const [words = "", input = ""] = execFileSync("sh", ["-c", script], { env, input: "", maxBuffer: 1 << 24 })
    .toString()
    .split("\u0001");
  return { words: words.split("\0").slice(0, -1), input };
}

const hostile = `'; rm -rf / # "$HOME" \`id\` \\ \n\t!! %s ü 🐸 \u2028 '\\'' @file`;
const request = {
  messages: [{ role: "user" as const, content: hostile }],
  stop: ["\n", "'"],
  temperature: 0,
};

test("curlCommand: a shell hands over what would be sent, letter by letter", () => {
  const { words } = run(curlCommand(base, request, false));
  assert.deepEqual(words.slice(0, 4), [
    "-N",
    "http://127.0.0.1:8080/below/v1/chat/completions",
    "-H",
    "Content-Type: application/json",
  ]);
  assert.equal(words[4], "-d");
  assert.deepEqual(JSON.parse(words[5] ?? ""), { ...request, stream: true });
  assert.equal(words.length, 6);
});

test("curlCommand: a key comes from the environment", () => {
  const command = curlCommand(base, request, true);
  assert.match(command, /"Authorization: Bearer \$PENSTOCK_API_KEY"/);
  assert.ok(run(command).words.includes("Authorization: Bearer the key"));
});

test("curlCommand: a long request does not stand in an argument", () => {
  const long = { messages: [{ role: "user" as const, content: `${hostile}\nEND\n${"ü".repeat(60_000)}` }] };
  const { words, input } = run(curlCommand(base, long, false));
  assert.deepEqual(words.slice(4), ["--data-binary", "@-"]);
  assert.deepEqual(JSON.parse(input), { ...long, stream: true });
});

test("webSocketFrame: the same request for the WebSocket", () => {
  assert.deepEqual(JSON.parse(webSocketFrame(request)), { type: "generate", id: "a", request });
});

test("upToQuestion: what answering the last question again sends", () => {
  const message = (role: Message["role"], content: string): Message => ({
    id: content,
    chat: "c",
    parent: null,
    role,
    created: 0,
    content,
  });
  const [one, two] = [message("user", "one"), message("assistant", "two")];
  assert.deepEqual(upToQuestion([one, two]), [one]);
  assert.deepEqual(upToQuestion([one, two, message("user", "three")]).length, 3);
  assert.deepEqual(
    upToQuestion([]).map(({ content }) => content),
    ["Hello!"],
  );
});

test("curlCommand: files of binary frames have a place for their base64", () => {
  const url = `frame:${"0a1b2c3d".repeat(8)}`;
  const content = [{ type: "image_url" as const, image_url: { url } }];
  const text = curlCommand(new URL("http://h/"), { messages: [{ role: "user", content }] }, false);
  assert.match(text, /"url": "data:;base64,BASE64_OF_0a1b2c3d"/);
  assert.doesNotMatch(text, /frame:/);
});

// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { sentence, withoutPaths } from "./sentence.ts";

test("sentence: begins with a capital and ends with a full stop, but leaves names as they are", () => {
  for (const [words, wanted] of [
    ["the prompt is too long", "The prompt is too long."],
    ["Is it?", "Is it?"],
    ["max_tokens must be at least 1", "max_tokens must be at least 1."],
    ["plugins[0].config: too long", "plugins[0].config: too long."],
    ["grammar: line 2", "Grammar: line 2."],
    ["模型最多容纳 4,096 个词元", "模型最多容纳 4,096 个词元。"],
    ["文件合计不得超过 64 MB", "文件合计不得超过 64 MB。"],
    ["已经说完。", "已经说完。"],
    ["  ", ""],
  ] as const)
    assert.equal(sentence(words), wanted);
});

test("withoutPaths: a file is named without its folders, and an address stays", () => {
  assert.equal(
    withoutPaths("cannot read /srv/models/a-b.gguf: no such file"),
    "cannot read a-b.gguf: no such file",
  );
  assert.equal(withoutPaths("C:\\models\\x.gguf is gone"), "x.gguf is gone");
  for (const text of ["see https://example.org/a/b", "3/4 and/or /v1", "tokens/s"])
    assert.equal(withoutPaths(text), text);
});

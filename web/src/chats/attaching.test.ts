// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { attach } from "./attaching.ts";

const file = (name: string, content: string | Uint8Array) =>
  Object.assign(new Blob([content as BlobPart]), { name });

test("attach: texts of several encodings", async () => {
  const utf16 = new Uint8Array([0xff, 0xfe, 0x68, 0, 0x69, 0]);
  const { files, problems } = await attach([file("a.txt", "ä\r\nb"), file("b.txt", utf16)], []);
  assert.deepEqual(files, [
    { name: "a.txt", text: "ä\nb" },
    { name: "b.txt", text: "hi" },
  ]);
  assert.deepEqual(problems, []);
});

for (const [name, content, want] of [
  ["picture.png", new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0, 0, 0]), /picture.png.*not a text file/],
  ["zeros", new Uint8Array(10), /not a text file/],
  ["empty", "", /is empty/],
  ["large.log", "x".repeat((1 << 20) + 1), /it has 1 MB, and a file can have 1 MB/],
] as const) {
  test(`attach: ${name} is refused in words`, async () => {
    const { files, problems } = await attach([file(name, content)], []);
    assert.deepEqual(files, []);
    assert.match(problems.join(), want);
  });
}

test("attach: not the same file twice, and not more than all may have together", async () => {
  const one = { name: "a", text: "x" };
  assert.deepEqual(await attach([file("a", "x")], [one]), { files: [], problems: [] });
  const full = { name: "b", text: "x".repeat(4 << 20) };
  assert.match((await attach([file("c", "x")], [full])).problems.join(), /4 MB together/);
});

test("attach: a folder, which the browser gives as a file that cannot be read", async () => {
  const folder = { name: "src", size: 4096, arrayBuffer: () => Promise.reject(new Error("no")) };
  assert.match((await attach([folder], [])).problems.join(), /folder/);
});

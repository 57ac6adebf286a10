// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { sampleZip } from "./samplezip.ts";
import { unzip } from "./zip.ts";

test("unzip: the files that are wanted, with their names", async () => {
  const files = await unzip(sampleZip({ "a/x.xml": "one", b: "two", "c.xml": "three" }), /\.xml$/, 100);
  const read = await Promise.all(files.map(async ({ name, content }) => [name, await content.text()]));
  assert.deepEqual(read, [
    ["a/x.xml", "one"],
    ["c.xml", "three"],
  ]);
});

test("unzip: no more bytes and files than are allowed, however well they are packed", async () => {
  const bomb = sampleZip({ a: "x".repeat(600), b: "x".repeat(1 << 20) });
  await assert.rejects(unzip(bomb, /./, 1 << 20), /b is too large when it is unpacked/);
  assert.equal((await unzip(bomb, /a/, 600)).length, 1);
  const many = sampleZip(Object.fromEntries(Array.from({ length: 4097 }, (_, at) => [`f${at}`, ""])));
  await assert.rejects(unzip(many, /./, 1000), /too many files/);
});

test("unzip: bytes that many entries name are not unpacked for each", async () => {
  const text = Array.from({ length: 1000 }, (_, at) => at).join(" ");
  const bytes = Buffer.from(await sampleZip({ a: text, b: "" }).arrayBuffer());
  const signature = Buffer.from("PK\x01\x02");
  const first = bytes.indexOf(signature);
  const second = bytes.indexOf(signature, first + 1);
  bytes.copy(bytes, second + 20, first + 20, first + 24); // the packed size of a
  bytes.writeUInt32LE(0, second + 42); // where a is
  await assert.rejects(unzip(new Blob([bytes]), /./, 1 << 20), /the list of its files is broken/);
});

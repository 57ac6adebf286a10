// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { signal } from "@preact/signals";
import type { ConnectionStatus } from "./connection.ts";
import { FileFrames, filesOf } from "./fileframes.ts";

/** Frames whose bytes are kept as the host keeps them: the newest, as many as most. */
function setUp(most: number) {
  const status = signal<ConnectionStatus>({ kind: "online" });
  const frames: Uint8Array[] = [];
  const sendBytes = (frame: Uint8Array) => frames.push(frame) > 0;
  const read = async (file: string) => (file === "gone" ? undefined : new Blob(["x".repeat(4)]));
  const files = new FileFrames({ status, sendBytes }, read, () => most);
  /** What is sent for a request. */
  const ask = async (...names: string[]) => {
    const loaded = await files.load(names);
    assert.ok(loaded !== undefined);
    frames.length = 0;
    files.send(loaded);
    return frames.map((frame) => new TextDecoder().decode(frame));
  };
  return { status, files, ask };
}

test("filesOf: each file that a request names", () => {
  const url = (url: string) => ({ type: "image_url", image_url: { url } }) as const;
  const data = { type: "input_audio", input_audio: { data: "frame:c" } } as const;
  const content = [
    url("frame:a"),
    url("data:,x"),
    data,
    { type: "text", text: "frame:no" } as const,
    url("frame:a"),
  ];
  const messages = [
    { role: "user", content },
    { role: "assistant", content: "frame:b" },
  ] as const;
  assert.deepEqual(
    filesOf({ messages: messages.map((one) => ({ ...one, content: one.content as never })) }),
    ["a", "c"],
  );
});

test("FileFrames: a frame has the length of its name, the name and the file, and is sent once on a connection", async () => {
  const { status, ask } = setUp(100);
  assert.deepEqual(await ask("a", "bc"), ["\x01axxxx", "\x02bcxxxx"]);
  assert.deepEqual(await ask("a", "bc", "d"), ["\x01dxxxx"]);
  assert.deepEqual(await ask("a"), []);
  status.value = { kind: "waiting", retryAt: 0, why: "" };
  status.value = { kind: "online" };
  assert.deepEqual(await ask("d"), ["\x01dxxxx"]);
});

test("FileFrames: what the host has forgotten for others is sent again, with all that it may forget now", async () => {
  const { ask } = setUp(12); // three files
  assert.equal((await ask("a", "b", "c")).length, 3);
  assert.deepEqual(await ask("d"), ["\x01dxxxx"]); // and a is forgotten
  assert.deepEqual(await ask("b", "d"), []);
  assert.deepEqual(await ask("b", "e"), ["\x01bxxxx", "\x01exxxx"], "b would be forgotten for e");
  assert.deepEqual(await ask("d", "b", "e"), []);
  assert.equal((await ask("a", "b", "c", "d")).length, 4, "too many: the host says so");
});

test("FileFrames: as many files as the host keeps", async () => {
  const { ask } = setUp(10_000);
  const names = Array.from({ length: 128 }, (_, at) => `f${at}`);
  assert.equal((await ask(...names)).length, 128);
  assert.equal((await ask("g")).length, 1);
  assert.equal((await ask("f0")).length, 1);
});

test("FileFrames: a file that is gone", async () => {
  assert.equal(await setUp(100).files.load(["a", "gone"]), undefined);
});

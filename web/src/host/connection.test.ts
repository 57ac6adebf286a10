// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { effect } from "@preact/signals";
import { Connection, type ConnectionStatus } from "./connection.ts";
import type { Loaded } from "./fileframes.ts";
import type { HostFrame } from "./protocol.ts";
import { KeyNeeded } from "./rest.ts";
import { Streams } from "./streams.ts";

class FakeSocket extends EventTarget {
  readonly sent: unknown[] = [];

  send(data: string): void {
    this.sent.push(JSON.parse(data));
  }

  say(frame: HostFrame): void {
    this.dispatchEvent(new MessageEvent("message", { data: JSON.stringify(frame) }));
  }
}

/** A connection whose probes and sockets the test plays. A wait ends when the test says so. */
function setUp(t: TestContext) {
  const timers: (() => void)[] = [];
  t.mock.method(globalThis, "setTimeout", (work: () => void) => timers.push(work));
  const sockets: FakeSocket[] = [];
  const trouble: { next?: Error } = {};
  const connection = new Connection({
    probe: async () => {
      if (trouble.next !== undefined) throw trouble.next;
    },
    socket: () => {
      const socket = new FakeSocket();
      sockets.push(socket);
      return socket as unknown as WebSocket;
    },
  });
  const seen: ConnectionStatus["kind"][] = [];
  effect(() => void seen.push(connection.status.value.kind));
  const online = async () => {
    await connection.connect();
    const socket = sockets.at(-1);
    assert.ok(socket);
    socket.dispatchEvent(new Event("open"));
    return socket;
  };
  const waitIsOver = async () => {
    timers.pop()?.();
    await new Promise((resolve) => setImmediate(resolve)); // for the probe
  };
  return { connection, sockets, timers, trouble, seen, online, waitIsOver };
}

test("Connection.connect: online once the socket is open, and only one socket", async (t) => {
  const { connection, sockets, seen, online } = setUp(t);
  assert.equal(connection.send({ type: "cancel", id: "s1" }), false);
  await online();
  await connection.connect();
  assert.deepEqual(seen, ["connecting", "connecting", "online"]);
  assert.equal(sockets.length, 1);
  assert.equal(connection.send({ type: "cancel", id: "s1" }), true);
});

test("Connection.connect: comes back after a lost connection, however often it has to try", async (t) => {
  const { connection, sockets, trouble, seen, online, waitIsOver } = setUp(t);
  const socket = await online();
  trouble.next = new Error("the server does not answer");
  socket.dispatchEvent(new Event("close"));
  await waitIsOver();
  await waitIsOver();
  const status = connection.status.value;
  assert.ok(status.kind === "waiting" && status.why === "the server does not answer");
  delete trouble.next;
  await waitIsOver();
  sockets.at(-1)?.dispatchEvent(new Event("open"));
  assert.deepEqual(seen.slice(2), ["online", "waiting", "waiting", "waiting", "online"]);
});

test("Connection.connect: waits for a key instead of trying again", async (t) => {
  const { connection, sockets, timers, trouble } = setUp(t);
  trouble.next = new KeyNeeded();
  await connection.connect();
  assert.equal(timers.length, 0);
  assert.equal(connection.status.value.kind, "locked");
  assert.equal(sockets.length, 0);
  delete trouble.next;
  await connection.connect();
  assert.equal(sockets.length, 1);
});

function listening(heard: string[], name: string) {
  return {
    started: () => void heard.push(`${name} started`),
    token: ({ text }: { text: string }) => void heard.push(`${name} ${text}`),
    parts: ({ content }: { content?: string }) => void heard.push(`${name} says ${content}`),
    branches: ({ seq }: { seq: number }) => void heard.push(`${name} with branches ${seq}`),
    output: ({ plugin }: { plugin: string }) => void heard.push(`${name} of ${plugin}`),
    rewound: ({ tokens }: { tokens: number }) => void heard.push(`${name} without ${tokens}`),
    paused: (paused: boolean) => void heard.push(`${name} ${paused ? "stands" : "goes on"}`),
    refused: (frame: string) => void heard.push(`${name} may not ${frame}`),
    end: ({ reason }: { reason: string }) => void heard.push(`${name} ended: ${reason}`),
    lost: () => void heard.push(`${name} lost`),
  };
}

const refused = { message: "refused" };

test("Streams: frames go to the stream they name, up to its end", async (t) => {
  const { connection, online } = setUp(t);
  const complaints: unknown[] = [];
  const streams = new Streams(connection, (error) => complaints.push(error));
  const socket = await online();
  const heard: string[] = [];
  const first = streams.generate({ messages: [] }, listening(heard, "first"));
  streams.generate({ messages: [] }, listening(heard, "second"));
  socket.say({ type: "token", id: "s2", seq: 1, text: "b" });
  socket.say({ type: "token", id: "s1", seq: 1, text: "a" });
  socket.say({ type: "parts", id: "s1", content: "A" });
  socket.say({ type: "rewound", id: "s1", seq: 2, tokens: 1, removed: "a" });
  socket.say({ type: "paused", id: "s1" });
  socket.say({ type: "resumed", id: "s1" });
  const lost = { message: "belongs to no stream" };
  socket.say({ type: "error", error: lost });
  socket.say({ type: "error", frame: "watch", error: { message: "belongs to the live view" } });
  first.rewind(7);
  socket.say({ type: "error", id: "s1", frame: "rewind", error: refused });
  first.cancel();
  socket.say({ type: "end", id: "s1", reason: "cancelled" });
  socket.say({ type: "token", id: "s1", seq: 2, text: "late" });
  socket.say({ type: "error", id: "s2", frame: "generate", error: refused });
  assert.deepEqual(heard, [
    "second b",
    "first a",
    "first says A",
    "first without 1",
    "first stands",
    "first goes on",
    "first may not rewind",
    "first ended: cancelled",
    "second ended: error",
  ]);
  assert.deepEqual(complaints, [lost, refused], "steering that is refused ends nothing");
  assert.deepEqual(socket.sent.slice(2), [
    { type: "rewind", id: "s1", tokens: 7 },
    { type: "cancel", id: "s1" },
  ]);
});

test("Streams: a fork is a stream of its own, which a refusal ends and not its source", async (t) => {
  const { connection, online } = setUp(t);
  const streams = new Streams(connection, () => assert.fail("nothing was refused that goes on"));
  const socket = await online();
  const heard: string[] = [];
  const source = streams.generate({ messages: [] }, listening(heard, "source"));
  streams.fork(source, { temperature: 0 }, listening(heard, "fork"));
  const fork = { type: "fork", id: "s1", as: "s2", sampling: { temperature: 0 }, detach_ms: 600_000 };
  assert.deepEqual(socket.sent[1], { ...fork, parts: true });
  socket.say({ type: "token", id: "s2", seq: 1, text: "f" });
  socket.say({ type: "error", id: "s1", as: "s2", frame: "fork", error: refused });
  socket.say({ type: "token", id: "s1", seq: 1, text: "s" });
  assert.deepEqual(heard, ["fork f", "fork ended: error", "source s"]);
});

test("Streams: a lost connection loses every stream, and without one a stream is lost at once", async (t) => {
  const { connection, online } = setUp(t);
  const streams = new Streams(connection, () => assert.fail("nothing was refused"));
  const socket = await online();
  const heard: string[] = [];
  streams.generate({ messages: [] }, listening(heard, "first"));
  socket.dispatchEvent(new Event("close"));
  streams.attach("name", 3, listening(heard, "second"));
  assert.deepEqual(heard, ["first lost"], "not before the caller has the stream");
  await Promise.resolve();
  assert.deepEqual(heard, ["first lost", "second lost"]);
});

test("Streams: an answer about pictures is asked for once they are sent, and can be cancelled before", async (t) => {
  const { connection, online } = setUp(t);
  const loads: ((loaded: Loaded | undefined) => void)[] = [];
  const files = {
    load: () => new Promise<Loaded | undefined>((resolve) => loads.push(resolve)),
    send: (loaded: Loaded) => void order.push(`files ${[...loaded.keys()]}`),
  };
  const streams = new Streams(connection, () => assert.fail("nothing was refused"), files);
  const socket = await online();
  const order: string[] = [];
  t.mock.method(socket, "send", (data: string) => order.push(`frame ${JSON.parse(data).type}`));
  const content = [{ type: "image_url", image_url: { url: "frame:f" } }] as const;
  const request = { messages: [{ role: "user" as const, content: [...content] }] };
  const heard: string[] = [];
  const settle = () => new Promise((resolve) => setImmediate(resolve));

  const first = streams.generate(request, listening(heard, "first"));
  first.pause(); // the host does not know the answer yet
  assert.deepEqual(order, []);
  loads[0]?.(new Map([["f", new Uint8Array(1)]]));
  await settle();
  first.pause();
  assert.deepEqual(order, ["files f", "frame generate", "frame pause", "frame pause"]);

  const second = streams.generate(request, listening(heard, "second"));
  second.cancel();
  loads[1]?.(new Map());
  streams.generate(request, listening(heard, "third"));
  loads[2]?.(undefined);
  await settle();
  streams.generate(request, listening(heard, "fourth"));
  socket.dispatchEvent(new Event("close"));
  loads[3]?.(new Map());
  await settle();
  assert.deepEqual(heard, ["second ended: cancelled", "third ended: error", "first lost", "fourth lost"]);
  assert.equal(order.length, 4, "nothing else was sent");
});

// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Connection, type Status } from "./connection.ts";
import { KeyNeeded } from "./host.ts";
import type { HostFrame } from "./protocol.ts";
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
  const seen: Status["kind"][] = [];
  connection.changes.listen((status) => seen.push(status.kind));
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
  assert.deepEqual(seen, ["connecting", "online"]);
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
  const { status } = connection;
  assert.ok(status.kind === "waiting" && status.why === "the server does not answer");
  delete trouble.next;
  await waitIsOver();
  sockets.at(-1)?.dispatchEvent(new Event("open"));
  assert.deepEqual(seen, ["connecting", "online", "waiting", "waiting", "waiting", "online"]);
});

test("Connection.connect: waits for a key instead of trying again", async (t) => {
  const { connection, sockets, timers, trouble } = setUp(t);
  trouble.next = new KeyNeeded();
  await connection.connect();
  assert.equal(timers.length, 0);
  assert.equal(connection.status.kind, "locked");
  assert.equal(sockets.length, 0);
  delete trouble.next;
  await connection.connect();
  assert.equal(sockets.length, 1);
});

test("Streams: frames go to the stream they name, up to its end", async (t) => {
  const { connection, online } = setUp(t);
  const streams = new Streams(connection);
  const socket = await online();
  const heard: string[] = [];
  const listener = (name: string) => ({
    token: (text: string) => void heard.push(`${name} ${text}`),
    end: ({ reason }: { reason: string }) => void heard.push(`${name} ended: ${reason}`),
  });
  const first = streams.generate({ messages: [] }, listener("first"));
  streams.generate({ messages: [] }, listener("second"));
  socket.say({ type: "token", id: "s2", seq: 0, text: "b" });
  socket.say({ type: "token", id: "s1", seq: 0, text: "a" });
  socket.say({ type: "error", error: { message: "belongs to no stream" } });
  first.cancel();
  socket.say({ type: "end", id: "s1", reason: "cancelled" });
  socket.say({ type: "token", id: "s1", seq: 1, text: "late" });
  socket.say({ type: "error", id: "s2", error: { message: "refused" } });
  assert.deepEqual(heard, ["second b", "first a", "first ended: cancelled", "second ended: error"]);
  assert.deepEqual(socket.sent.at(-1), { type: "cancel", id: "s1" });
});

test("Streams: a lost connection ends every stream, and without one a stream ends at once", async (t) => {
  const { connection, online } = setUp(t);
  const streams = new Streams(connection);
  const socket = await online();
  const ends: unknown[] = [];
  const listener = { token: () => assert.fail("no token was sent"), end: (end: unknown) => ends.push(end) };
  streams.generate({ messages: [] }, listener);
  socket.dispatchEvent(new Event("close"));
  streams.generate({ messages: [] }, listener);
  const error = { type: "connection_lost", message: "The connection to Penstock was lost." };
  assert.deepEqual(ends, [
    { reason: "error", error },
    { reason: "error", error },
  ]);
});

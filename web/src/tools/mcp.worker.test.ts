// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Ask, Reply } from "./workerprotocol.ts";

interface Sent {
  id?: number;
  method: string;
  params?: { requestId?: number };
}

test("The MCP worker: a call that is stopped is all that the server hears of", async (t) => {
  const sent: Sent[] = [];
  let tell = () => {};
  const heard = (method: string) =>
    new Promise<Sent>((resolve) => {
      const look = () => {
        const found = sent.find((one) => one.method === method);
        if (found !== undefined) resolve(found);
      };
      tell = look;
      look();
    });
  t.mock.method(globalThis, "fetch", async (_: URL, { body, signal }: RequestInit) => {
    const message: Sent = JSON.parse(String(body));
    sent.push(message);
    tell();
    if (message.method === "tools/call")
      return new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    if (message.method !== "initialize") return new Response(null, { status: 202 });
    const serverInfo = { name: "s", version: "1" };
    const result = { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo };
    return Response.json({ jsonrpc: "2.0", id: message.id, result });
  });
  let ask = (_: { data: Ask }): unknown => undefined;
  let answered = (_: Reply) => {};
  const self = {
    addEventListener: (_: string, listener: typeof ask) => {
      ask = listener;
    },
    postMessage: (reply: Reply) => answered(reply),
  };
  Object.assign(globalThis, { self });
  t.after(() => Reflect.deleteProperty(globalThis, "self"));
  await import("./mcp.worker.ts");
  const reply = new Promise<Reply>((resolve) => {
    answered = resolve;
  });
  void ask({
    data: { id: 1, does: "call", at: { url: "http://h/mcp", token: "" }, name: "x", arguments: {} },
  });
  const { id } = await heard("tools/call");
  void ask({ data: { id: 1, does: "stop" } });
  assert.ok("problem" in (await reply));
  await heard("notifications/cancelled");
  const cancelled = sent.filter(({ method }) => method === "notifications/cancelled");
  assert.deepEqual(
    cancelled.map(({ params }) => params?.requestId),
    [id],
  );
});

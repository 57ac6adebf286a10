// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { signal } from "@preact/signals";
import type { ConnectionStatus } from "../host/connection.ts";
import type { ClientFrame, HostFrame } from "../host/protocol.ts";
import type { LiveFrame } from "./liveframe.ts";
import { LiveSubscription } from "./livesubscription.ts";
import { LiveWatch } from "./livewatch.ts";

function setUp() {
  const sent: ClientFrame[] = [];
  const listeners = new Set<(frame: HostFrame) => void>();
  const status = signal<ConnectionStatus>({ kind: "online" });
  const visible = signal(true);
  const clock = { now: 1000 };
  const connection = {
    status,
    send: (frame: ClientFrame) => {
      if (status.peek().kind !== "online") return false;
      sent.push(frame);
      return true;
    },
    listen: (listener: (frame: HostFrame) => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const watch = new LiveWatch(connection, new LiveSubscription(connection), visible, () => clock.now);
  const told = (frame: HostFrame) => {
    for (const listener of listeners) listener(frame);
  };
  return { sent, status, visible, clock, watch, told, listeners };
}

const live = (time_ms: number): LiveFrame => ({ type: "live", time_ms, models: [] });
const begin = { type: "watch", every_ms: 250 };
const end = { type: "watch", every_ms: 0 };

test("LiveWatch: only while the page can be seen, and until it is stopped", () => {
  const { sent, visible, watch, listeners } = setUp();
  assert.deepEqual(sent, [begin]);
  visible.value = false;
  assert.deepEqual(sent, [begin, end]);
  visible.value = true;
  watch.stop();
  assert.deepEqual(sent, [begin, end, begin, end]);
  assert.equal(listeners.size, 0);
  visible.value = false;
  visible.value = true;
  assert.equal(sent.length, 4);
});

test("LiveWatch: goes on after a lost connection", () => {
  const { sent, status } = setUp();
  status.value = { kind: "waiting", retryAt: 0, why: "gone" };
  assert.deepEqual(sent, [begin], "there is nobody to tell");
  status.value = { kind: "online" };
  assert.deepEqual(sent, [begin, begin]);
});

test("LiveWatch: what the host refuses is told, until it is asked again", () => {
  const { watch, told, status } = setUp();
  told({ type: "error", frame: "pause", error: { message: "not ours" } });
  assert.equal(watch.problem.value, "");
  told({ type: "error", frame: "watch", error: { message: "no" } });
  assert.equal(watch.problem.value, "no");
  status.value = { kind: "connecting" };
  status.value = { kind: "online" };
  assert.equal(watch.problem.value, "");
});

test("LiveWatch: knows the host's clock by the frame that came fastest", () => {
  const { watch, told, clock } = setUp();
  told(live(500_000)); // at 1000
  clock.now = 1250;
  assert.equal(watch.hostTime(), 500_250);
  clock.now = 1350; // 100 ms late
  told(live(500_250));
  assert.ok(Math.abs(watch.hostTime() - 500_350) < 1, `${watch.hostTime()}`);
  clock.now = 1500;
  told(live(600_000)); // the clock was set
  assert.equal(watch.hostTime(), 600_000);
  clock.now = 1750;
  told(live(500_000)); // and set back
  assert.equal(watch.hostTime(), 500_000);
  assert.equal(watch.frame.value?.time_ms, 500_000);
});

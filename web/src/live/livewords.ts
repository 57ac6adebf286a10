// SPDX-License-Identifier: MIT

// Slots, queues and ticks in words.
import { count, duration } from "../text/numberformat.ts";
import type { LiveQueue, LiveSlot } from "./liveframe.ts";
import type { Tick, Ticks } from "./ticks.ts";

/** How a slot stands, for its colour. */
export type SlotStanding = "idle" | "reading" | "writing" | "waiting";

export function standing(slot: LiveSlot): SlotStanding {
  if (slot.state === "idle") return "idle";
  if (slot.waits_for !== undefined) return "waiting";
  return slot.state === "prefilling" ? "reading" : "writing";
}

/** How a slot stands, in a word or two. */
export function stateWords(slot: LiveSlot): string {
  switch (standing(slot)) {
    case "idle":
      return "Free";
    case "waiting":
      return slot.waits_for === "paused" ? "Paused" : "Waits";
    case "reading":
      return "Reads its prompt";
    case "writing":
      return "Writes";
  }
}

const reasons: Record<string, string> = {
  paused: "Its reader has paused it.",
  reader: "Its tokens are read too slowly, or by nobody just now, so it waits.",
  quota: "Its plugins have used up their processor time, and rest for a moment.",
  turn: "The prompts of other answers are computed first.",
  cells: "The memory has no room for it now.",
  program: "Its program does not ask for it now.",
  slot: "All slots are taken.",
  disk: "The beginning of its prompt is read from the disk.",
  prefix: "Another answer computes the beginning of the same prompt, which both will share.",
};

/** Why an answer does not go on; empty where it does. */
export function waitWords(waitsFor: string | undefined, plugins: readonly string[] = []): string {
  if (waitsFor === undefined) return "";
  if (waitsFor !== "worker") return reasons[waitsFor] ?? `It waits for ${waitsFor}.`;
  if (plugins.length === 0) return "Its next token is still being chosen.";
  return `${joinWords(plugins)} ${plugins.length === 1 ? "has" : "have"} not decided on the next token yet.`;
}

const waits: Record<string, string> = {
  slot: "for a slot",
  cells: "for room in the memory",
  prefix: "for another to compute the same prompt",
  paused: "because they are paused",
  reader: "for their readers",
};

/** Who waits in the queue, and for what. */
export function queueWords(queue: Pick<LiveQueue, "waiting" | "for">): string {
  if (queue.waiting === 0) return "The queue is empty.";
  const parts = Object.entries(queue.for)
    .filter(([, n]) => n > 0)
    .sort(([, a], [, b]) => b - a)
    .map(([what, n]) => `${n} ${waits[what] ?? `for ${what}`}`);
  const verb = queue.waiting === 1 ? "answer waits" : "answers wait";
  return `${queue.waiting} ${verb}: ${joinWords(parts)}.`;
}

/** One tick in words. */
export function tickWords(tick: Tick): string {
  const tokens = [
    tick.decode > 0 && `${tick.decode} decoded`,
    tick.prefill > 0 && `${tick.prefill} of prompts`,
  ].filter((part) => part !== false);
  const times = [
    `model ${duration(tick.forward)}`,
    `sampling ${duration(tick.sample)}`,
    ...(tick.plugin > 0 ? [`plugins ${duration(tick.plugin)}`] : []),
    `in all ${duration(tick.total)}`,
  ];
  const passes = tick.passes === 1 ? "1 pass" : `${tick.passes} passes`;
  return `Tick ${tick.number}: tokens ${joinWords(tokens) || "none"}; ${passes}; ${times.join(", ")}.`;
}

/**
 * What the ticks of the last second before the newest one did, in a sentence; empty without ticks.
 */
export function ticksSummary(ticks: Ticks): string {
  const last = ticks.last;
  if (last === undefined) return "";
  const from = ticks.from(last.at - 1000);
  const n = ticks.size - from;
  let [decode, prefill, total] = [0, 0, 0];
  for (let i = from; i < ticks.size; i++) {
    const tick = ticks.at(i);
    decode += tick?.decode ?? 0;
    prefill += tick?.prefill ?? 0;
    total += tick?.total ?? 0;
  }
  const on = `${(decode / n).toFixed(1)} tokens of answers and ${count(prefill / n)} of prompts`;
  return `The last ${n === 1 ? "tick" : `${count(n)} ticks`} computed ${on} each, in ${duration(total / n)} on average.`;
}

/** "a", "a and b", "a, b and c" */
export function joinWords(parts: readonly string[]): string {
  if (parts.length < 2) return parts.join("");
  return `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}

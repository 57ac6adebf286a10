// SPDX-License-Identifier: MIT

// Slots, queues and ticks in words.
import { list, t, tn } from "../language/language.ts";
import { count, duration, tenths } from "../text/numberformat.ts";
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
      return t("Free");
    case "waiting":
      return slot.waits_for === "paused" ? t("Paused") : t("Waits");
    case "reading":
      return t("Reads its prompt");
    case "writing":
      return t("Writes");
  }
}

const reasons: Record<string, string> = {
  paused: t("Its reader has paused it."),
  reader: t("Its tokens are read too slowly, or by nobody just now, so it waits."),
  quota: t("Its plugins have used up their processor time, and rest for a moment."),
  turn: t("The prompts of other answers are computed first."),
  cells: t("The memory has no room for it now."),
  program: t("Its program does not ask for it now."),
  slot: t("All slots are taken."),
  disk: t("The beginning of its prompt is read from the disk."),
  prefix: t("Another answer computes the beginning of the same prompt, which both will share."),
};

/** Why an answer does not go on; empty where it does. */
export function waitWords(waitsFor: string | undefined, plugins: readonly string[] = []): string {
  if (waitsFor === undefined) return "";
  if (waitsFor !== "worker") return reasons[waitsFor] ?? t("It waits for {what}.", { what: waitsFor });
  if (plugins.length === 0) return t("Its next token is still being chosen.");
  return tn(
    plugins.length,
    "{plugins} has not decided on the next token yet.",
    "{plugins} have not decided on the next token yet.",
    { plugins: list(plugins) },
  );
}

/** Who waits in the queue, and for what. */
export function queueWords(queue: Pick<LiveQueue, "waiting" | "for">): string {
  if (queue.waiting === 0) return t("The queue is empty.");
  const parts = Object.entries(queue.for)
    .filter(([, n]) => n > 0)
    .sort(([, a], [, b]) => b - a)
    .map(([what, n]) => waitersWords(what, n));
  return tn(queue.waiting, "{n} answer waits: {why}.", "{n} answers wait: {why}.", { why: list(parts) });
}

function waitersWords(what: string, n: number): string {
  switch (what) {
    case "slot":
      return t("{n} for a slot", { n });
    case "cells":
      return t("{n} for room in the memory", { n });
    case "prefix":
      return t("{n} for another to compute the same prompt", { n });
    case "paused":
      return t("{n} because they are paused", { n });
    case "reader":
      return t("{n} for their readers", { n });
    default:
      return t("{n} for {what}", { n, what });
  }
}

/** One tick in words. */
export function tickWords(tick: Tick): string {
  const tokens = [
    tick.decode > 0 && t("{n} decoded", { n: tick.decode }),
    tick.prefill > 0 && t("{n} of prompts", { n: tick.prefill }),
  ].filter((part) => part !== false);
  return t("Tick {number}: tokens {tokens}; {passes}; {times}.", {
    number: String(tick.number),
    tokens: list(tokens) || t("tokens|none"),
    passes: tn(tick.passes, "{n} pass", "{n} passes"),
    times: timesWords(tick),
  });
}

function timesWords({ forward, sample, plugin, total }: Tick): string {
  const times = { model: duration(forward), sampling: duration(sample), total: duration(total) };
  if (plugin <= 0) return t("model {model}, sampling {sampling}, in all {total}", times);
  return t("model {model}, sampling {sampling}, plugins {plugins}, in all {total}", {
    ...times,
    plugins: duration(plugin),
  });
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
  return tn(
    n,
    "The last tick computed {answers} tokens of answers and {prompts} of prompts each, in {time} on average.",
    "The last {n} ticks computed {answers} tokens of answers and {prompts} of prompts each, in {time} on average.",
    { n: count(n), answers: tenths(decode / n), prompts: count(prefill / n), time: duration(total / n) },
  );
}

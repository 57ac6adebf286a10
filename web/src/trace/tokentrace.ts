// SPDX-License-Identifier: MIT

// Answers questions about one trace: how likely the token was, and who decided.
import type { Candidate, TokenTrace } from "../host/protocol.ts";

/** The model's probability of the token, before any stage; undefined where it took no row. */
export function modelP(trace: TokenTrace): number | undefined {
  return trace.before.n > 0 ? (trace.before.chosen?.p ?? 0) : undefined;
}

/** What the model would have said first, if that is not what was chosen. */
export function passedOver(trace: TokenTrace): Candidate | undefined {
  const [best] = trace.before.best;
  return best !== undefined && best.id !== trace.id ? best : undefined;
}

/** The probability with which the last stage drew the token: what was left for it. */
export function drawnP(trace: TokenTrace): number | undefined {
  const before = trace.stages.at(-2)?.after ?? trace.before;
  return trace.stages.length > 0 ? before.chosen?.p : undefined;
}

/**
 * The stage that decided against what the model would have said first: the one after which the
 * token was the likeliest, or else the one that drew it. undefined where the token is the model's
 * own first choice.
 */
export function decider(trace: TokenTrace): string | undefined {
  if (trace.how !== "chosen") return trace.by;
  if (passedOver(trace) === undefined) return undefined;
  return trace.stages.find(({ after }) => after.chosen?.rank === 1)?.name ?? trace.by;
}

/**
 * Who changed or chose the token besides the sampler: plugins and the client, the most telling
 * first.
 */
export function meddlers(trace: TokenTrace): string[] {
  const names = new Set<string>();
  for (const { by } of trace.taken_back ?? []) names.add(by);
  if (isMeddler(trace.by)) names.add(trace.by);
  trace.stages.forEach(({ name, after }, i) => {
    const found = trace.stages[i - 1]?.after ?? trace.before;
    if (after === found) return;
    if (isMeddler(name)) names.add(name);
    else if (name === "prepare")
      for (const asked of trace.prepared ?? []) if (asksForSomething(asked)) names.add(asked.name);
  });
  return [...names];
}

export function asksForSomething(asked: NonNullable<TokenTrace["prepared"]>[number]): boolean {
  return asked.allowed !== undefined || (asked.banned ?? 0) + (asked.biased ?? 0) > 0;
}

function isMeddler(name: string): boolean {
  return name === "client" || name.startsWith("plugin:");
}

/**
 * All time that a trace knows of, in milliseconds, by who took it. Preparing is part of the stage
 * "prepare", where there is one.
 */
export function stageTimes(trace: TokenTrace): Map<string, number> {
  const sum = new Map<string, number>();
  const add = (name: string, ms: number) => sum.set(name, (sum.get(name) ?? 0) + ms);
  const prepared = trace.prepared ?? [];
  let preparing = 0;
  for (const { name, ms } of prepared) {
    add(name, ms);
    preparing += ms;
  }
  for (const { name, ms } of trace.stages) add(name, name === "prepare" ? Math.max(0, ms - preparing) : ms);
  for (const { name, ms } of trace.accepted ?? []) add(name, ms);
  return sum;
}

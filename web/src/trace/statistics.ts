// SPDX-License-Identifier: MIT

// Numbers about all tokens of an answer.
import type { Piece } from "./tokenitems.ts";
import { meddlers, modelP, stageTimes } from "./tokentrace.ts";

/** What can be said of the tokens of an answer together. */
export interface AnswerStatistics {
  tokens: number;
  traced: number;
  meanP?: number; // geometric mean of the model's probabilities: that of a typical token
  changed: number; // tokens that plugins or the client had a hand in
  takenBack: number; // tokens that are not in the answer
  chain: string[]; // the stages, in order
  times: { name: string; ms: number; share: number }[]; // of a token on average, the longest first
  ms: number; // all of them together
}

export function statisticsOf(pieces: readonly Piece[]): AnswerStatistics {
  const sums = new Map<string, number>();
  const chain = new Set<string>();
  const facts: AnswerStatistics = {
    tokens: pieces.length,
    traced: 0,
    changed: 0,
    takenBack: 0,
    chain: [],
    times: [],
    ms: 0,
  };
  let logs = 0;
  let drawn = 0;
  for (const { trace } of pieces) {
    if (trace === undefined) continue;
    facts.traced++;
    for (const [name, ms] of stageTimes(trace)) sums.set(name, (sums.get(name) ?? 0) + ms);
    for (const { name } of [...(trace.prepared ?? []), ...trace.stages])
      if (name !== "prepare") chain.add(name);
    for (const back of trace.taken_back ?? []) facts.takenBack += back.tokens.length;
    if (meddlers(trace).length > 0) facts.changed++;
    const p = modelP(trace);
    if (p !== undefined && p > 0) {
      logs += Math.log(p);
      drawn++;
    }
  }
  if (drawn > 0) facts.meanP = Math.exp(logs / drawn);
  const total = [...sums.values()].reduce((sum, ms) => sum + ms, 0);
  facts.ms = facts.traced > 0 ? total / facts.traced : 0;
  facts.times = [...sums]
    .map(([name, ms]) => ({ name, ms: ms / facts.traced, share: total > 0 ? ms / total : 0 }))
    .sort((a, b) => b.ms - a.ms);
  facts.chain = [...chain];
  return facts;
}

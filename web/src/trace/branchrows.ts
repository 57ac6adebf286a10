// SPDX-License-Identifier: MIT

// Lays the branches of a program out in rows.
import type { BranchToken } from "../host/protocol.ts";
import type { Branch, BranchTree } from "./branchtree.ts";

/**
 * How the tokens of a row stand: the answer goes through them, a branch with them lives, or all
 * were dropped.
 */
export type BranchStanding = "chosen" | "alive" | "dropped";

/** Tokens in a row, up to where branches part: a node of the tree, as it is drawn. */
export interface BranchRow {
  key: string;
  level: number; // from 1 on: the most promising way stays on the level of what it goes on from
  branch: number; // that the last of the tokens belongs to
  tokens: readonly BranchToken[];
  score: number | undefined; // the sum of the log-probabilities from the prompt to the last token; undefined: none is known
  standing: BranchStanding;
  ends: readonly number[]; // choices whose answer ends with it
  leaf: boolean; // nothing goes on from it
}

/** Tokens of one branch between two places at which something begins or ends. */
interface Span {
  branch: Branch;
  from: number; // counted as Branch.at
  tokens: readonly BranchToken[];
  score: number | undefined;
  ends: number[];
  kids: Span[]; // what goes on from its end
  alive: boolean; // one of those that end below it was not dropped
  chosen: boolean;
  best: number; // the highest score of what lives below it
}

/**
 * The tree as rows from top to bottom: what parts from a row comes below it, the most promising
 * last.
 */
export function rowsOf(tree: BranchTree): BranchRow[] {
  const starts = spansOf(tree);
  const rows: BranchRow[] = [];
  const open: { span: Span; level: number }[] = [];
  const push = (kids: readonly Span[], level: number) => {
    const [main, ...sides] = [...kids].sort(promising);
    if (main === undefined) return;
    open.push({ span: main, level });
    for (const span of sides.reverse()) open.push({ span, level: level + 1 });
  };
  push(starts, 1);
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { span: first, level } = next;
    const tokens = [...first.tokens];
    let span = first;
    for (
      let after = only(span);
      after !== undefined && standing(after) === standing(first);
      after = only(span)
    ) {
      span = after;
      tokens.push(...span.tokens);
    }
    rows.push({
      key: `${first.branch.id}:${first.from}`,
      level,
      branch: span.branch.id,
      tokens,
      score: span.score,
      standing: standing(first),
      ends: span.ends,
      leaf: span.kids.length === 0,
    });
    push(span.kids, level);
  }
  return rows;
}

/** What goes on from a span, where that is one, and no answer ends between them. */
function only({ kids, ends }: Span): Span | undefined {
  return kids.length === 1 && ends.length === 0 ? kids[0] : undefined;
}

function standing({ chosen, alive }: Span): BranchStanding {
  if (chosen) return "chosen";
  return alive ? "alive" : "dropped";
}

/**
 * The most promising first: what was chosen, what lives, what has the higher score, what began
 * first.
 */
function promising(a: Span, b: Span): number {
  if (a.chosen !== b.chosen) return a.chosen ? -1 : 1;
  if (a.alive !== b.alive) return a.alive ? -1 : 1;
  return b.best - a.best || a.branch.id - b.branch.id;
}

/** The spans that begin at the prompt. Those of a branch come after those of its parent. */
function spansOf(tree: BranchTree): Span[] {
  const branches = [...tree.branches.values()];
  const cuts = cutsOf(tree, branches);
  const spans = new Map<Branch, Span[]>();
  for (const branch of branches) spans.set(branch, cut(branch, spans, [...(cuts.get(branch) ?? [])]));
  for (const [choice, { branch, end }] of tree.chosen) {
    const last = spanBefore(spans, ...owned(branch, end));
    last?.ends.push(choice);
  }
  const starts: Span[] = [];
  for (const branch of branches.reverse()) {
    const own = spans.get(branch) ?? [];
    for (let i = own.length - 1; i >= 0; i--) sum(own[i] as Span, own[i + 1]);
    const shown = own[0] === undefined ? [] : visible(own[0]);
    const before = branch.parent && spanBefore(spans, ...owned(branch.parent, branch.at));
    if (before === undefined) starts.push(...shown);
    else before.kids.push(...shown);
  }
  return starts;
}

/** Which branch of one and its parents has the token before a place. */
function owned(branch: Branch, at: number): [Branch, number] {
  let owner = branch;
  while (owner.parent !== undefined && at <= owner.at) owner = owner.parent;
  return [owner, at];
}

/** The places inside each branch at which another begins or an answer ends. */
function cutsOf(tree: BranchTree, branches: readonly Branch[]): Map<Branch, Set<number>> {
  const cuts = new Map<Branch, Set<number>>();
  const add = (branch: Branch, at: number) => {
    const [owner] = owned(branch, at);
    if (at > owner.at && at < owner.end) cuts.set(owner, (cuts.get(owner) ?? new Set()).add(at));
  };
  for (const { parent, at } of branches) if (parent !== undefined) add(parent, at);
  for (const { branch, end } of tree.chosen.values()) add(branch, end);
  return cuts;
}

/** A branch as spans, one after the other. */
function cut(branch: Branch, spans: ReadonlyMap<Branch, Span[]>, inside: number[]): Span[] {
  const places = [branch.at, ...inside.sort((a, b) => a - b), branch.end];
  let score = branch.parent && spanBefore(spans, ...owned(branch.parent, branch.at))?.score;
  return places.slice(1).map((to, i) => {
    const from = places[i] ?? to;
    const tokens = branch.tokens.slice(from - branch.at, to - branch.at);
    for (const { logprob } of tokens) if (logprob !== undefined) score = (score ?? 0) + logprob;
    if (to === branch.toldAt) score = branch.told;
    return { branch, from, tokens, score, ends: [], kids: [], alive: false, chosen: false, best: 0 };
  });
}

/** The span of a branch that ends at a place, or that has it inside where nothing was cut. */
function spanBefore(spans: ReadonlyMap<Branch, Span[]>, branch: Branch, at: number): Span | undefined {
  if (at <= branch.at) return undefined;
  const own = spans.get(branch) ?? [];
  return own.find(({ from, tokens }) => from + tokens.length >= at) ?? own.at(-1);
}

/** Completes a span, once what goes on from it in other branches is complete. */
function sum(span: Span, next?: Span): void {
  if (next !== undefined) span.kids.push(...visible(next));
  const { branch, kids } = span;
  const lives = next === undefined && !branch.dropped;
  span.alive = lives || kids.some(({ alive }) => alive);
  span.chosen = span.ends.length > 0 || kids.some(({ chosen }) => chosen);
  const living = kids.filter(({ alive }) => alive === span.alive).map(({ best }) => best);
  if (lives || living.length === 0) living.push(span.score ?? Number.NEGATIVE_INFINITY);
  span.best = Math.max(...living);
}

/**
 * A span as it is drawn: one without tokens is what goes on from it, or a branch that has just
 * begun.
 */
function visible(span: Span): Span[] {
  if (span.tokens.length > 0) return [span];
  return span.kids.length > 0 || !span.alive ? span.kids : [span];
}

// SPDX-License-Identifier: MIT

// What plugins and the client did to an answer, in sentences.
import { count, tokens } from "../text/numberformat.ts";
import type { Piece } from "./tokenitems.ts";
import { actor, visibleToken } from "./tokenwords.ts";

const mostTexts = 3; // that are told by name

/**
 * What plugins and the client did to an answer, a sentence each: what they took back, and how much
 * they put in.
 */
export function interventionsOf(pieces: readonly Piece[]): string[] {
  const taken = new Map<string, Map<string, number>>(); // by whom, and how often each text
  const put = new Map<string, number>();
  for (const { trace } of pieces) {
    if (trace === undefined) continue;
    for (const { by, text } of trace.taken_back ?? []) {
      const texts = taken.get(by) ?? new Map<string, number>();
      taken.set(by, texts.set(text, (texts.get(text) ?? 0) + 1));
    }
    if (trace.how !== "chosen" || trace.by.startsWith("plugin:"))
      put.set(trace.by, (put.get(trace.by) ?? 0) + 1);
  }
  return [
    ...[...taken].map(([by, texts]) => `${actor(by)} took back ${listed(texts)}.`),
    ...[...put].map(([by, n]) => `${actor(by)} put in ${tokens(n)}.`),
  ];
}

function listed(texts: ReadonlyMap<string, number>): string {
  const named = [...texts].slice(0, mostTexts).map(([text, n]) => {
    const shown = text.length > 40 ? `${text.slice(0, 40)}…` : text;
    return n === 1
      ? visibleToken(shown)
      : `${visibleToken(shown)} ${n === 2 ? "twice" : `${count(n)} times`}`;
  });
  const more = texts.size - named.length;
  if (more > 0) return `${named.join(", ")} and ${count(more)} more`;
  return named.length < 2 ? named.join("") : `${named.slice(0, -1).join(", ")} and ${named.at(-1)}`;
}

// SPDX-License-Identifier: MIT

// What plugins and the client did to an answer, in sentences.
import { list, t } from "../language/language.ts";
import { count, tokens } from "../text/numberformat.ts";
import type { Piece } from "./tokenitems.ts";
import { visibleToken } from "./tokenwords.ts";

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
    ...[...taken].map(([who, texts]) => tookBack(who, listed(texts))),
    ...[...put].map(([who, n]) => putIn(who, tokens(n))),
  ];
}

function tookBack(who: string, what: string): string {
  return who === "client"
    ? t("You took back {what}.", { what })
    : t("{who} took back {what}.", { who, what });
}

function putIn(who: string, what: string): string {
  return who === "client" ? t("You put in {what}.", { what }) : t("{who} put in {what}.", { who, what });
}

function listed(texts: ReadonlyMap<string, number>): string {
  const named = [...texts].slice(0, mostTexts).map(([text, n]) => {
    const token = visibleToken(text.length > 40 ? `${text.slice(0, 40)}…` : text);
    if (n === 1) return token;
    return n === 2 ? t("{token} twice", { token }) : t("{token} {n} times", { token, n: count(n) });
  });
  const more = texts.size - named.length;
  if (more > 0) return t("{tokens} and {n} more", { tokens: named.join(", "), n: count(more) });
  return list(named);
}

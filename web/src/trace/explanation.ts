// SPDX-License-Identifier: MIT

// Explains in sentences how one token was chosen.
import type { TokenTrace } from "../host/protocol.ts";
import { list, t } from "../language/language.ts";
import { count, tokens } from "../text/numberformat.ts";
import { isCut } from "./candidatematrix.ts";
import type { TokenItem } from "./tokenitems.ts";
import { asksForSomething, drawnP, passedOver } from "./tokentrace.ts";
import { ordinal, percent, stageSubject, visibleToken } from "./tokenwords.ts";

/** One thing that happened to a token, in words. */
export interface ExplanationLine {
  text: string;
  kind: "model" | "stage" | "plugin" | "client" | "choice" | "none"; // whose doing it was, or that it was chosen in the end
}

/** How a token was chosen, in sentences, in the order in which it happened. */
export function explanationOf(item: TokenItem): ExplanationLine[] {
  const { trace, takenBy } = item;
  if (trace === undefined)
    return takenBy === undefined
      ? [{ text: t("No record was kept of this token."), kind: "none" }]
      : fateOf(item);
  return [
    ...takenBackLines(trace),
    ...modelLines(trace),
    ...preparedLines(trace),
    ...stageLines(trace),
    ...noteLines(trace),
    ...endLines(trace),
    ...fateOf(item),
  ];
}

function fateOf({ takenBy, text }: TokenItem): ExplanationLine[] {
  if (takenBy === undefined) return [];
  const token = visibleToken(text);
  const said =
    takenBy === "client"
      ? t("You took {token} back.", { token })
      : t("{who} took {token} back. Nobody saw it.", { who: takenBy, token });
  return [{ text: said, kind: kindOf(takenBy) }];
}

function kindOf(by: string): ExplanationLine["kind"] {
  if (by === "client") return "client";
  return by.startsWith("plugin:") ? "plugin" : "stage";
}

function takenBackLines(trace: TokenTrace): ExplanationLine[] {
  const steps: { by: string; n: number; text: string; times: number }[] = [];
  for (const { by, tokens: taken, text } of trace.taken_back ?? []) {
    const last = steps.at(-1);
    if (last?.by === by && last.n === taken.length && last.text === text) last.times++;
    else steps.push({ by, n: taken.length, text, times: 1 });
  }
  return steps.map(({ by, n, text, times }) => {
    const said = { who: by, tokens: tokens(n), text: visibleToken(text), times: count(times) };
    return { text: by === "client" ? ownStep(said) : step(said), kind: kindOf(by) };
  });
}

type Step = Record<"who" | "tokens" | "text" | "times", string>;

function ownStep(said: Step): string {
  return said.times === "1"
    ? t("You took back {tokens}: {text}.", said)
    : t("You took back {tokens}: {text}, {times} times.", said);
}

function step(said: Step): string {
  return said.times === "1"
    ? t("{who} took back {tokens}: {text}.", said)
    : t("{who} took back {tokens}: {text}, {times} times.", said);
}

function modelLines(trace: TokenTrace): ExplanationLine[] {
  const { n, chosen } = trace.before;
  if (n === 0) return [];
  const first = passedOver(trace);
  const token = visibleToken(first?.token ?? trace.token);
  const choice = t("The model’s first choice was {token} ({p}).", {
    token,
    p: percent((first ?? chosen)?.p ?? 0),
  });
  if (first === undefined || chosen === undefined) return [{ text: choice, kind: "model" }];
  const own = { token: visibleToken(trace.token), nth: ordinal(chosen.rank), p: percent(chosen.p) };
  return [{ text: sentences(choice, t("{token} was {nth} ({p}).", own)), kind: "model" }];
}

/** Two sentences, of which the second may be empty. */
function sentences(first: string, second: string): string {
  return second === "" ? first : t("{first} {second}", { first, second });
}

function preparedLines(trace: TokenTrace): ExplanationLine[] {
  const gone = prepareCut(trace);
  return (trace.prepared ?? []).filter(asksForSomething).map((asked) => {
    const { name, allowed, banned = 0, biased = 0 } = asked;
    const parts: string[] = [];
    if (allowed !== undefined)
      parts.push(t("allowed {tokens} of {n}", { tokens: tokens(allowed), n: count(trace.before.n) }));
    const all = gone.length === banned ? gone.map(visibleToken).join(", ") : tokens(banned);
    if (banned > 0) parts.push(t("banned {tokens}", { tokens: all }));
    if (biased > 0) parts.push(t("made {tokens} more or less likely", { tokens: tokens(biased) }));
    return { text: t("{who} {did}.", { who: name, did: list(parts) }), kind: kindOf(name) };
  });
}

/** The tokens among the model's best that masks and biases have taken away. */
function prepareCut(trace: TokenTrace): string[] {
  const [first] = trace.stages;
  if (first?.name !== "prepare") return [];
  const gone = trace.before.best.filter(({ id }) => isCut(id, trace.before, first.after));
  return gone.map(({ token }) => token);
}

function stageLines(trace: TokenTrace): ExplanationLine[] {
  const lines: ExplanationLine[] = [];
  trace.stages.slice(0, -1).forEach(({ name, after }, i) => {
    const found = trace.stages[i - 1]?.after ?? trace.before;
    if (after === found || name === "prepare") return;
    const who = stageSubject(name);
    const place = rankMoved(found.chosen?.rank, after.chosen?.rank, trace.token);
    const kept = { who, n: count(after.n), of: count(found.n) };
    if (after.n < found.n)
      lines.push({ text: sentences(t("{who} kept {n} of {of}.", kept), place), kind: kindOf(name) });
    else if (found.best[0]?.p !== after.best[0]?.p)
      lines.push({
        text: sentences(t("{who} changed the probabilities.", { who }), place),
        kind: kindOf(name),
      });
  });
  return lines;
}

function rankMoved(from: number | undefined, to: number | undefined, token: string): string {
  if (from === undefined || to === undefined || from === to) return "";
  const moved = { token: visibleToken(token), from: ordinal(from), to: ordinal(to) };
  return to < from
    ? t("{token} rose from {from} to {to}.", moved)
    : t("{token} fell from {from} to {to}.", moved);
}

function noteLines(trace: TokenTrace): ExplanationLine[] {
  return (trace.notes ?? []).map(({ by, text }) => ({
    text: t("{who} notes: {text}", { who: by, text }),
    kind: kindOf(by),
  }));
}

function endLines(trace: TokenTrace): ExplanationLine[] {
  const { how, by } = trace;
  const token = visibleToken(trace.token);
  switch (how) {
    case "forced":
      return [{ text: t("{who} forced {token}: no stage was asked.", { who: by, token }), kind: kindOf(by) }];
    case "spliced":
      return [{ text: t("{who} put {token} here itself.", { who: by, token }), kind: kindOf(by) }];
    case "injected":
      return [{ text: t("You put {token} here.", { token }), kind: kindOf(by) }];
    default: {
      const kind = kindOf(by) === "stage" ? "choice" : kindOf(by);
      return [{ text: chosenBy(stageSubject(by), token, drawnP(trace)), kind }];
    }
  }
}

function chosenBy(who: string, token: string, p: number | undefined): string {
  if (p === undefined) return t("{who} chose {token}.", { who, token });
  if (p >= 0.99995) return t("{who} chose {token}, the only one left.", { who, token });
  return t("{who} chose {token} ({p}).", { who, token, p: percent(p) });
}

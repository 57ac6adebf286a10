// SPDX-License-Identifier: MIT

// Explains in sentences how one token was chosen.
import type { TokenTrace } from "../host/protocol.ts";
import { count, tokens } from "../text/numberformat.ts";
import { isCut } from "./candidatematrix.ts";
import type { TokenItem } from "./tokenitems.ts";
import { asksForSomething, drawnP, passedOver } from "./tokentrace.ts";
import { actor, ordinal, percent, stageSubject, visibleToken } from "./tokenwords.ts";

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
      ? [{ text: "No record was kept of this token.", kind: "none" }]
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
  const seen = takenBy === "client" ? "" : " Nobody saw it.";
  return [{ text: `${actor(takenBy)} took ${visibleToken(text)} back.${seen}`, kind: kindOf(takenBy) }];
}

function kindOf(by: string): ExplanationLine["kind"] {
  if (by === "client") return "client";
  return by.startsWith("plugin:") ? "plugin" : "stage";
}

function takenBackLines(trace: TokenTrace): ExplanationLine[] {
  const lines: (ExplanationLine & { times: number })[] = [];
  for (const { by, tokens: taken, text } of trace.taken_back ?? []) {
    const said = `${actor(by)} took back ${tokens(taken.length)}: ${visibleToken(text)}`;
    const last = lines.at(-1);
    if (last?.text === said) last.times++;
    else lines.push({ text: said, kind: kindOf(by), times: 1 });
  }
  return lines.map(({ text, kind, times }) => ({
    text: `${text}${times > 1 ? `, ${times} times` : ""}.`,
    kind,
  }));
}

function modelLines(trace: TokenTrace): ExplanationLine[] {
  const { n, chosen } = trace.before;
  if (n === 0) return [];
  const first = passedOver(trace);
  const own = visibleToken(trace.token);
  if (first === undefined) {
    return [{ text: `The model’s first choice was ${own} (${percent(chosen?.p ?? 0)}).`, kind: "model" }];
  }
  const rank = chosen === undefined ? "" : ` ${own} was ${ordinal(chosen.rank)} (${percent(chosen.p)}).`;
  return [
    {
      text: `The model’s first choice was ${visibleToken(first.token)} (${percent(first.p)}).${rank}`,
      kind: "model",
    },
  ];
}

function preparedLines(trace: TokenTrace): ExplanationLine[] {
  const gone = prepareCut(trace);
  return (trace.prepared ?? []).filter(asksForSomething).map((asked) => {
    const { name, allowed, banned = 0, biased = 0 } = asked;
    const parts: string[] = [];
    if (allowed !== undefined) parts.push(`allowed ${tokens(allowed)} of ${count(trace.before.n)}`);
    if (banned > 0)
      parts.push(`banned ${gone.length === banned ? gone.map(visibleToken).join(", ") : tokens(banned)}`);
    if (biased > 0) parts.push(`made ${tokens(biased)} more or less likely`);
    return { text: `${name} ${parts.join(" and ")}.`, kind: kindOf(name) };
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
    const place = rankMoved(found.chosen?.rank, after.chosen?.rank, trace.token);
    if (after.n < found.n)
      lines.push({
        text: `${stageSubject(name)} kept ${count(after.n)} of ${count(found.n)}.${place}`,
        kind: kindOf(name),
      });
    else if (found.best[0]?.p !== after.best[0]?.p)
      lines.push({ text: `${stageSubject(name)} changed the probabilities.${place}`, kind: kindOf(name) });
  });
  return lines;
}

function rankMoved(from: number | undefined, to: number | undefined, token: string): string {
  if (from === undefined || to === undefined || from === to) return "";
  return ` ${visibleToken(token)} rose from ${ordinal(from)} to ${ordinal(to)}.`.replace(
    "rose",
    to < from ? "rose" : "fell",
  );
}

function noteLines(trace: TokenTrace): ExplanationLine[] {
  return (trace.notes ?? []).map(({ by, text }) => ({
    text: `${actor(by)} notes: ${text}`,
    kind: kindOf(by),
  }));
}

function endLines(trace: TokenTrace): ExplanationLine[] {
  const { how, by } = trace;
  const own = visibleToken(trace.token);
  switch (how) {
    case "forced":
      return [{ text: `${by} forced ${own}: no stage was asked.`, kind: kindOf(by) }];
    case "spliced":
      return [{ text: `${by} put ${own} here itself.`, kind: kindOf(by) }];
    case "injected":
      return [{ text: `You put ${own} here.`, kind: kindOf(by) }];
    default: {
      const p = drawnP(trace);
      const chance = p === undefined ? "" : p >= 0.99995 ? ", the only one left" : ` (${percent(p)})`;
      return [
        {
          text: `${stageSubject(by)} chose ${own}${chance}.`,
          kind: kindOf(by) === "stage" ? "choice" : kindOf(by),
        },
      ];
    }
  }
}

// SPDX-License-Identifier: MIT

// Makes a valid trace of what the host sent or the browser stored.
import type {
  Candidate,
  Note,
  Prepared,
  StageTrace,
  Survey,
  TakenBack,
  Timed,
  TokenName,
  TokenRank,
  TokenTrace,
} from "../host/protocol.ts";

const origins = new Set(["chosen", "forced", "spliced", "injected"]);
const most = 512; // entries of any list

/**
 * Takes what is valid of a trace, which can be of any age and shape; undefined if it is none.
 * Stages that changed nothing share one survey, which saves most of the memory: a usual chain has
 * eleven stages, of which three do something.
 */
export function cleanTrace(value: unknown, nested = false): TokenTrace | undefined {
  const name = cleanName(value);
  const raw = record(value);
  if (name === undefined || !Array.isArray(raw.stages)) return undefined;
  let last = cleanSurvey(raw.before);
  const trace: TokenTrace = {
    ...name,
    how: origins.has(raw.how as string) ? (raw.how as TokenTrace["how"]) : "chosen",
    by: text(raw.by),
    before: last,
    stages: list(raw.stages, (stage): StageTrace => {
      const { after } = record(stage);
      if (!isSurvey(after, last)) last = cleanSurvey(after);
      return { ...cleanTimed(stage), after: last };
    }),
  };
  if (trace.by === "") trace.by = trace.stages.at(-1)?.name || "client";
  if (Array.isArray(raw.prepared)) trace.prepared = list(raw.prepared, cleanPrepared);
  if (Array.isArray(raw.accepted)) trace.accepted = list(raw.accepted, cleanTimed);
  if (Array.isArray(raw.notes)) trace.notes = list(raw.notes, cleanNote);
  if (Array.isArray(raw.taken_back) && !nested) trace.taken_back = list(raw.taken_back, cleanTakenBack);
  return trace;
}

function cleanSurvey(value: unknown): Survey {
  const { n, best, chosen } = record(value);
  const survey: Survey = { n: count(n), best: list(best, cleanCandidate) };
  if (typeof chosen === "object" && chosen !== null) survey.chosen = cleanPlace(chosen);
  return survey;
}

function cleanCandidate(value: unknown): Candidate | undefined {
  const name = cleanName(value);
  const { logit, p } = record(value);
  return name && { ...name, logit: number(logit), p: number(p) };
}

function cleanPlace(value: unknown): TokenRank {
  const { rank, logit, p } = record(value);
  return { rank: Math.max(1, count(rank)), logit: number(logit), p: number(p) };
}

function cleanPrepared(value: unknown): Prepared {
  const { allowed, banned, biased } = record(value);
  const prepared: Prepared = cleanTimed(value);
  if (allowed !== undefined) prepared.allowed = count(allowed);
  if (banned !== undefined) prepared.banned = count(banned);
  if (biased !== undefined) prepared.biased = count(biased);
  return prepared;
}

function cleanTakenBack(value: unknown): TakenBack {
  const { by, text: taken, tokens } = record(value);
  return {
    by: text(by),
    text: text(taken),
    tokens: list(tokens, (token) => {
      const name = cleanName(token);
      const trace = cleanTrace(record(token).trace, true);
      return name && (trace === undefined ? name : { ...name, trace });
    }),
  };
}

function cleanTimed(value: unknown): Timed {
  const { name, ms } = record(value);
  return { name: text(name), ms: number(ms) };
}

function cleanNote(value: unknown): Note {
  const { by, text: noted } = record(value);
  return { by: text(by), text: text(noted) };
}

function cleanName(value: unknown): TokenName | undefined {
  const { id, token } = record(value);
  return Number.isInteger(id) && typeof token === "string" ? { id: id as number, token } : undefined;
}

/** Whether a value is this survey. Most are the one before, and need not be made anew. */
function isSurvey(value: unknown, { n, best, chosen }: Survey): boolean {
  const raw = record(value);
  const place = record(raw.chosen);
  const list = Array.isArray(raw.best) ? raw.best : [];
  return (
    raw.n === n &&
    place.rank === chosen?.rank &&
    place.logit === chosen?.logit &&
    list.length === best.length &&
    best.every((one, i) => {
      const { id, logit, p } = record(list[i]);
      return id === one.id && logit === one.logit && p === one.p;
    })
  );
}

function list<T>(value: unknown, clean: (entry: unknown) => T | undefined): T[] {
  if (!Array.isArray(value)) return [];
  const entries: T[] = [];
  for (const entry of value.length > most ? value.slice(0, most) : value) {
    const kept = clean(entry);
    if (kept !== undefined) entries.push(kept);
  }
  return entries;
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function number(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}

function count(value: unknown): number {
  return Math.max(0, Math.floor(number(value)));
}

// SPDX-License-Identifier: MIT

// The table of candidates: a row for each of them, a column for each stage.
import type { Survey, TokenTrace } from "../host/protocol.ts";

/** A point at which candidates were counted: the model, or a stage. */
export interface Column {
  name: string;
  left: number;
  ms?: number; // of a stage
  share?: number; // of the time of all stages
  same: boolean; // it changed nothing, and did not choose
}

/** Where one candidate stands at one point. */
export interface Cell {
  state: "left" | "cut" | "unknown"; // unknown: it may be left, behind the best that are known
  p?: number;
  rank?: number;
  moved?: number; // ranks up since the column before, or down where negative
}

export interface CandidateRow {
  id: number;
  token: string;
  chosen: boolean;
  cells: Cell[];
}

export interface Matrix {
  columns: Column[];
  rows: CandidateRow[];
}

const mostRows = 12;

/**
 * What became of each candidate, column by column: rows are candidates, the model's likeliest
 * first, with the chosen one among them.
 */
export function matrixOf(trace: TokenTrace): Matrix {
  const points: { name: string; ms?: number; survey: Survey }[] = [
    { name: "model", survey: trace.before },
    ...trace.stages.map(({ name, ms, after }) => ({ name, ms, survey: after })),
  ];
  const total = trace.stages.reduce((sum, { ms }) => sum + ms, 0);
  const columns = points.map(({ name, ms, survey }, i): Column => {
    const column: Column = {
      name,
      left: survey.n,
      same: i > 0 && i < points.length - 1 && points[i - 1]?.survey === survey,
    };
    return ms === undefined ? column : { ...column, ms, share: total > 0 ? ms / total : 0 };
  });
  const rows = candidates(trace).map(({ id, token }): CandidateRow => {
    const cells: Cell[] = [];
    points.forEach(({ survey }, i) => {
      const found = points[i - 1];
      const before = cells.at(-1);
      const cell = cellOf(survey, id, id === trace.id, before);
      if (cell.state === "unknown" && found && isCut(id, found.survey, survey)) cell.state = "cut";
      cells.push(cell);
    });
    return { id, token, chosen: id === trace.id, cells };
  });
  return { columns, rows };
}

/**
 * The candidates that are shown: those that the model or a stage found likeliest, and the chosen
 * one.
 */
function candidates(trace: TokenTrace): { id: number; token: string }[] {
  const found = new Map<number, string>();
  const surveys = [trace.before, ...trace.stages.map(({ after }) => after)];
  for (const { id, token } of trace.before.best) found.set(id, token);
  for (const { best } of surveys.reverse()) {
    for (const { id, token } of best.slice(0, 3)) found.set(id, token);
  }
  found.delete(trace.id);
  const others = [...found].slice(0, mostRows - 1).map(([id, token]) => ({ id, token }));
  const at = trace.before.chosen === undefined ? others.length : trace.before.chosen.rank - 1;
  others.splice(Math.min(at, others.length), 0, { id: trace.id, token: trace.token });
  return others;
}

function cellOf(survey: Survey, id: number, chosen: boolean, before: Cell | undefined): Cell {
  const at = survey.best.findIndex((one) => one.id === id);
  const best = survey.best[at];
  let place: { rank: number; p: number } | undefined = best && { rank: at + 1, p: best.p };
  if (chosen && survey.chosen !== undefined) place = survey.chosen;
  if (place !== undefined) {
    const cell: Cell = { state: "left", p: place.p, rank: place.rank };
    if (before?.rank !== undefined) cell.moved = before.rank - place.rank;
    return cell;
  }
  const all = survey.best.length >= survey.n; // every candidate is known
  return { state: all || chosen || before?.state === "cut" ? "cut" : "unknown" };
}

/**
 * Reports whether a candidate must be among those that a stage has cut: else it would be among the
 * best that are left.
 */
export function isCut(id: number, found: Survey, left: Survey): boolean {
  const logit = found.best.find((one) => one.id === id)?.logit;
  const worst = left.best.at(-1)?.logit;
  if (logit === undefined || worst === undefined || left.n >= found.n) return false;
  return logit >= worst && !left.best.some((one) => one.id === id);
}

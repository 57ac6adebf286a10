// SPDX-License-Identifier: MIT
import type { Survey, TokenTrace } from "./protocol.ts";

/** What one stage of the chain left to choose from, in words. */
export interface TraceRow {
  stage: string;
  time: string;
  left: string;
  best: string;
}

const shown = 3; // candidates in a row
const whole = new Intl.NumberFormat("en");
const percent = new Intl.NumberFormat("en", { style: "percent", maximumSignificantDigits: 3 });
const micro = new Intl.NumberFormat("en", { maximumSignificantDigits: 2 });

/** How a token was chosen: first what the model says, then what each stage made of it. */
export function traceRows(trace: TokenTrace): TraceRow[] {
  return [
    { stage: "model", time: "", ...words(trace.before) },
    ...trace.stages.map(({ name, ms, after }) => ({
      stage: name,
      time: `${micro.format(ms * 1000)} µs`,
      ...words(after),
    })),
  ];
}

function words({ n, best }: Survey): Pick<TraceRow, "left" | "best"> {
  const candidates = best.slice(0, shown).map(({ token, p }) => `${visible(token)} ${percent.format(p)}`);
  return { left: whole.format(n), best: candidates.join("  ") };
}

/** A token such that spaces and line breaks are seen; a control token has no text. */
export function visible(token: string): string {
  return token === "" ? "∅" : token.replaceAll(" ", "␣").replaceAll("\n", "⏎").replaceAll("\t", "⇥");
}

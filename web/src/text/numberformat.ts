// SPDX-License-Identifier: MIT

// Figures as the page writes them, the same in every view.
import { language, t, tn } from "../language/language.ts";

const whole = new Intl.NumberFormat(language, { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat(language, { maximumSignificantDigits: 3 });
const tenth = new Intl.NumberFormat(language, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const compact = new Intl.NumberFormat(language, { notation: "compact", maximumSignificantDigits: 3 });
const parameters = new Intl.NumberFormat(language, {
  notation: "compact",
  compactDisplay: "long",
  minimumFractionDigits: language === "en" ? 1 : 0, // as the names of models have it: "8.0 billion"
  maximumFractionDigits: 1,
});

/** How many: 7, 1,234, 123k, 2.5M. Other languages have other short forms: 12.3万. */
export function count(n: number): string {
  if (n < 1e5) return whole.format(n);
  if (language !== "en") return compact.format(n);
  return n >= 1e6 ? `${(n / 1e6).toFixed(1)}M` : `${Math.round(n / 1000)}k`;
}

/** "1 token", "1,234 tokens" */
export function tokens(n: number): string {
  return tn(n, "{n} token", "{n} tokens", { n: count(n) });
}

/** A measured number, as precise as a reader needs it: 52.1, 0.0521, 1,230. */
export function rate(n: number): string {
  return short.format(n);
}

/** A number with one digit after the point: 3.0. */
export function tenths(n: number): string {
  return tenth.format(n);
}

/** A time given in milliseconds, in the unit that reads best: 52.1 µs, 12 ms, 1.5 s, 2 min 5 s. */
export function duration(ms: number): string {
  if (ms >= 60_000) return minutes(Math.round(ms / 1000));
  if (ms >= 1000) return t("{n} s", { n: short.format(ms / 1000) });
  if (ms >= 1 || ms === 0) return t("{n} ms", { n: short.format(ms) });
  return t("{n} µs", { n: short.format(ms * 1000) });
}

function minutes(seconds: number): string {
  const [whole, rest] = [String(Math.floor(seconds / 60)), String(seconds % 60)];
  return rest === "0" ? t("{n} min", { n: whole }) : t("{n} min {rest} s", { n: whole, rest });
}

/** Seconds as a clock shows them: 0:07, 12:30. */
export function clock(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** How many parameters a model has: 1.6 million, 8.0 billion. */
export function parameterWords(n: number): string {
  return parameters.format(n);
}

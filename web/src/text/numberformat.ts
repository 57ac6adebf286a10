// SPDX-License-Identifier: MIT

// Figures as the page writes them, the same in every view.
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

/** How many: 7, 1,234, 123k, 2.5M. */
export function count(n: number): string {
  if (n >= 1e6) return `${(n / 1e6).toFixed(1)}M`;
  return n >= 1e5 ? `${Math.round(n / 1000)}k` : whole.format(n);
}

/** "1 token", "1,234 tokens" */
export function tokens(n: number): string {
  return n === 1 ? "1 token" : `${count(n)} tokens`;
}

/** A measured number, as precise as a reader needs it: 52.1, 0.0521, 1,230. */
export function rate(n: number): string {
  return short.format(n);
}

/** A time given in milliseconds, in the unit that reads best: 52.1 µs, 12 ms, 1.5 s, 2 min 5 s. */
export function duration(ms: number): string {
  if (ms >= 60_000) return minutes(Math.round(ms / 1000));
  if (ms >= 1000) return `${short.format(ms / 1000)} s`;
  if (ms >= 1 || ms === 0) return `${short.format(ms)} ms`;
  return `${short.format(ms * 1000)} µs`;
}

function minutes(seconds: number): string {
  const rest = seconds % 60;
  return rest === 0 ? `${seconds / 60} min` : `${Math.floor(seconds / 60)} min ${rest} s`;
}

/** Seconds as a clock shows them: 0:07, 12:30. */
export function clock(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** How many parameters a model has: 1.6 million, 8.0 billion. */
export function parameterWords(n: number): string {
  return n >= 1e9 ? `${(n / 1e9).toFixed(1)} billion` : `${(n / 1e6).toFixed(1)} million`;
}

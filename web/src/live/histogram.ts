// SPDX-License-Identifier: MIT

// Percentiles of durations that were counted in buckets.
import { t } from "../language/language.ts";
import { duration } from "../text/numberformat.ts";

/**
 * Durations in milliseconds, counted in buckets: up to the first bound, to the second, …, above
 * the last.
 */
export interface Histogram {
  bounds: readonly number[];
  counts: readonly number[]; // one more than bounds
}

export function totalOf(h: Histogram): number {
  return h.counts.reduce((sum, n) => sum + n, 0);
}

/**
 * What a part of all durations stays below, as near as the buckets tell: between the bounds of its
 * bucket it is read off a line, as Prometheus does. above: it lies beyond the last bound, which is
 * all that is known. Undefined where nothing was counted.
 */
export function percentile(h: Histogram, part: number): { ms: number; above: boolean } | undefined {
  const wanted = part * totalOf(h);
  if (wanted <= 0) return undefined;
  let below = 0;
  for (const [i, bound] of h.bounds.entries()) {
    const n = h.counts[i] ?? 0;
    if (n > 0 && below + n >= wanted) {
      const from = h.bounds[i - 1] ?? 0;
      return { ms: from + ((bound - from) * (wanted - below)) / n, above: false };
    }
    below += n;
  }
  return { ms: h.bounds.at(-1) ?? 0, above: true };
}

/** The percentiles in a sentence; empty where nothing was counted. */
export function histogramWords(h: Histogram): string {
  const [half, most, nearlyAll] = [0.5, 0.95, 0.99].map((part) => {
    const at = percentile(h, part);
    if (at === undefined) return "";
    return at.above ? t("more than {time}", { time: duration(at.ms) }) : duration(at.ms);
  });
  if (half === undefined || most === undefined || nearlyAll === undefined || half === "") return "";
  return t(
    "Half of all tokens came within {half} of the one before, 95 % within {most}, 99 % within {nearlyAll}.",
    { half, most, nearlyAll },
  );
}

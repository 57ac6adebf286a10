// SPDX-License-Identifier: MIT

// Tries a schema's pattern on a text, if that cannot take long.
import { t } from "../language/language.ts";

const longestText = 1000; // characters
const mostRepeats = 3;
const mostSteps = 1e7; // that the browser's engine may need: each repeat can try every length, from every place

/**
 * What is wrong with a text that has to match a schema's pattern. A plugin can bring a pattern on
 * which the browser would work for years, so only those are tried that cannot take long; the host,
 * whose patterns always take linear time, checks the others.
 */
export function patternProblem(pattern: unknown, text: string): string | undefined {
  if (typeof pattern !== "string" || text.length > longestText) return undefined;
  if (!quick(pattern, text.length)) return undefined;
  try {
    if (new RegExp(pattern, "u").test(text)) return undefined;
  } catch {
    return undefined; // the host's syntax has what the browser's lacks
  }
  return t("It must match {pattern}", { pattern });
}

/**
 * Whether a pattern repeats few things, and no group, so that it takes no long time on a text of
 * this length.
 */
export function quick(pattern: string, length: number): boolean {
  const plain = pattern.replace(/\\./gs, "x").replace(/\[[^\]]*\]/g, "x");
  const repeats = plain.match(/[*+?]|\{\d/g)?.length ?? 0;
  return repeats <= mostRepeats && length ** (repeats + 1) <= mostSteps && !/\)[*+{]/.test(plain);
}

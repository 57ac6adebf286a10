// SPDX-License-Identifier: MIT

const longestText = 1000; // characters
const mostRepeats = 3;

/**
 * What is wrong with a text that has to match a schema's pattern. A plugin can bring a pattern on which the
 * browser would work for years, so only those are tried that cannot take long; the host, whose patterns always
 * take linear time, checks the others.
 */
export function patternProblem(pattern: unknown, text: string): string | undefined {
  if (typeof pattern !== "string" || text.length > longestText || !quick(pattern)) return undefined;
  try {
    if (new RegExp(pattern, "u").test(text)) return undefined;
  } catch {
    return undefined; // the host's syntax has what the browser's lacks
  }
  return `It must match ${pattern}`;
}

/** Whether a pattern repeats few things, and no group: then it takes no long time on a short text. */
export function quick(pattern: string): boolean {
  const plain = pattern.replace(/\\./gs, "x").replace(/\[[^\]]*\]/g, "x");
  const repeats = plain.match(/[*+?]|\{\d/g)?.length ?? 0;
  return repeats <= mostRepeats && !/\)[*+{]/.test(plain);
}

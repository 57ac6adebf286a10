// SPDX-License-Identifier: MIT

// Samples as tools/steadytest takes them in Go: others each day, and all in `make test-long`.

const day = new Date().toISOString().slice(0, 10).replaceAll("-", "");

/** Draws the same again where it is set. */
export const seed = process.env.PENSTOCK_TEST_SEED ?? day;

/** So many entries of all, or all of them in `make test-long`. */
export function some<T>(all: Record<string, T>, most: number): [string, T][] {
  const entries = Object.entries(all);
  if (process.env.PENSTOCK_TEST_LONG) return entries;
  const first = Number(seed) * most;
  return entries.filter((_, at) => (at + entries.length - (first % entries.length)) % entries.length < most);
}

// SPDX-License-Identifier: MIT

// Samples as tools/steadytest takes them in Go: others each day, and all in `make test-long`.

const today = new Date().toISOString().slice(0, 10).replaceAll("-", "");

/** Draws the same again where it is set. */
export const seed = Number(process.env.PENSTOCK_TEST_SEED || `${today}000000`);
if (!Number.isSafeInteger(seed * 100))
  throw new Error(`PENSTOCK_TEST_SEED is ${process.env.PENSTOCK_TEST_SEED}; it has to be a smaller number`);

/** Whether all is to be tried, as in `make test-long`. */
export const long = Boolean(process.env.PENSTOCK_TEST_LONG);

/** So many entries of all, by day one after the other, or all of them in `make test-long`. */
export function some<T>(all: Record<string, T>, most: number): [string, T][] {
  const entries = Object.entries(all);
  if (long) return entries;
  const day = Math.floor(seed / 1_000_000) + (seed % 1_000_000); // the next day's seed is a million higher
  const first = day * most;
  return entries.filter((_, at) => (at + entries.length - (first % entries.length)) % entries.length < most);
}

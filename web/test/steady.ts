// SPDX-License-Identifier: MIT

// Samples as tools/steadytest takes them in Go: others each day, and all in `make test-long`.

const today = new Date().toISOString().slice(0, 10).replaceAll("-", "");

/** Draws the same again where it is set. */
export const seed = Number(process.env.PENSTOCK_TEST_SEED || `${today}000000`);
if (!Number.isSafeInteger(seed * 100))
  throw new Error(`PENSTOCK_TEST_SEED is ${process.env.PENSTOCK_TEST_SEED}; it has to be a smaller number`);

/** So many entries of all, or all of them in `make test-long`. */
export function some<T>(all: Record<string, T>, most: number): [string, T][] {
  const entries = Object.entries(all);
  if (process.env.PENSTOCK_TEST_LONG) return entries;
  const first = seed * most;
  return entries.filter((_, at) => (at + entries.length - (first % entries.length)) % entries.length < most);
}

// SPDX-License-Identifier: MIT

// How long to wait before the next try to connect.

const first = 500; // milliseconds
const longest = 15_000;

/**
 * How long to wait before try number n (from 0): doubling, up to 15 s, less up to a quarter by
 * chance, so that a restarted host is not met by all its pages at once. chance is in [0, 1).
 */
export function backoff(n: number, chance = Math.random()): number {
  const full = Math.min(longest, first * 2 ** Math.min(n, 16));
  return Math.round(full * (1 - chance / 4));
}

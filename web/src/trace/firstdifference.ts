// SPDX-License-Identifier: MIT

// Where two answers begin to differ.
import type { Piece } from "./tokenitems.ts";

/**
 * Where two answers part: the place of the first token that is not the same; undefined if they are
 * the same to the end.
 */
export function firstDifference(a: readonly Piece[], b: readonly Piece[]): number | undefined {
  const shorter = Math.min(a.length, b.length);
  for (let i = 0; i < shorter; i++) {
    const [one, other] = [a[i], b[i]];
    if (one === undefined || other === undefined || !same(one, other)) return i;
  }
  return a.length === b.length ? undefined : shorter;
}

function same(a: Piece, b: Piece): boolean {
  return a.trace !== undefined && b.trace !== undefined ? a.trace.id === b.trace.id : a.text === b.text;
}

// SPDX-License-Identifier: MIT

// The list that the inspector shows: the tokens of an answer, and those that were taken back.
import type { TokenTrace } from "../host/protocol.ts";

/** One token of an answer, as it came. */
export interface Piece {
  text: string;
  trace?: TokenTrace;
}

/** Traces are kept for the first tokens of an answer: each takes about 3 KB. */
export const mostTraced = 5000;

/**
 * What the inspector shows in a row: the tokens of an answer, and before them those that were
 * taken back in their place.
 */
export interface TokenItem {
  text: string; // of the token
  place: number; // of the token among those of the answer, from 0
  trace?: TokenTrace;
  takenBy?: string; // it is not in the answer: who took it back
}

/** The items of pieces from the given one on. */
export function itemsOf(pieces: readonly Piece[], from = 0): TokenItem[] {
  const items: TokenItem[] = [];
  for (let place = from; place < pieces.length; place++) {
    const piece = pieces[place];
    if (piece === undefined) continue;
    const { text, trace } = piece;
    for (const back of trace?.taken_back ?? [])
      for (const { token, trace: own } of back.tokens)
        items.push({ text: token, place, takenBy: back.by, ...(own && { trace: own }) });
    items.push({ text: trace?.token ?? text, place, ...(trace && { trace }) });
  }
  return items;
}

/**
 * The items of an answer that grows, or of which tokens are taken back. Those that stay are the
 * same objects.
 */
export class GrowingItems {
  private pieces: readonly Piece[] = [];
  private items: readonly TokenItem[] = [];

  update(pieces: readonly Piece[]): readonly TokenItem[] {
    const known = this.pieces;
    let same = 0;
    while (same < known.length && known[same] === pieces[same]) same++;
    if (same === known.length && same === pieces.length) return this.items;
    const stay = same === known.length ? this.items : this.items.filter(({ place }) => place < same);
    this.pieces = pieces;
    this.items = [...stay, ...itemsOf(pieces, same)];
    return this.items;
  }
}

/** Where the token of a place stands among items; -1 if it is not there. */
export function itemAt(items: readonly TokenItem[], place: number): number {
  return items.findIndex((item) => item.place === place && item.takenBy === undefined);
}

/** The next of some places in a direction, which are in order; undefined if there is none. */
export function nextOf(places: readonly number[], from: number, step: 1 | -1): number | undefined {
  return step === 1 ? places.find((at) => at > from) : places.findLast((at) => at < from);
}

const block = { least: 100, most: 300 }; // items

/**
 * Where the blocks begin in which items are laid out: after a line break where there is one, or
 * else at a space, so that little is seen of them. What stands behind changes nothing in them.
 */
export function blockStarts(items: readonly TokenItem[]): number[] {
  const starts: number[] = [];
  let from = -block.most;
  items.forEach(({ text }, at) => {
    const length = at - from;
    const breaks = items[at - 1]?.text.endsWith("\n") || (length >= block.most / 2 && text.startsWith(" "));
    if (length < block.most && (length < block.least || !breaks)) return;
    starts.push(at);
    from = at;
  });
  return starts;
}

// SPDX-License-Identifier: MIT

// The tokens of the answer that is inspected, and the one in focus.
import { computed, effect, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { App } from "../../app.ts";
import type { BranchChange } from "../../host/protocol.ts";
import { GrowingItems, itemAt, nextOf, type Piece, type TokenItem } from "../../trace/tokenitems.ts";
import { meddlers, modelP } from "../../trace/tokentrace.ts";
import { useApp } from "../appcontext.ts";

/** The tokens of an answer as the inspector reads them, and the one in focus. */
export class AnswerReader {
  readonly pieces: Signal<readonly Piece[]> = signal([]);
  readonly changes: Signal<readonly BranchChange[]> = signal([]); // of a program's branches
  readonly state: Signal<"loading" | "none" | "ready"> = signal("loading");
  readonly at: Signal<number> = signal(0); // the item in focus
  private readonly growing = new GrowingItems();
  private chosen = false; // somebody has chosen the item in focus

  constructor(readonly id: string) {}

  readonly items: ReadonlySignal<readonly TokenItem[]> = computed(() =>
    this.growing.update(this.pieces.value),
  );

  readonly item: ReadonlySignal<TokenItem | undefined> = computed(() => this.items.value[this.at.value]);

  /** The items that a plugin or the reader had a hand in. */
  readonly touched: ReadonlySignal<readonly number[]> = computed(() =>
    this.items.value.flatMap((item, at) => (isChange(item) ? [at] : [])),
  );

  /** Takes what is known of the answer by now. */
  take(pieces: readonly Piece[], changes: readonly BranchChange[], running: boolean, first: number): void {
    this.pieces.value = pieces;
    if (changes.length !== this.changes.peek().length) this.changes.value = changes;
    const traced = pieces.some(({ trace }) => trace !== undefined);
    this.state.value = traced ? "ready" : running ? "loading" : "none";
    if (!this.chosen) this.begin(first);
  }

  focus(at: number): void {
    this.chosen = true;
    this.at.value = Math.max(0, Math.min(at, this.items.peek().length - 1));
  }

  /** Focuses the token of a place, if the answer goes so far. */
  focusPlace(place: number): void {
    const at = itemAt(this.items.peek(), place);
    if (at >= 0) this.focus(at);
  }

  toChange(step: 1 | -1): number | undefined {
    return nextOf(this.touched.value, this.at.value, step);
  }

  /**
   * Begins where a reader wants to look: at the first token that somebody changed, or else at the
   * most surprising one.
   */
  private begin(first: number): void {
    const items = this.items.peek();
    const touched = this.touched.peek();
    const instead = touched.find((at) => items[at]?.takenBy === undefined);
    const wanted = first > 0 ? itemAt(items, first) : (instead ?? surprising(items));
    this.at.value = Math.max(0, wanted);
  }
}

/** The token that the model found least likely. */
function surprising(items: readonly TokenItem[]): number {
  let [at, least] = [0, 1];
  items.forEach(({ trace, takenBy }, i) => {
    const p = takenBy === undefined && trace !== undefined ? modelP(trace) : undefined;
    if (p !== undefined && p < least) [at, least] = [i, p];
  });
  return at;
}

function isChange({ takenBy, trace }: TokenItem): boolean {
  return takenBy !== undefined || (trace !== undefined && meddlers(trace).length > 0);
}

/** Reads an answer: what is kept of it, and what comes while it runs, at most once a frame. */
export function useReader(id: string, first = 0): AnswerReader {
  const app = useApp();
  const reader = useMemo(() => new AnswerReader(id), [id]);
  const running = app.answers.running.value.has(id);
  useEffect(() => follow(app, reader, running, first), [app, reader, running, first]);
  return reader;
}

function follow(app: App, reader: AnswerReader, running: boolean, first: number): () => void {
  let gone = false;
  let asked = false;
  const read = async () => {
    asked = false;
    const [pieces, changes] = await Promise.all([
      app.traces.pieces(reader.id),
      app.traces.branches(reader.id),
    ]);
    if (!gone) reader.take([...pieces], [...changes], running, first);
  };
  void read();
  if (!running) return () => (gone = true);
  const stop = effect(() => {
    const { tree } = app.chats.current.value;
    if (tree.has(reader.id)) void tree.node(reader.id).value; // else another chat is shown, or it was deleted
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => void read());
  });
  return () => {
    gone = true;
    stop();
  };
}

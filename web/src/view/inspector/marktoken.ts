// SPDX-License-Identifier: MIT

// Marks the token in focus in the text of the chat.
import { useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { alignment, spanOf } from "../../trace/align.ts";
import type { Piece } from "../../trace/tokenitems.ts";
import { DrawnText, highlight, proseOf, whenRedrawn } from "../drawntext.ts";
import type { AnswerReader } from "./answerreader.ts";

const name = "inspected-token"; // of the highlight, for the style sheet

/**
 * Marks the token in focus in the text of the chat, where the browser can mark without changing
 * the page.
 */
export function useTokenMark(id: string, reader: AnswerReader): void {
  const places = useRef<DrawnTokens | undefined>(undefined);
  useSignalEffect(() => {
    const item = reader.item.value;
    const pieces = reader.pieces.peek();
    if (places.current?.pieces !== pieces) {
      places.current?.close();
      places.current = new DrawnTokens(id, pieces);
    }
    const there = item !== undefined && item.takenBy === undefined;
    highlight(name, there ? [places.current.range(item.place)] : []);
  });
  useEffect(
    () => () => {
      places.current?.close();
      highlight(name, []);
    },
    [],
  );
}

/** Where the tokens of an answer stand in its text. */
class DrawnTokens {
  private readonly ends: number[] = []; // of each token, in the source
  private readonly source: string;
  private text: { prose: Element; drawn: DrawnText; places: Int32Array } | undefined; // until it changes
  private stop = () => {};

  constructor(
    private readonly id: string,
    readonly pieces: readonly Piece[],
  ) {
    let length = 0;
    for (const { text } of pieces) {
      length += text.length;
      this.ends.push(length);
    }
    this.source = pieces.map(({ text }) => text).join("");
  }

  range(place: number): Range | undefined {
    if (!this.text?.prose.isConnected) this.read();
    if (this.text === undefined) return undefined;
    const { drawn, places } = this.text;
    const span = spanOf(places, this.ends[place - 1] ?? 0, this.ends[place] ?? 0);
    return span && drawn.range(span.from, span.to);
  }

  close(): void {
    this.stop();
  }

  private read(): void {
    this.stop();
    this.text = undefined;
    const [prose] = proseOf(this.id);
    if (prose === undefined) return;
    const drawn = new DrawnText([prose]);
    this.text = { prose, drawn, places: alignment(this.source, drawn.text) };
    this.stop = whenRedrawn([prose], () => (this.text = undefined));
  }
}

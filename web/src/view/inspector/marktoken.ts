// SPDX-License-Identifier: MIT

// Marks the token in focus in the text of the chat.
import { useSignalEffect } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { aligned } from "../../trace/align.ts";
import { DrawnText, highlight, proseOf } from "../drawntext.ts";
import type { AnswerReader } from "./answerreader.ts";

const name = "inspected-token"; // of the highlight, for the style sheet

/**
 * Marks the token in focus in the text of the chat, where the browser can mark without changing
 * the page.
 */
export function useTokenMark(id: string, reader: AnswerReader): void {
  useSignalEffect(() => {
    const item = reader.item.value;
    const prose = proseOf(id).slice(0, 1);
    if (item === undefined || item.takenBy !== undefined || prose.length === 0) return highlight(name, []);
    const pieces = reader.pieces.peek();
    const before = pieces.slice(0, item.place).reduce((length, { text }) => length + text.length, 0);
    const source = pieces.map(({ text }) => text).join("");
    const drawn = new DrawnText(prose);
    const span = aligned(source, drawn.text, before, before + (pieces[item.place]?.text.length ?? 0));
    highlight(name, span === undefined ? [] : [drawn.range(span.from, span.to)]);
  });
  useEffect(() => () => highlight(name, []), []);
}

// SPDX-License-Identifier: MIT

// Marks the token in focus in the text of the chat.
import { useSignalEffect } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { aligned } from "../../trace/align.ts";
import type { Piece } from "../../trace/tokenitems.ts";
import type { AnswerReader } from "./answerreader.ts";

const name = "inspected-token"; // of the highlight, for the style sheet

/**
 * Marks the token in focus in the text of the chat, where the browser can mark without changing
 * the page.
 */
export function useTokenMark(id: string, reader: AnswerReader): void {
  useSignalEffect(() => {
    const item = reader.item.value;
    if (!("highlights" in CSS)) return;
    CSS.highlights.delete(name);
    const prose = document.querySelector(`[data-message="${CSS.escape(id)}"] .prose`);
    if (item === undefined || item.takenBy !== undefined || prose === null) return;
    const range = rangeOf(prose, reader.pieces.peek(), item.place);
    if (range !== undefined) CSS.highlights.set(name, new Highlight(range));
  });
  useEffect(() => () => void ("highlights" in CSS && CSS.highlights.delete(name)), []);
}

/** Where the token of a place stands in the text that is drawn. */
function rangeOf(prose: Element, pieces: readonly Piece[], place: number): Range | undefined {
  const nodes: { node: Node; from: number }[] = [];
  let drawn = "";
  const walker = document.createTreeWalker(prose, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    nodes.push({ node, from: drawn.length });
    drawn += node.nodeValue ?? "";
  }
  const before = pieces.slice(0, place).reduce((length, { text }) => length + text.length, 0);
  const source = pieces.map(({ text }) => text).join("");
  const span = aligned(source, drawn, before, before + (pieces[place]?.text.length ?? 0));
  if (span === undefined) return undefined;
  const range = document.createRange();
  const at = (offset: number) => {
    const found = nodes.findLast(({ from }) => from <= offset);
    return [found?.node ?? prose, offset - (found?.from ?? 0)] as const;
  };
  range.setStart(...at(span.from));
  const [node, last] = at(span.to - 1);
  range.setEnd(node, last + 1);
  return range;
}

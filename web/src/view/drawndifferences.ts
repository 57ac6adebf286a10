// SPDX-License-Identifier: MIT

// Marks in the text of the chat what differs between versions of an answer.
import { differingWords } from "../text/differingwords.ts";
import { DrawnText, highlight, proseOf, whenRedrawn } from "./drawntext.ts";

const name = "differs"; // of the highlight, for the style sheet

/** Marks the words that differ between messages, as they are drawn, until the result is called. */
export function markDifferences(messages: readonly string[]): () => void {
  const stop = whenRedrawn(
    messages.flatMap((message) => proseOf(message)),
    () => mark(messages),
  );
  mark(messages);
  return () => {
    stop();
    highlight(name, []);
  };
}

function mark(messages: readonly string[]): void {
  const drawn = messages.map((message) => new DrawnText(proseOf(message).slice(-1)));
  const words = drawn.map(({ text }) => [...text.matchAll(/\S+/g)]);
  const differ = differingWords(words.map((list) => list.map(([word]) => word)));
  const ranges = drawn.flatMap((text, i) =>
    (words[i] ?? []).map(({ 0: word, index }, at) =>
      differ[i]?.[at] ? text.range(index, index + word.length) : undefined,
    ),
  );
  highlight(name, ranges);
}

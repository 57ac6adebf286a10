// SPDX-License-Identifier: MIT

// Marks in the text of the chat what differs between versions of an answer.
import { differingWords } from "../text/differingwords.ts";
import { DrawnText, highlight, proseOf } from "./drawntext.ts";

const name = "differs"; // of the highlight, for the style sheet

/** The marks of words that differ, which follow the text while it is drawn. */
export class DrawnDifferences {
  private readonly redraw = new MutationObserver(() => this.mark());

  /** Marks what differs between these messages until it is ended. */
  constructor(private readonly messages: readonly string[]) {
    for (const message of messages)
      for (const prose of proseOf(message))
        this.redraw.observe(prose, { childList: true, characterData: true, subtree: true });
    this.mark();
  }

  end(): void {
    this.redraw.disconnect();
    highlight(name, []);
  }

  private mark(): void {
    const drawn = this.messages.map((message) => new DrawnText(proseOf(message).slice(-1)));
    const words = drawn.map(({ text }) => [...text.matchAll(/\S+/g)]);
    const differ = differingWords(words.map((list) => list.map(([word]) => word)));
    const ranges = drawn.flatMap((text, i) =>
      (words[i] ?? []).map(({ 0: word, index }, at) =>
        differ[i]?.[at] ? text.range(index, index + word.length) : undefined,
      ),
    );
    highlight(name, ranges);
  }
}

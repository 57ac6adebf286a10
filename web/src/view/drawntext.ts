// SPDX-License-Identifier: MIT

// The text that is drawn within elements, and where parts of it stand.

/** The text that is drawn within elements, as it is when this is made. */
export class DrawnText {
  readonly text: string;
  private readonly nodes: { node: Node; from: number }[] = [];

  constructor(elements: Iterable<Element>) {
    let text = "";
    for (const element of elements) {
      const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
        this.nodes.push({ node, from: text.length });
        text += node.nodeValue ?? "";
      }
    }
    this.text = text;
  }

  /** A part of the text, for a highlight; undefined if it is empty. */
  range(from: number, to: number): Range | undefined {
    const [first, last] = [this.at(from), this.at(to - 1)];
    if (to <= from || first === undefined || last === undefined) return undefined;
    const range = document.createRange();
    range.setStart(first.node, from - first.from);
    range.setEnd(last.node, to - last.from);
    return range;
  }

  /** Where in the text a place of the page is, as a caret's; −1: in none of the elements. */
  offsetOf(node: Node, offset: number): number {
    const found = this.nodes.find((entry) => entry.node === node);
    return found === undefined ? -1 : found.from + offset;
  }

  private at(offset: number): { node: Node; from: number } | undefined {
    let [low, high] = [0, this.nodes.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.nodes[middle]?.from ?? 0) <= offset) low = middle + 1;
      else high = middle;
    }
    return this.nodes[low - 1];
  }
}

/** The texts of a message that are drawn: of its reasoning, and of the answer. */
export function proseOf(message: string): Element[] {
  return [...document.querySelectorAll(`[data-message="${CSS.escape(message)}"] .prose`)];
}

/** Calls changed when something within elements is drawn anew, until the result is called. */
export function whenRedrawn(elements: Iterable<Element>, changed: () => void): () => void {
  const observer = new MutationObserver(changed);
  for (const element of elements)
    observer.observe(element, { childList: true, characterData: true, subtree: true });
  return () => observer.disconnect();
}

/** Marks parts of the page under a name of the style sheet, or marks nothing any more. */
export function highlight(name: string, ranges: readonly (Range | undefined)[]): void {
  if (!("highlights" in CSS)) return; // a browser before 2025
  const there = ranges.filter((range) => range !== undefined);
  const marks = new Highlight();
  for (const range of there) marks.add(range); // they may be more than a call has room for
  if (there.length === 0) CSS.highlights.delete(name);
  else CSS.highlights.set(name, marks);
}

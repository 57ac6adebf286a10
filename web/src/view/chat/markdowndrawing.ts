// SPDX-License-Identifier: MIT

// Draws Markdown on the page bit by bit, and only what has changed.
import { type FinalPart, GrowingMarkdown, type Growth, type Links } from "../../text/growingmarkdown.ts";
import { endlessWord, hasEndlessWord } from "../../text/longwords.ts";
import { CodeBlock, colourCode } from "./codeblock.ts";
import { typesetFormulas } from "./formulas.ts";
import { nodesOf } from "./htmlnodes.ts";

const slice = 4_096; // characters between two looks at the clock
const budget = 8; // milliseconds of one call

/** What of a text in Markdown is on the page. A long one is drawn bit by bit. */
export class MarkdownDrawing {
  private markdown = new GrowingMarkdown();
  private drawn = ""; // what of the text was read
  private ended = false;
  private again = false; // the text is read a second time, with the links that it defines
  private tail: ChildNode[] = [];
  private code: CodeBlock | undefined; // that grows
  private page: HTMLElement; // where the text is drawn: element, or one that takes its place once it is whole

  constructor(private readonly element: HTMLElement) {
    this.page = element;
    element.replaceChildren();
  }

  /** Goes on for a short time; whether all is drawn. done: the text grows no more. */
  draw(text: string, done: boolean): boolean {
    if (!text.startsWith(this.drawn) || (this.ended && text !== this.drawn)) this.restart();
    const end = performance.now() + budget;
    let growth: Growth | undefined;
    while ((this.drawn.length < text.length || (done && !this.ended)) && performance.now() < end) {
      const from = Math.max(0, this.drawn.length - endlessWord);
      this.drawn = text.slice(0, this.drawn.length + slice);
      if (hasEndlessWord(this.drawn.slice(from))) this.element.dataset.endless = "";
      this.ended = done && this.drawn.length === text.length;
      growth = this.markdown.grow(this.drawn, this.ended);
      if (growth.settled.length > 0) this.erase();
      for (const part of growth.settled) this.settle(part);
    }
    if (growth !== undefined) this.drawTail(growth);
    const whole = this.drawn.length === text.length && this.ended === done;
    if (whole) this.show();
    if (!done || !whole) void this.element.offsetHeight; // laid out now: the caller is to know what it costs
    return whole && !this.readAgain();
  }

  private settle(part: FinalPart): void {
    switch (part.kind) {
      case "block": {
        const nodes = nodesOf(part.html);
        colourCode(nodes);
        typesetFormulas(nodes);
        this.page.append(nodes);
        break;
      }
      case "more":
        this.goOn(part.html);
        break;
      case "code":
        this.code ??= new CodeBlock(this.page.lastElementChild as HTMLElement);
        this.code.append(part.text);
        break;
      case "end":
        this.code?.end();
        this.code = undefined;
    }
  }

  /** Adds the items or rows of html to the last list or table. */
  private goOn(html: string): ChildNode[] {
    const nodes = nodesOf(html);
    colourCode(nodes);
    typesetFormulas(nodes);
    const inner = (last: Element | null) => (last?.matches(".table") ? last.querySelector("tbody") : last);
    const added = [...(inner(nodes.lastElementChild)?.childNodes ?? [])];
    inner(this.page.lastElementChild)?.append(...added);
    return added;
  }

  private drawTail({ tail, joins }: Growth): void {
    this.erase();
    if (tail === "") return;
    if (joins) {
      this.tail = this.goOn(tail);
      return;
    }
    const nodes = nodesOf(tail);
    typesetFormulas(nodes);
    this.tail = [...nodes.childNodes];
    this.page.append(nodes);
  }

  private erase(): void {
    for (const node of this.tail) node.remove();
    this.tail = [];
  }

  private show(): void {
    if (this.page === this.element) return;
    this.element.replaceChildren(...this.page.childNodes);
    this.page = this.element;
    typesetFormulas(this.element); // those that waited for a place on the page
  }

  /**
   * Begins to read the text again if it defines links, as they may stand before their definitions.
   */
  private readAgain(): boolean {
    const { links } = this.markdown;
    if (!this.ended || this.again || Object.keys(links).length === 0) return false;
    this.restart(links);
    this.again = true;
    return true;
  }

  /** Begins anew. What is on the page stays until that is as long. */
  private restart(links: Links = {}): void {
    this.page = document.createElement("div");
    this.markdown = new GrowingMarkdown(links);
    this.drawn = "";
    this.ended = false;
    this.again = false;
    this.tail = [];
    this.code = undefined;
  }
}

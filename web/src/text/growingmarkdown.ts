// SPDX-License-Identifier: MIT

// Draws Markdown while it grows: which part is final, and which may still change.
import type { Token } from "markdown-it";
import { largeCut, paragraphCut } from "./blockcut.ts";
import { OpenFence, opener } from "./codefence.ts";
import { codeHTML, languageOf, markdown } from "./markdown.ts";

/** What becomes final of a text. */
export type FinalPart =
  | { kind: "block"; html: string } // one or more blocks
  | { kind: "more"; html: string } // a list or a table whose items or rows go on with the last one
  | { kind: "code"; text: string } // goes on with the code of the last block
  | { kind: "end" }; // of that code

/**
 * What a longer text adds to the page: what will not change any more, and the end, which still
 * may.
 */
export interface Growth {
  settled: FinalPart[];
  tail: string; // HTML
  joins: boolean; // the tail goes on with the last list or table, as Part's "more" does
}

/** What the links [like this] refer to, by name. */
export type Links = Record<string, { href: string; title: string }>;

/** A list or table that is settled but for its last item or row. */
interface Container {
  type: string;
  markup: string;
  head: string; // of a table: its first two lines
  number: number; // of a list's next item, or how many rows a table has
}

const large = 8_000; // characters of a block that is settled in parts
const largest = 32_000; // characters of one that is cut, whatever it is
const deepest = 50; // levels; markdown-it gives up at 100
const tableRows = 300; // then the table begins anew, as the browser lays out a table as a whole

/**
 * Renders a text that grows at its end. A block of Markdown is final once a complete line of the
 * next one is there, so each step parses only what follows the last final block. Of blocks without
 * an end the parts are final one by one: the lines of code, the items of a list, the rows of a
 * table.
 */
export class GrowingMarkdown {
  private offset = 0; // where begins what is not final
  private fence: OpenFence | undefined;
  private container: Container | undefined;

  /** links are known from the beginning; those that the text defines come to them. */
  constructor(private known: Links = {}) {}

  get links(): Links {
    return this.known;
  }

  /**
   * text is the whole text so far and starts with the one of the call before. done: it grows no
   * more.
   */
  grow(text: string, done = false): Growth {
    const all = text.replaceAll("\r", "");
    const settled: FinalPart[] = [];
    for (;;) {
      if (this.fence !== undefined && !this.growCode(this.fence, all, done, settled)) {
        return { settled, tail: "", joins: false };
      }
      const tail = this.growBlocks(all, done, settled);
      if (tail !== undefined) return { settled, ...tail };
    }
  }

  /** Whether the code has ended, and something else may follow. */
  private growCode(fence: OpenFence, all: string, done: boolean, settled: FinalPart[]): boolean {
    const { code, offset, ended } = fence.take(all, this.offset, done);
    this.offset = offset;
    if (code !== "") settled.push({ kind: "code", text: code });
    if (!ended) return false;
    this.fence = undefined;
    settled.push({ kind: "end" });
    return true;
  }

  /** The tail; undefined if there is more to be settled. */
  private growBlocks(all: string, done: boolean, settled: FinalPart[]): Omit<Growth, "settled"> | undefined {
    const step = new Step(all.slice(this.offset), done, this.known, this.container);
    const last = step.lastOf(step.blocks, done);
    if (last > 0) {
      settled.push(...step.parts(0, last));
      this.advance(step, step.begin(last));
      return undefined;
    }
    if (this.openFence(step, settled)) return undefined;
    if (step.length > large && this.split(step, settled)) return undefined;
    if (!done) return { tail: step.html, joins: step.joins };
    if (step.tokens.length > 0) settled.push(...step.parts(0, step.tokens.length));
    this.advance(step, step.source.length);
    return { tail: "", joins: false };
  }

  private openFence(step: Step, settled: FinalPart[]): boolean {
    const end = step.source.indexOf("\n", step.begin(0));
    if (step.tokens[0]?.type !== "fence" || end < 0) return false;
    const begin = opener(step.source.slice(step.begin(0), end));
    if (begin === undefined) return false;
    settled.push({ kind: "block", html: codeHTML(languageOf(begin.info), "") });
    this.advance(step, end + 1);
    this.fence = new OpenFence(begin);
    return true;
  }

  /** Settles a part of a large block. */
  private split(step: Step, settled: FinalPart[]): boolean {
    const first = step.tokens[0];
    if (first?.type === "table_open" && this.splitTable(step, first, settled)) return true;
    if (/^(bullet|ordered)_list_open$/.test(first?.type ?? "") && this.splitList(step, settled)) return true;
    const plain = first?.type === "paragraph_open";
    if (!plain && step.length - step.head <= largest) return false;
    const open = step.source.slice(step.head);
    const cut = step.head + (plain ? paragraphCut(open, large) : largeCut(open, largest));
    const piece = new Step(step.source.slice(step.head, cut), true, this.known, this.container);
    if (plain) piece.tokens[0]?.attrJoin("class", "goes-on");
    settled.push(...piece.parts(0, piece.tokens.length));
    this.advance(step, cut);
    return true;
  }

  private splitList(step: Step, settled: FinalPart[]): boolean {
    const [list] = step.tokens;
    const items = step.indexes("list_item_open", 1);
    const last = step.lastOf(items);
    if (list === undefined || last <= (items[0] ?? 0)) return false;
    settled.push(...step.parts(0, last, step.closing(1)));
    const number = Number(list.attrGet("start") ?? 1) + items.indexOf(last);
    this.advance(step, step.begin(last), { type: list.type, markup: list.markup, head: "", number });
    return true;
  }

  private splitTable(step: Step, table: Token, settled: FinalPart[]): boolean {
    const rows = step.indexes("tr_open", 2);
    const last = step.lastOf(rows);
    if (last <= (rows[0] ?? 0)) return false;
    settled.push(...step.parts(0, last, step.closing(2)));
    const number = (step.joins ? (this.container?.number ?? 0) : 0) + rows.indexOf(last);
    const head = step.source.slice(0, step.lineStart(2));
    this.advance(step, step.begin(last), {
      type: table.type,
      markup: "",
      head,
      number: number < tableRows ? number : 0,
    });
    return true;
  }

  private advance(step: Step, cut: number, container?: Container): void {
    this.offset += cut - step.head;
    this.known = step.definedBefore(cut);
    this.container = container;
  }
}

/** One parse of what is not final yet. */
class Step {
  readonly source: string; // with the head of the table that it goes on with
  readonly head: number; // the length of that
  readonly tokens: Token[];
  readonly joins: boolean; // its first block goes on with the last one
  private readonly env: { references: Links; open: boolean };

  constructor(
    open: string,
    done: boolean,
    private readonly known: Links,
    container: Container | undefined,
  ) {
    this.source = (container?.head ?? "") + open;
    this.head = container?.head.length ?? 0;
    this.env = { references: Object.create(known), open: !done };
    this.tokens = shallow(markdown.parse(this.source, this.env), this.source);
    const first = this.tokens[0];
    const same = first !== undefined && first.type === container?.type && first.markup === container.markup;
    const numbered = same && first.type === "ordered_list_open";
    if (numbered) first.attrSet("start", String(container.number));
    this.joins = same && (first.type !== "table_open" || container.number > 0);
  }

  get length(): number {
    return this.source.length;
  }

  /** The tokens where its blocks begin. */
  get blocks(): number[] {
    return this.tokens.flatMap((token, at) => (isBlock(token) ? [at] : []));
  }

  /**
   * The last of these tokens of which a whole line is there, so that what is before it is final; 0
   * if there is none.
   */
  lastOf(tokens: number[], done = false): number {
    return tokens.findLast((token) => done || this.source.includes("\n", this.begin(token))) ?? 0;
  }

  get html(): string {
    return this.render(this.tokens);
  }

  /** The tokens from one to another, and those that close what is open then. */
  parts(from: number, to: number, closing: Token[] = []): FinalPart[] {
    const tokens = [...this.tokens.slice(from, to), ...closing];
    if (!this.joins || from > 0) return [{ kind: "block", html: this.render(tokens) }];
    const second = tokens.findIndex((token, at) => at > 0 && isBlock(token));
    const end = second < 0 ? tokens.length : second;
    const parts: FinalPart[] = [{ kind: "more", html: this.render(tokens.slice(0, end)) }];
    if (end < tokens.length) parts.push({ kind: "block", html: this.render(tokens.slice(end)) });
    return parts;
  }

  /** The tokens that end the first block, of which so many are open. */
  closing(open: number): Token[] {
    const end = this.blocks[1] ?? this.tokens.length;
    return this.tokens.slice(end - open, end);
  }

  /** Where in the source the block, the item or the row of a token begins. */
  begin(token: number): number {
    return this.lineStart(this.tokens[token]?.map?.[0] ?? 0);
  }

  indexes(type: string, level: number): number[] {
    return this.tokens.flatMap((token, at) => (token.type === type && token.level === level ? [at] : []));
  }

  lineStart(line: number): number {
    let at = 0;
    for (let left = line; left > 0; left--) at = this.source.indexOf("\n", at) + 1;
    return at;
  }

  /** The links that are known and those that the source defines before cut. */
  definedBefore(cut: number): Links {
    if (Object.keys(this.env.references).length === 0) return this.known;
    const env = { references: { ...this.known } };
    markdown.parse(this.source.slice(0, cut), env);
    return env.references;
  }

  private render(tokens: Token[]): string {
    return markdown.renderer.render(tokens, markdown.options, this.env);
  }
}

function isBlock(token: Token): boolean {
  return token.level === 0 && token.nesting >= 0 && token.map !== null;
}

/**
 * Quotes within quotes without an end are shown as they are written: markdown-it would leave out
 * the innermost.
 */
function shallow(tokens: Token[], source: string): Token[] {
  if (tokens.every(({ level }) => level < deepest)) return tokens;
  const [plain] = markdown.parse("    code", {});
  if (plain !== undefined) plain.content = source;
  return plain === undefined ? [] : [plain];
}

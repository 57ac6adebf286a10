// SPDX-License-Identifier: MIT

// Draws a block of code, with colours, while it grows.
import { visibleHTML } from "../../text/bidi.ts";
import { knownLanguage } from "../../text/languages.ts";
import { nodesOf } from "./htmlnodes.ts";

type Highlighter = typeof import("../../text/highlight.ts");

const live = 6_000; // characters of code that are coloured while it grows
const longest = 60_000; // characters of code that are coloured at all
const linesTogether = 40; // the browser lays out a group of lines as a whole

let highlighter: Highlighter | undefined;
let loading: Promise<Highlighter> | undefined;

async function load(): Promise<Highlighter> {
  loading ??= import("../../text/highlight.ts");
  highlighter = await loading;
  return highlighter;
}

/** A block of code on the page, which may still grow. */
export class CodeBlock {
  private readonly code: Element;
  private readonly language: string | undefined;
  private text: string;
  private group: HTMLElement | undefined; // of lines without colours
  private lines = 0; // in the group

  /** element is the block with its head. */
  constructor(element: HTMLElement) {
    this.code = element.querySelector("code") ?? element;
    this.text = this.code.textContent ?? "";
    this.language = knownLanguage(element.dataset.language ?? "");
    if (this.language !== undefined) load().catch(() => {}); // without colours it can be read as well
  }

  append(text: string): void {
    this.text += text;
    if (this.language !== undefined && highlighter !== undefined && this.text.length <= live) {
      this.colour(highlighter, this.language);
    } else {
      for (const line of text.match(/[^\n]*\n|[^\n]+/g) ?? []) this.appendLine(line);
    }
  }

  /** It grows no more. */
  end(): void {
    const { language } = this;
    if (language === undefined || this.text === "" || this.text.length > longest) return;
    if (highlighter !== undefined) this.colour(highlighter, language);
    else
      load()
        .then((loaded) => this.colour(loaded, language))
        .catch(() => {});
  }

  private appendLine(line: string): void {
    if (this.group === undefined || this.lines >= linesTogether) {
      this.group = document.createElement("span");
      this.group.className = "lines";
      this.code.append(this.group);
      this.lines = 0;
    }
    this.group.append(nodesOf(visibleHTML(escapeHTML(line))));
    if (line.endsWith("\n")) this.lines++;
  }

  private colour({ highlight }: Highlighter, language: string): void {
    this.code.replaceChildren(nodesOf(highlight(this.text, language)));
    this.group = undefined;
  }
}

function escapeHTML(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** Colours the blocks of code that are whole. */
export function colourCode(root: ParentNode): void {
  for (const element of root.querySelectorAll<HTMLElement>(".code")) new CodeBlock(element).end();
}

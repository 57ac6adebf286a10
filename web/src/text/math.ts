// SPDX-License-Identifier: MIT

// Markdown rules for formulas.
import type MarkdownIt from "markdown-it";
import type { StateBlock, StateInline } from "markdown-it";

const longest = 4000; // characters of one formula; what is longer is none, so that no search goes far

/**
 * What a parse is told: open says that the text may still grow, so that a formula that has begun
 * may end later.
 */
export interface MathEnv {
  open?: boolean;
}

/** Adds the formulas of LaTeX to Markdown: $…$, $$…$$, \(…\) and \[…\]. */
export function math(markdown: MarkdownIt): void {
  markdown.inline.ruler.before("escape", "math", inline);
  markdown.block.ruler.before("fence", "math", block, { alt: ["paragraph", "blockquote", "list"] });
  const { escapeHtml } = markdown.utils;
  markdown.renderer.rules.math_inline = (tokens, index) => {
    const { content = "", info } = tokens[index] ?? {};
    const keys = info === "display" ? ' tabindex="0"' : ""; // it scrolls where it is wide, also by keys
    return `<span class="math" data-kind="${info}"${keys}>${escapeHtml(content)}</span>`;
  };
  markdown.renderer.rules.math_block = (tokens, index) => {
    const { content = "" } = tokens[index] ?? {};
    return `<p class="math" data-kind="display" tabindex="0">${escapeHtml(content)}</p>\n`;
  };
  markdown.renderer.rules.math_open = (tokens, index) =>
    `<p>${escapeHtml(tokens[index]?.content ?? "")}</p>\n`;
}

const pairs = [
  ["$$", "$$", "display"],
  ["\\[", "\\]", "display"],
  ["\\(", "\\)", "inline"],
  ["$", "$", "inline"],
] as const;

function inline(state: StateInline, silent: boolean): boolean {
  const { src, pos } = state;
  const pair = pairs.find(([opener]) => src.startsWith(opener, pos));
  if (pair === undefined) return false;
  const [opener, closer, kind] = pair;
  const from = pos + opener.length;
  const end = opener === "$" ? closingDollar(src, from) : within(src, closer, from);
  const content = src.slice(from, end);
  if (end < 0 || content.trim() === "") return false;
  if (!silent) {
    const token = state.push("math_inline", "", 0);
    token.content = content.trim();
    token.info = kind;
  }
  state.pos = end + closer.length;
  return true;
}

function within(src: string, closer: string, from: number): number {
  const at = src.slice(from, from + longest).indexOf(closer);
  return at < 0 ? -1 : from + at;
}

/**
 * Where a formula after a dollar ends, or -1. A dollar is also the sign of a currency: a formula
 * neither begins nor ends with a space, no digit follows it, and "5 dollars or" is none.
 */
function closingDollar(src: string, from: number): number {
  if (/[\s$]/.test(src[from] ?? " ") || /\w/.test(src[from - 2] ?? "")) return -1;
  const limit = Math.min(src.length, from + longest);
  let at = from;
  while (at < limit && src[at] !== "$") at += src[at] === "\\" ? 2 : 1;
  const content = src.slice(from, at);
  if (at >= limit || /\s$|\n\n/.test(content) || /\d/.test(src[at + 1] ?? "")) return -1;
  const price = /^[\d.,]+([–-]|\s+[a-z]{2,}|\s*,\s)/i.test(content) && !content.includes("\\");
  return price ? -1 : at;
}

/** Environments of LaTeX that stand on lines of their own, and that KaTeX knows. */
const environment =
  /^\\begin\{((?:align|alignat|equation|gather|cases|rcases|split|array|CD|[bBpvV]?matrix|smallmatrix|aligned|gathered)\*?)\}/;

/**
 * What begins a formula on lines of its own, and what ends it; an environment is a part of its
 * formula.
 */
function display(src: string, from: number): { opener: string; closer: string; whole: boolean } | undefined {
  if (src.startsWith("$$", from)) return { opener: "$$", closer: "$$", whole: false };
  if (src.startsWith("\\[", from)) return { opener: "\\[", closer: "\\]", whole: false };
  const found = environment.exec(src.slice(from, from + 40));
  return found === null ? undefined : { opener: found[0], closer: `\\end{${found[1]}}`, whole: true };
}

/**
 * A formula on lines of its own. One that has not ended yet in a text that grows stays one block
 * until it does.
 */
function block(state: StateBlock, start: number, end: number, silent: boolean): boolean {
  if ((state.sCount[start] ?? 0) - state.blkIndent >= 4) return false; // that is code
  const from = (state.bMarks[start] ?? 0) + (state.tShift[start] ?? 0);
  const pair = display(state.src, from);
  if (pair === undefined) return false;
  const { opener, closer, whole } = pair;
  let text = state.src.slice(from + opener.length, state.eMarks[start]);
  let next = start + 1;
  while (!text.includes(closer) && next < end && text.length < longest) {
    text += `\n${state.getLines(next, next + 1, state.blkIndent, false)}`;
    next++;
  }
  const [content = "", after] = text.split(closer, 2);
  const open = after === undefined && text.length < longest && (state.env as MathEnv).open === true;
  if (!open && (after === undefined || after.trim() !== "" || content.trim() === "")) return false;
  if (silent) return true;
  const token = state.push(open ? "math_open" : "math_block", "", 0);
  token.content = open ? opener + text : whole ? opener + content + closer : content.trim();
  token.map = [start, next];
  state.line = next;
  return true;
}

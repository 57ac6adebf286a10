// SPDX-License-Identifier: MIT

// Markdown rules for the few HTML tags that models write and that can do no harm.
import type MarkdownIt from "markdown-it";
import type { StateBlock, StateInline } from "markdown-it";
import { t } from "../language/language.ts";

const longest = 500; // characters between a tag and the one that ends it, so that no search goes far

/**
 * Draws <br>, and <sub>, <sup> and <kbd> around a few words, and <details> with its <summary> on
 * lines of their own: without attributes only. All other tags stay as they are written.
 */
export function harmlessTags(markdown: MarkdownIt): void {
  markdown.inline.ruler.before("autolink", "harmless", inline);
  markdown.block.ruler.before("fence", "details", block, { alt: ["paragraph", "blockquote", "list"] });
}

const tag = /<(?:br ?\/?|(sub|sup|kbd))>/iy;

function inline(state: StateInline, silent: boolean): boolean {
  const { src, pos, posMax } = state;
  tag.lastIndex = pos;
  const found = tag.exec(src);
  if (found === null) return false;
  const from = pos + found[0].length;
  const name = found[1]?.toLowerCase();
  if (name === undefined) {
    if (!silent) state.push("hardbreak", "br", 0);
    state.pos = from;
    return true;
  }
  const closing = `</${name}>`;
  const at = src
    .slice(from, Math.min(posMax, from + longest))
    .toLowerCase()
    .indexOf(closing);
  if (at < 0) return false;
  if (!silent) {
    state.push(`${name}_open`, name, 1);
    state.pos = from;
    state.posMax = from + at;
    state.md.inline.tokenize(state);
    state.posMax = posMax;
    state.push(`${name}_close`, name, -1);
  }
  state.pos = from + at + closing.length;
  return true;
}

const opening = /^<details(?: open)?>(?:\s*<summary>(.*?)<\/summary>)?\s*$/i;
const summary = /^<summary>(.*?)<\/summary>\s*$/i;

/** A part that is folded away. One that does not end reaches to the end of what is around it. */
function block(state: StateBlock, start: number, end: number, silent: boolean): boolean {
  if ((state.sCount[start] ?? 0) - state.blkIndent >= 4) return false; // that is code
  const line = (at: number) =>
    state.src.slice((state.bMarks[at] ?? 0) + (state.tShift[at] ?? 0), state.eMarks[at]).trim();
  const found = opening.exec(line(start));
  if (found === null) return false;
  if (silent) return true;
  const own = found[1] ?? (start + 1 < end ? summary.exec(line(start + 1))?.[1] : undefined);
  const from = found[1] === undefined && own !== undefined ? start + 2 : start + 1;
  let to = from;
  for (let deep = 1; to < end; to++) {
    if (opening.test(line(to))) deep++;
    else if (/^<\/details>$/i.test(line(to))) deep--;
    if (deep === 0) break;
  }
  state.push("details_open", "details", 1).map = [start, Math.min(end, to + 1)];
  state.push("summary_open", "summary", 1);
  const words = state.push("inline", "", 0);
  words.content = own ?? t("Details");
  words.map = [start, from];
  words.children = [];
  state.push("summary_close", "summary", -1);
  const { lineMax } = state;
  state.lineMax = to;
  state.md.block.tokenize(state, from, to);
  state.lineMax = lineMax;
  state.push("details_close", "details", -1);
  state.line = Math.min(end, to + 1);
  return true;
}

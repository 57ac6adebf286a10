// SPDX-License-Identifier: MIT

// Markdown rules for footnotes.
import type MarkdownIt from "markdown-it";
import type { StateBlock, StateInline } from "markdown-it";
import { t } from "../language/language.ts";

const reference = /^\[\^([^\]\s^]{1,30})\]/;
const definition = /^\[\^([^\]\s^]{1,30})\]:[ \t]*/;

/**
 * Adds footnotes to Markdown: [^1], and where its line begins with it, [^1]: its text. Notes stay
 * where they are written.
 */
export function footnotes(markdown: MarkdownIt): void {
  const { escapeHtml } = markdown.utils;
  markdown.inline.ruler.before("link", "footnote", inline);
  markdown.block.ruler.before("reference", "footnote", block, { alt: ["paragraph"] });
  markdown.renderer.rules.footnote = (tokens, index) => {
    const { content = "" } = tokens[index] ?? {};
    const name = escapeHtml(content);
    const label = escapeHtml(t("Footnote {name}", { name: content }));
    return `<button type="button" class="note" data-note="${name}" aria-label="${label}">${name}</button>`;
  };
}

function inline(state: StateInline, silent: boolean): boolean {
  const found = reference.exec(state.src.slice(state.pos, state.pos + 40));
  if (found === null) return false;
  if (!silent) state.push("footnote", "", 0).content = found[1] ?? "";
  state.pos += found[0].length;
  return true;
}

/** A note reaches to the next empty line or the next note. */
function block(state: StateBlock, start: number, end: number, silent: boolean): boolean {
  if ((state.sCount[start] ?? 0) - state.blkIndent >= 4) return false; // that is code
  const line = (at: number) =>
    state.src.slice((state.bMarks[at] ?? 0) + (state.tShift[at] ?? 0), state.eMarks[at]);
  const found = definition.exec(line(start));
  if (found === null) return false;
  if (silent) return true;
  let next = start + 1;
  const text = [line(start).slice(found[0].length)];
  while (next < end && !state.isEmpty(next) && !definition.test(line(next))) text.push(line(next++));
  const open = state.push("paragraph_open", "p", 1);
  open.attrSet("class", "footnote");
  open.attrSet("data-note", found[1] ?? "");
  open.map = [start, next];
  const words = state.push("inline", "", 0);
  words.content = text.join("\n").trim();
  words.map = [start, next];
  words.children = [];
  state.push("paragraph_close", "p", -1);
  state.line = next;
  return true;
}

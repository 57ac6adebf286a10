// SPDX-License-Identifier: MIT

// Markdown rules: the direction of lists and quotes, and <br> in tables.
import type MarkdownIt from "markdown-it";
import type { Token } from "markdown-it";

const directed = new Set(["bullet_list_open", "ordered_list_open", "blockquote_open"]);
const cells = new Set(["th_open", "td_open"]);

/**
 * Lists and quotes stand on the side from which their text is read, and <br> in the cells of a
 * table breaks the line.
 */
export function blocks(markdown: MarkdownIt): void {
  markdown.core.ruler.after("inline", "directions", ({ tokens }) => {
    for (const token of tokens) if (directed.has(token.type)) token.attrSet("dir", "auto");
  });
  markdown.core.ruler.after("inline", "cell_breaks", ({ tokens, Token: Fresh }) => {
    tokens.forEach((inline, at) => {
      if (!cells.has(tokens[at - 1]?.type ?? "") || !/<br\s*\/?>/i.test(inline.content)) return;
      inline.children = (inline.children ?? []).flatMap((child) =>
        broken(child, () => new Fresh("hardbreak", "br", 0)),
      );
    });
  });
}

/** A text with the breaks that stand in it. */
function broken(child: Token, breakLine: () => Token): Token[] {
  if (child.type !== "text") return [child];
  return child.content.split(/<br\s*\/?>/i).flatMap((text, at) => {
    const piece = Object.assign(Object.create(Object.getPrototypeOf(child)), child, {
      content: text,
    }) as Token;
    return at === 0 ? [piece] : [breakLine(), piece];
  });
}

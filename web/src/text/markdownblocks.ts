// SPDX-License-Identifier: MIT

// A Markdown rule: the direction of lists and quotes.
import type MarkdownIt from "markdown-it";

const directed = new Set(["bullet_list_open", "ordered_list_open", "blockquote_open"]);

/** Lists and quotes stand on the side from which their text is read. */
export function blocks(markdown: MarkdownIt): void {
  markdown.core.ruler.after("inline", "directions", ({ tokens }) => {
    for (const token of tokens) if (directed.has(token.type)) token.attrSet("dir", "auto");
  });
}

// SPDX-License-Identifier: MIT

// A Markdown rule: pictures within the text, as data: URLs.
import type MarkdownIt from "markdown-it";
import type { StateInline } from "markdown-it";

const picture = /!?\[([^\]\n]{0,200})\]\(data:[^)\s[]*(?:\)|$)/y;

/** Leaves out the letters of a data: URL, which nobody can read and the page does not load. */
export function dataImages(markdown: MarkdownIt): void {
  markdown.inline.ruler.before("link", "data", (state: StateInline, silent: boolean) => {
    picture.lastIndex = state.pos;
    const found = picture.exec(state.src);
    if (found === null) return false;
    if (!silent) state.push("text", "", 0).content = `${found[1] || "file"} (data, not shown)`;
    state.pos += found[0].length;
    return true;
  });
}

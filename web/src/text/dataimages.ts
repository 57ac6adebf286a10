// SPDX-License-Identifier: MIT

// A Markdown rule: pictures within the text, as data: URLs.
import type MarkdownIt from "markdown-it";
import type { StateInline } from "markdown-it";
import { t } from "../language/language.ts";

const picture = /!?\[([^\]\n]{0,200})\]\(data:[^)\s[]*(?:\)|$)/y;

/** Leaves out the letters of a data: URL, which nobody can read and the page does not load. */
export function dataImages(markdown: MarkdownIt): void {
  markdown.inline.ruler.before("link", "data", (state: StateInline, silent: boolean) => {
    picture.lastIndex = state.pos;
    const found = picture.exec(state.src);
    if (found === null) return false;
    const name = found[1] || t("file");
    if (!silent) state.push("text", "", 0).content = t("{name} (data, not shown)", { name });
    state.pos += found[0].length;
    return true;
  });
}

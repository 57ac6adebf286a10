// SPDX-License-Identifier: MIT

// A Markdown rule: emphasis beside Chinese, Japanese and Korean signs.
import type MarkdownIt from "markdown-it";

const cjk =
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\u3000-\u303F\uFF00-\uFFEF]$/u;

/**
 * Lets marks of emphasis stand between punctuation and a letter where one of the two is Chinese,
 * Japanese or Korean, as in **「文」**の: these scripts put no spaces between words, which CommonMark
 * goes by.
 */
export function cjkEmphasis(markdown: MarkdownIt): void {
  markdown.inline.State = class extends markdown.inline.State {
    override scanDelims(start: number, canSplitWord: boolean) {
      const scanned = super.scanDelims(start, canSplitWord);
      const before = [...this.src.slice(Math.max(0, start - 2), start)].at(-1) ?? " ";
      const end = start + scanned.length;
      const after = end < this.posMax ? String.fromCodePoint(this.src.codePointAt(end) ?? 0x20) : " ";
      if (!canSplitWord || !(cjk.test(before) || cjk.test(after))) return scanned;
      return {
        ...scanned,
        can_open: scanned.can_open || after.trim() !== "",
        can_close: scanned.can_close || before.trim() !== "",
      };
    }
  };
}

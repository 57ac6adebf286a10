// SPDX-License-Identifier: MIT

// Where a block that is too long for one drawing is cut.

/**
 * Where to cut a paragraph of more than limit characters: before a word, so that no sign begins a
 * new kind of block.
 */
export function paragraphCut(text: string, limit: number): number {
  for (let at = limit; at > limit / 2; at--) {
    if (/\s/.test(text[at - 1] ?? "") && /\p{L}/u.test(text[at] ?? "")) return at;
  }
  return betweenLetters(text, limit);
}

/** Where to cut any other block: at the last line's end within the limit, if there is one. */
export function largeCut(text: string, limit: number): number {
  const end = text.lastIndexOf("\n", limit);
  return end > 0 ? end + 1 : betweenLetters(text, limit);
}

/** Not within one of the pairs that letters beyond U+FFFF are written with. */
function betweenLetters(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff ? at - 1 : at;
}

// SPDX-License-Identifier: MIT

// The space between an answer and the text that is put in.

/**
 * What is put in, with the space that separates words: unless the answer ends with one, or what
 * follows goes on with its last word or mark.
 */
export function withSpace(before: string, text: string): string {
  const apart = before === "" || /[\s([{“‘/-]$/u.test(before) || /^[\s.,;:!?)\]}”’%/-]/u.test(text);
  const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]$/u.test(before);
  return apart || unspaced ? text : ` ${text}`;
}

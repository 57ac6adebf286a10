// SPDX-License-Identifier: MIT

/**
 * Letters of a word that a line's end may cut anywhere: a browser that kerns it fits each piece
 * anew, for minutes.
 */
export const endlessWord = 1000;

const word = new RegExp(`\\S{${endlessWord}}`);

/** Whether a text has such a word. It is drawn without kerning. */
export function isEndless(text: string): boolean {
  return text.length >= endlessWord && word.test(text);
}

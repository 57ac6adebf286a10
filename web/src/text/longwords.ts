// SPDX-License-Identifier: MIT

// Finds words so long that the browser would draw them for minutes.

/**
 * Letters of a word that a line's end may cut anywhere: a browser that kerns it fits each piece
 * anew, for minutes.
 */
export const endlessWord = 1000;

const word = new RegExp(`\\S{${endlessWord}}`);

/** Whether a text has such a word. It is drawn without kerning. */
export function hasEndlessWord(text: string): boolean {
  return text.length >= endlessWord && word.test(text);
}

// SPDX-License-Identifier: MIT

// Messages of the host as sentences.

/**
 * A message of the host or of a plugin as a sentence. A name that it begins with, such as
 * max_tokens, stays as it is.
 */
export function sentence(words: string): string {
  const text = words.trim();
  if (text === "") return "";
  const begin = /^[a-z]+(?=[\s,:;]|$)/.test(text) ? text.charAt(0).toUpperCase() : text.charAt(0);
  const stop = /\p{Script=Han}/u.test(text) ? "。" : ".";
  return `${begin}${text.slice(1)}${/[.!?…:。！？：]$/.test(text) ? "" : stop}`;
}

/** A message without the folders of the server's files, which tell a reader nothing. */
export function withoutPaths(text: string): string {
  return text.replace(/(?<![\w:/.])(?:[A-Za-z]:)?(?:[\\/][\w.@+-]+)+[\\/]([\w.@+-]+)/g, "$1");
}

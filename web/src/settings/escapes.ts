// SPDX-License-Identifier: MIT

// Line breaks and tabs as they are typed: \n, \t, \u0041.

const escapes: Record<string, string> = { n: "\n", t: "\t", r: "\r", "\\": "\\" };
const signs = new Map(Object.entries(escapes).map(([letter, sign]) => [sign, `\\${letter}`]));

/**
 * What was typed, with \n, \t, \r, \\ and \u0041 as the characters that they stand for. Any other
 * backslash is one.
 */
export function withoutEscapes(typed: string): string {
  return typed.replace(/\\(?:u([0-9a-fA-F]{4})|([ntr\\]))/g, (all, code?: string, letter?: string) =>
    code === undefined ? (escapes[letter ?? ""] ?? all) : String.fromCharCode(Number.parseInt(code, 16)),
  );
}

/** A text as a person would type it. */
export function withEscapes(text: string): string {
  return text.replace(
    /[\\\p{Cc}]/gu,
    (sign) => signs.get(sign) ?? `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

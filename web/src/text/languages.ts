// SPDX-License-Identifier: MIT

// The languages that highlight.ts knows, by the names that a fence may use.

/** They are not in highlight.ts, since that is loaded only when it is needed. */
const names = new Set(
  (
    "bash sh zsh shell c h cpp c++ cc hpp css diff patch go golang java javascript js jsx mjs cjs json python py rust rs " + // untranslated: names
    "sql typescript ts tsx mts cts xml html xhtml svg yaml yml"
  ).split(" "),
);
const aliases: Record<string, string> = { shell: "bash" };

/** The language's name for highlight, or undefined for one that is not known. */
export function knownLanguage(language: string): string | undefined {
  const name = language.toLowerCase();
  return names.has(name) ? (aliases[name] ?? name) : undefined;
}

// SPDX-License-Identifier: MIT

/**
 * The names by which a fence can ask for the languages of highlight.ts. It is apart, as that is
 * loaded only when needed.
 */
const names = new Set(
  (
    "bash sh zsh shell c h cpp c++ cc hpp css diff patch go golang java javascript js jsx mjs cjs json python py rust rs " +
    "sql typescript ts tsx mts cts xml html xhtml svg yaml yml"
  ).split(" "),
);
const aliases: Record<string, string> = { shell: "bash" };

/** The language's name for highlight, or undefined for one that is not known. */
export function known(language: string): string | undefined {
  const name = language.toLowerCase();
  return names.has(name) ? (aliases[name] ?? name) : undefined;
}

// SPDX-License-Identifier: MIT

// Scripts of the gallery, as their files have them.

/** A script to begin with. */
export interface GalleryScript {
  name: string;
  summary: string; // one line
  source: string;
  config: string; // an example, as JSON; empty: it takes none
}

/**
 * Reads a file of the gallery: its first line says what it does, and a second may be "// config: "
 * with an example, which is no part of the script. Throws if it says nothing.
 */
export function galleryScript(file: string, text: string): GalleryScript {
  const name = file.replace(/^.*\//, "").replace(/\.js$/, "");
  const [first = "", second = "", ...rest] = text.trimEnd().split("\n");
  const summary = /^\/\/ (.+)$/.exec(first)?.[1];
  if (summary === undefined) throw new Error(`${name}: its first line does not say what it does`);
  const config = /^\/\/ config: (.+)$/.exec(second)?.[1];
  const lines = config === undefined ? [first, second, ...rest] : [first, ...rest];
  return { name, summary, source: lines.join("\n"), config: config ?? "" };
}

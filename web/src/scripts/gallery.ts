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
 * Reads a file of the gallery: below the licence a line says what it does, and the next may be
 * "// config: " with an example. Licence and example are no part of the script. Throws if it says
 * nothing.
 */
export function galleryScript(file: string, text: string): GalleryScript {
  const name = file.replace(/^.*\//, "").replace(/\.js$/, "");
  const lines = text.trimEnd().split("\n");
  if (lines[0]?.startsWith("// SPDX-")) lines.shift();
  const summary = /^\/\/ (.+)$/.exec(lines[0] ?? "")?.[1];
  if (summary === undefined)
    // untranslated: it is seen when the page is built
    throw new Error(`${name}: its first line does not say what it does`);
  const config = /^\/\/ config: (.+)$/.exec(lines[1] ?? "")?.[1];
  if (config !== undefined) lines.splice(1, 1);
  return { name, summary, source: lines.join("\n"), config: config ?? "" };
}

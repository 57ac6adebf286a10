// SPDX-License-Identifier: MIT

// Loads the code that draws Markdown. It is a third of the page's, and a fresh page has no use for it.

/** The code that draws Markdown. */
export type MarkdownCode = typeof import("./markdowndrawing.ts");

let loaded: MarkdownCode | undefined;
let loading: Promise<MarkdownCode> | undefined;

/** The code, if it is there. */
export const markdownCode = () => loaded;

/** Loads the code, if it is not there yet. After a failure the next call tries again. */
export async function loadMarkdown(): Promise<MarkdownCode> {
  loading ??= import("./markdowndrawing.ts");
  try {
    loaded = await loading;
    return loaded;
  } catch (error) {
    loading = undefined;
    throw error;
  }
}

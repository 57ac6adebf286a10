// SPDX-License-Identifier: MIT

// Loads the code that draws Markdown, a third of the page's. A fresh page has no use for it.
import { once } from "../../once.ts";

/** The code that draws Markdown. */
export type MarkdownCode = typeof import("./markdowndrawing.ts");

let loaded: MarkdownCode | undefined;
const load = once(() => import("./markdowndrawing.ts"));

/** The code, if it is there. */
export const markdownCode = () => loaded;

/** Loads the code, if it is not there yet. After a failure the next call tries again. */
export async function loadMarkdown(): Promise<MarkdownCode> {
  loaded = await load();
  return loaded;
}

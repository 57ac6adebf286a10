// SPDX-License-Identifier: MIT

// One formula, drawn by KaTeX.
import katex from "katex";
import "katex/dist/katex.min.css";

// What katex.render makes its nodes of. It sets a few styles as attributes, which the page's
// policy forbids.
interface Tree {
  attributes?: Record<string, string>;
  children?: Tree[];
  toNode(): Node;
}
type Builder = { __renderToDomTree(source: string, options: katex.KatexOptions): Tree };

const limits = { maxSize: 30, maxExpand: 300, trust: false, strict: "ignore", throwOnError: true } as const;

/**
 * Draws a formula. Throws katex.ParseError if it is none. This module is large: import it only
 * when there is one.
 */
export function typeset(source: string, display: boolean): Node {
  const options = { ...limits, displayMode: display };
  const tree = (katex as unknown as Builder).__renderToDomTree(source, options);
  renameStyles(tree);
  const drawn = document.createDocumentFragment();
  drawn.append(tree.toNode());
  for (const element of drawn.querySelectorAll<HTMLElement | SVGElement>("[data-style]")) {
    element.style.cssText = element.dataset.style ?? "";
  }
  return drawn;
}

function renameStyles({ attributes, children = [] }: Tree): void {
  if (attributes?.style !== undefined) {
    attributes["data-style"] = attributes.style;
    delete attributes.style;
  }
  for (const child of children) renameStyles(child);
}

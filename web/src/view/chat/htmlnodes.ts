// SPDX-License-Identifier: MIT

// Makes nodes of safe HTML.

/** Nodes of HTML that is known to be safe: that of text/markdown.ts and text/highlight.ts. */
export function nodesOf(html: string): DocumentFragment {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

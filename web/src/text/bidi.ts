// SPDX-License-Identifier: MIT

// Shows the control characters that change the direction of a text.

// Embeddings, overrides and isolates of the bidirectional algorithm. They can make a text read
// otherwise than it is: "gpj.exe" as "exe.jpg". Letters of right-to-left scripts need none of
// them.
const controls = /[\u202A-\u202E\u2066-\u2069]/g;

/** A piece of a text: what can be shown as it is, or a control by its name. */
export interface VisiblePart {
  text: string;
  control?: string; // "U+202E", instead of text
}

/** Cuts the controls of direction out of a text. */
export function splitControls(text: string): VisiblePart[] {
  const parts: VisiblePart[] = [];
  let at = 0;
  for (const { 0: sign, index } of text.matchAll(controls)) {
    if (index > at) parts.push({ text: text.slice(at, index) });
    parts.push({ text: "", control: nameOf(sign) });
    at = index + 1;
  }
  if (at < text.length) parts.push({ text: text.slice(at) });
  return parts;
}

/**
 * The same in HTML that is escaped already. The names are drawn by the style, so they are no part
 * of a copied text.
 */
export function visibleHTML(escaped: string): string {
  return escaped.replace(controls, (sign) => `<span class="control" data-name="${nameOf(sign)}"></span>`);
}

/** The text without them, for places that can show no marks. */
export function withoutControls(text: string): string {
  return text.replace(controls, "");
}

function nameOf(sign: string): string {
  return `U+${sign.charCodeAt(0).toString(16).toUpperCase()}`;
}

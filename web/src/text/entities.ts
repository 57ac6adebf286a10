// SPDX-License-Identifier: MIT

// What markdown-it imports of the package "entities" (vite.config.ts), by the table that each
// browser has of HTML's names: the package brings one of its own, which was a fifth of all that
// the page loads first.

/**
 * Decodes one character reference, such as "&amp;". A name that HTML does not know stays as it is.
 */
export function decodeHTML(reference: string): string {
  const field = document.createElement("textarea"); // its content is text to the parser: no element can come of it
  field.innerHTML = reference;
  return field.value.endsWith(";") ? reference : field.value; // "&notit;" begins with "&not", which HTML knows
}

export const decodeHTMLStrict = decodeHTML;

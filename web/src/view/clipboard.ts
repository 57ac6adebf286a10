// SPDX-License-Identifier: MIT

// Copies text, also where the browser has no clipboard API.

/**
 * Browsers have navigator.clipboard only on https and localhost; a host in the local network has
 * neither. Throws where nothing may be copied.
 */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const before = document.activeElement;
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "hidden";
  (before?.closest("dialog") ?? document.body).append(field); // what is outside of an open dialog takes no focus
  field.select();
  const copied = document.execCommand("copy");
  field.remove();
  if (before instanceof HTMLElement) before.focus();
  if (!copied) throw new Error("the browser does not let this page copy"); // untranslated: callers have the words
}

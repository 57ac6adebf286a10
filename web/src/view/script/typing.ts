// SPDX-License-Identifier: MIT

// Changes a field's text so that undo takes the change back.

/** Puts text in the place of what is selected in a field, as if it had been typed. */
export function insertText(field: HTMLTextAreaElement, text: string): void {
  field.focus();
  // What replaces execCommand for fields has no undo.
  const done = text === "" ? document.execCommand("delete") : document.execCommand("insertText", false, text);
  if (done || (text === "" && field.value === "")) return;
  field.setRangeText(text, field.selectionStart, field.selectionEnd, "end");
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

/** Replaces all text of a field. */
export function replaceText(field: HTMLTextAreaElement, text: string): void {
  field.focus();
  field.select();
  insertText(field, text);
}

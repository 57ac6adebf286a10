// SPDX-License-Identifier: MIT

// Changes a field's text so that undo takes the change back, and finds places in it.

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

/** Where in a text a line's column is, which counts bytes of UTF-8. */
export function offsetOf(text: string, line: number, column: number): number {
  const lines = text.split("\n");
  const before = lines.slice(0, line - 1).reduce((sum, { length }) => sum + length + 1, 0);
  const bytes = new TextEncoder().encode(lines[line - 1]).subarray(0, column - 1);
  return before + new TextDecoder().decode(bytes).length;
}

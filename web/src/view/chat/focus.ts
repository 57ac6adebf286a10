// SPDX-License-Identifier: MIT

// Puts the focus into the message field, or on a button of a message.

/** Puts the cursor into the field for the next message, once what is to be drawn is drawn. */
export function focusField(): void {
  requestAnimationFrame(() => document.getElementById("question")?.focus());
}

/** Puts the focus on a button of a message that has just been shown. */
export function focusMessage(id: string, button: string): void {
  requestAnimationFrame(() => {
    const message = document.querySelector(`[data-message="${CSS.escape(id)}"]`);
    message?.querySelector<HTMLElement>(`button[aria-label="${button}"]`)?.focus();
  });
}

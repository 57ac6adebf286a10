// SPDX-License-Identifier: MIT

// Puts the focus into the message field, or on a button of a message.

/** Puts the cursor into the field for the next message, once what is to be drawn is drawn. */
export function focusField(): void {
  requestAnimationFrame(() => document.getElementById("question")?.focus());
}

/**
 * Puts the focus on a button of a message that has just been shown in the place of another, and the
 * button where that of the other was: under the pointer.
 */
export function focusMessage(id: string, button: string, before: Element): void {
  const { top } = before.getBoundingClientRect();
  requestAnimationFrame(() => {
    const message = document.querySelector(`[data-message="${CSS.escape(id)}"]`);
    const found = message?.querySelector<HTMLElement>(`button[aria-label="${button}"]`);
    if (found == null) return;
    found.focus({ preventScroll: true });
    document.getElementById("scroller")?.scrollBy(0, found.getBoundingClientRect().top - top);
  });
}

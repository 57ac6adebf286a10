// SPDX-License-Identifier: MIT

// Which shortcut a key press means, if any.

export interface Shortcut {
  key: string; // as KeyboardEvent.key has it
  ctrl?: boolean; // with Ctrl, or ⌘; then also while typing
  shift?: boolean; // and with Shift
  name: string;
  run(): void;
}

export type Pressed = Pick<
  KeyboardEvent,
  "key" | "ctrlKey" | "metaKey" | "shiftKey" | "altKey" | "defaultPrevented"
>;

/**
 * The shortcut that a key means, if any. Letters mean one only where nothing is typed, and where
 * the reader wants so: speech input types letters, too. Keys with Alt belong to the browser and to
 * screen readers.
 */
export function shortcutOf(
  shortcuts: readonly Shortcut[],
  pressed: Pressed,
  { typing, letters }: { typing: boolean; letters: boolean },
): Shortcut | undefined {
  if (pressed.defaultPrevented || pressed.altKey) return undefined;
  const ctrl = pressed.ctrlKey || pressed.metaKey;
  if (!ctrl && (typing || !letters)) return undefined;
  const key = pressed.key.toLowerCase();
  // Marks need Shift on some keyboards; with a letter it makes another shortcut.
  const shifts = (shift = false) => !ctrl || !/^[a-z]$/.test(key) || shift === pressed.shiftKey;
  return shortcuts.find(
    (shortcut) => shortcut.key === key && (shortcut.ctrl ?? false) === ctrl && shifts(shortcut.shift),
  );
}

/**
 * Whether keys typed into an element are its own, or would do something behind the panel that it
 * is in.
 */
export function takesKeys(element: Element | null): boolean {
  return (
    element?.closest(
      // untranslated: of CSS
      'input:not([type="radio"], [type="checkbox"], [type="button"]), textarea, select, [contenteditable], [role="menu"], [role="listbox"], [role="slider"], [role="dialog"]',
    ) != null
  );
}

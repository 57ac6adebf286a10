// SPDX-License-Identifier: MIT

// What Escape closes.

/** Has Escape close this, and nothing around it. For onKeyDown. */
export function onEscape(close: () => void): (event: KeyboardEvent) => void {
  return (event) => {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    event.preventDefault(); // a dialog around it stays open
    event.stopPropagation(); // no answer is stopped
    close();
  };
}

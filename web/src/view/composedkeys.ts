// SPDX-License-Identifier: MIT

// Leaves the keys with which people compose characters to their input methods.

const processed = 229; // the code of a key that an input method has taken

/**
 * Hides the keys of an input method from the page, so that the Enter that ends a composition sends
 * nothing. In Safari it comes when the composition is over, and only its code tells.
 */
export function hideComposedKeys(page: Document): void {
  page.addEventListener(
    "keydown",
    (event) => {
      if (event.isComposing || event.keyCode === processed) event.stopImmediatePropagation();
    },
    true,
  );
}

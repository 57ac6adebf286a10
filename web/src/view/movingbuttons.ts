// SPDX-License-Identifier: MIT

// Clicks on buttons that move away while they are pressed.

const still = 8; // pixels that a hand may move while it presses

/**
 * Lets a press count for the button it began on, though the button has moved away from under the
 * pointer: what is written below an answer moves with every line that comes, and the browser makes
 * a click only where a press begins and ends on the same element. Whoever pulls the pointer off a
 * button still takes the press back.
 */
export function keepPresses(page: Document): void {
  let pressed: { button: HTMLButtonElement; x: number; y: number } | undefined;
  page.addEventListener(
    "pointerdown",
    ({ target, clientX: x, clientY: y, pointerType, button: which }) => {
      // A finger's presses stay with the element they began on by themselves.
      const button =
        target instanceof Element && pointerType === "mouse" && which === 0 && target.closest("button");
      pressed = button ? { button, x, y } : undefined;
    },
    true,
  );
  page.addEventListener(
    "pointerup",
    ({ target, clientX, clientY }) => {
      const began = pressed;
      pressed = undefined;
      if (began === undefined || Math.hypot(clientX - began.x, clientY - began.y) > still) return;
      // Where it ends on the same button the browser makes the click.
      if (began.button.isConnected && !(target instanceof Node && began.button.contains(target)))
        began.button.click();
    },
    true,
  );
}

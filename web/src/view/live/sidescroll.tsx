// SPDX-License-Identifier: MIT

// Something wide that scrolls sideways.
import type { ComponentChildren } from "preact";

/** Something wide that scrolls sideways where it does not fit. */
export function SideScroll({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: one scrolls it with the keys
    <section class="scroll" aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}

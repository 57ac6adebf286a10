// SPDX-License-Identifier: MIT
import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/**
 * Has a dialog cover the page from when it is drawn, so that a key that follows at once leads to
 * its fields. Afterwards what had the focus before gets it back.
 */
export function useCover(): RefObject<HTMLDialogElement | null> {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    const restore = () => before instanceof HTMLElement && before.focus({ preventScroll: true });
    return () => queueMicrotask(restore); // while the dialog is there nothing else can have it
  }, []);
  return dialog;
}

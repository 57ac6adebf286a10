// SPDX-License-Identifier: MIT
import { type ReadonlySignal, useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useCallback, useLayoutEffect, useRef } from "preact/hooks";

const near = 60; // pixels from the end that still count as reading the end

interface Follower {
  scroller: RefObject<HTMLElement | null>;
  content: RefObject<HTMLDivElement | null>;
  away: ReadonlySignal<boolean>; // the reader is not at the end
  toEnd(): void;
}

/** Keeps the end of a text in sight while it grows, but only for a reader who is there. Another shown begins at its end. */
export function useFollower(shown: unknown): Follower {
  const scroller = useRef<HTMLElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const away = useSignal(false);
  const toEnd = useCallback(() => {
    away.value = false;
    scroller.current?.scrollTo({ top: scroller.current.scrollHeight });
  }, [away]);
  useLayoutEffect(() => {
    const { current: box } = scroller;
    const { current: text } = content;
    if (box === null || text === null) return;
    const look = () => {
      away.value = box.scrollHeight - box.scrollTop - box.clientHeight >= near;
    };
    // The space changes too when the window, the keyboard of a phone or the message field does.
    const sizes = new ResizeObserver(() => (away.peek() ? look() : toEnd()));
    sizes.observe(box);
    sizes.observe(text);
    box.addEventListener("scroll", look, { passive: true });
    toEnd();
    return () => {
      sizes.disconnect();
      box.removeEventListener("scroll", look);
    };
  }, [shown, away, toEnd]);
  return { scroller, content, away, toEnd };
}

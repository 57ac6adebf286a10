// SPDX-License-Identifier: MIT

// Keeps the end of the chat in sight while an answer grows.
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

/**
 * Keeps the end of a text in sight while it grows, but only for a reader who is there; any other
 * keeps the message that is read, however wide the text becomes. Another shown begins at its end,
 * and an empty one at its top.
 */
export function useFollower(shown: unknown, empty: boolean): Follower {
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
    if (empty) {
      away.value = false;
      box.scrollTo({ top: 0 });
      return;
    }
    let read: { message: Element; top: number } | undefined; // what is at the top of the window
    let width = box.clientWidth;
    const look = () => {
      if (box.clientWidth !== width) return; // it is laid out anew: the place is found again first
      away.value = box.scrollHeight - box.scrollTop - box.clientHeight >= near;
      read = messageAt(box, text);
    };
    const resized = () => {
      if (!away.peek()) toEnd();
      else if (box.clientWidth !== width && read !== undefined)
        box.scrollTop += topIn(box, read.message) - read.top;
      width = box.clientWidth;
      look();
    };
    // The space changes too when the window, the keyboard of a phone or the message field does.
    const sizes = new ResizeObserver(resized);
    sizes.observe(box);
    sizes.observe(text);
    box.addEventListener("scroll", look, { passive: true });
    toEnd();
    return () => {
      sizes.disconnect();
      box.removeEventListener("scroll", look);
    };
  }, [shown, empty, away, toEnd]);
  return { scroller, content, away, toEnd };
}

/** The first message, or block of one, that reaches into the window, and where it begins there. */
function messageAt(box: HTMLElement, text: HTMLElement): { message: Element; top: number } | undefined {
  const { top } = box.getBoundingClientRect();
  const reaches = (element: Element) => element.getBoundingClientRect().bottom > top + 1;
  const message = [...text.children].find(reaches);
  if (message === undefined) return undefined;
  const block = [...(message.querySelector(".prose")?.children ?? [])].find(reaches) ?? message;
  return { message: block, top: topIn(box, block) };
}

function topIn(box: HTMLElement, element: Element): number {
  return element.getBoundingClientRect().top - box.getBoundingClientRect().top;
}

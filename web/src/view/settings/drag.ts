// SPDX-License-Identifier: MIT

// Dragging the items of a list, with the pointer or with keys.
import { type ReadonlySignal, useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";

/**
 * An item that is being dragged: where it was, where it would be dropped, and how far it is moved,
 * in pixels.
 */
export interface Drag {
  from: number;
  to: number;
  by: number;
  height: number; // of the item with the gap below it
}

const edge = 48; // pixels from the end of what can be scrolled, where it scrolls by itself
const speed = 10; // pixels a frame

/** Dragging the items of a list up and down. Escape puts the item back. */
export function useDrag(list: RefObject<HTMLElement | null>, drop: (from: number, to: number) => void) {
  const drag = useSignal<Drag | undefined>(undefined);
  const stop = useRef(() => {});
  useEffect(() => () => stop.current(), []);
  const start = (event: PointerEvent, from: number) => {
    const box = list.current;
    if (event.button !== 0 || box === null) return;
    event.preventDefault(); // no text is selected
    stop.current();
    stop.current = follow(event, box, from, (now, dropped) => {
      drag.value = now;
      if (dropped !== undefined && dropped.to !== dropped.from) drop(dropped.from, dropped.to);
    });
  };
  return { drag: drag as ReadonlySignal<Drag | undefined>, start };
}

type Tell = (now: Drag | undefined, dropped?: Drag) => void;

/**
 * Follows the pointer until it is let go, and tells once a frame where the item is. Returns how to
 * stop.
 */
function follow(begun: PointerEvent, list: HTMLElement, from: number, tell: Tell): () => void {
  const scroller = scrollerOf(list);
  const places = [...list.children].map((item) => {
    const { top, height } = item.getBoundingClientRect();
    return { middle: top + height / 2 + scroller.scrollTop, top: top + scroller.scrollTop, height };
  });
  const own = places[from];
  if (own === undefined) return () => {};
  const [above, below] = [places[from - 1], places[from + 1]];
  const gap = below ? below.top - own.top - own.height : above ? own.top - above.top - above.height : 0;
  const height = own.height + gap;
  const origin = begun.clientY + scroller.scrollTop;
  let pointer = begun.clientY;
  let now: Drag = { from, to: from, by: 0, height };
  const look = () => {
    const { top, bottom } = scroller.getBoundingClientRect();
    if (pointer < top + edge) scroller.scrollTop -= speed;
    else if (pointer > bottom - edge) scroller.scrollTop += speed;
    const by = pointer + scroller.scrollTop - origin;
    const to = places.filter(({ middle }, at) => at !== from && middle < own.middle + by).length;
    if (by !== now.by || to !== now.to) {
      now = { from, to, by, height };
      tell(now);
    }
    frame = requestAnimationFrame(look);
  };
  let frame = requestAnimationFrame(look);
  const listeners = new AbortController();
  const end = (dropped?: Drag) => {
    cancelAnimationFrame(frame);
    listeners.abort();
    tell(undefined, dropped);
  };
  const options = { signal: listeners.signal, capture: true };
  const move = (event: PointerEvent) => {
    pointer = event.clientY;
  };
  window.addEventListener("pointermove", move, options);
  window.addEventListener(
    "pointerup",
    (event) => {
      pointer = event.clientY;
      look();
      end(now);
    },
    options,
  );
  window.addEventListener("pointercancel", () => end(), options);
  window.addEventListener(
    "keydown",
    (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation(); // it is not meant for the answer
      end();
    },
    options,
  );
  tell(now);
  return () => end();
}

function scrollerOf(element: HTMLElement): HTMLElement {
  for (let at = element.parentElement; at !== null; at = at.parentElement) {
    if (/auto|scroll/.test(getComputedStyle(at).overflowY)) return at;
  }
  return document.documentElement;
}

/** How far the item in a place makes room for the one that is dragged, in pixels. */
export function shiftOf(at: number, drag: Drag | undefined): number {
  if (drag === undefined) return 0;
  const { from, to, by, height } = drag;
  if (at === from) return by;
  if (at > from && at <= to) return -height;
  return at < from && at >= to ? height : 0;
}

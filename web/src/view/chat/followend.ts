// SPDX-License-Identifier: MIT

// Keeps in sight what was asked for: the end of the chat while an answer grows, or a message.
import { type ReadonlySignal, type Signal, useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useCallback, useLayoutEffect, useRef } from "preact/hooks";

const near = 60; // pixels from the end that still count as reading the end

interface Follower {
  scroller: RefObject<HTMLElement | null>;
  content: RefObject<HTMLDivElement | null>;
  away: ReadonlySignal<boolean>; // the reader is not at the end
  show(goal: Goal): void;
}

/** What the window is to show: the end of the chat, or the beginning of a message. */
type Goal = "end" | Element;

/**
 * Keeps what was asked for in sight while the text changes, until the reader scrolls. Who reads the
 * end follows it; any other keeps the message that is read, however wide the text becomes. Another
 * chat begins at its end, and an empty one at its top.
 */
export function useFollower(chat: unknown, empty: boolean): Follower {
  const scroller = useRef<HTMLElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const place = useRef<Place | undefined>(undefined);
  const away = useSignal(false);
  const show = useCallback((goal: Goal) => place.current?.show(goal), []);
  useLayoutEffect(() => {
    const { current: box } = scroller;
    const { current: text } = content;
    if (box === null || text === null) return;
    if (empty) {
      away.value = false;
      box.scrollTo({ top: 0 });
      return;
    }
    const here = new Place(box, text, away);
    place.current = here;
    // The space changes too when the window, the keyboard of a phone or the message field does.
    const sizes = new ResizeObserver(() => here.resized());
    sizes.observe(box);
    sizes.observe(text);
    const scrolled = () => here.scrolled();
    box.addEventListener("scroll", scrolled, { passive: true });
    here.show("end");
    return () => {
      sizes.disconnect();
      box.removeEventListener("scroll", scrolled);
      place.current = undefined;
    };
  }, [chat, empty, away]);
  return { scroller, content, away, show };
}

/** Where the window stands in the text. */
class Place {
  private goal: Goal | undefined = "end"; // undefined: where the reader has scrolled to
  private read: { message: Element; top: number } | undefined; // what is at the top of the window then
  private known = { top: 0, width: 0, height: 0, text: 0, first: null as Element | null };

  constructor(
    private readonly box: HTMLElement,
    private readonly text: HTMLElement,
    private readonly away: Signal<boolean>,
  ) {}

  /** Brings something into sight, where it stays until the reader scrolls. */
  show(goal: Goal): void {
    this.goal = goal;
    this.resized();
  }

  /** The layout has changed. */
  resized(): void {
    const { box, goal, read, known } = this;
    if (goal === "end") box.scrollTop = box.scrollHeight;
    else if (goal?.isConnected) box.scrollTop += topIn(box, goal) - box.clientTop;
    else if (read?.message.isConnected && (box.clientWidth !== known.width || this.isPushedDown()))
      box.scrollTop += topIn(box, read.message) - read.top;
    this.note();
  }

  /** Messages came at the beginning, and the browser has not made up for them. */
  private isPushedDown(): boolean {
    const anchors = CSS.supports("overflow-anchor", "auto") && this.known.top > 0;
    return !anchors && this.text.firstElementChild !== this.known.first;
  }

  /**
   * The window was scrolled: by the reader, if the layout is the same as before. Else the browser
   * may have done it, and resized is called before anything is drawn.
   */
  scrolled(): void {
    const { box, text, known } = this;
    const { width, height, text: before } = known;
    if (box.clientWidth !== width || box.clientHeight !== height || heightOf(text) !== before) return;
    if (Math.abs(box.scrollTop - known.top) > 1) this.goal = undefined;
    this.note();
  }

  private note(): void {
    const { box, text } = this;
    this.known = {
      top: box.scrollTop,
      width: box.clientWidth,
      height: box.clientHeight,
      text: heightOf(text),
      first: text.firstElementChild,
    };
    const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < near;
    if (this.goal === undefined && atEnd) this.goal = "end";
    this.away.value = !atEnd;
    this.read = this.goal === undefined ? messageAt(box, text) : undefined;
  }
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

function heightOf(element: Element): number {
  return element.getBoundingClientRect().height;
}

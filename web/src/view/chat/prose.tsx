// SPDX-License-Identifier: MIT
import type { ReadonlySignal } from "@preact/signals";
import { effect } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { GrowingMarkdown, render } from "../../text/markdown.ts";

interface Props {
  text: ReadonlySignal<string>;
  done: ReadonlySignal<boolean>; // it grows no more
}

/** A text in Markdown that grows. It is drawn at most once a frame, however fast the tokens come, and only its end anew. */
export function Prose({ text, done }: Props) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (element.current === null) return;
    const drawing = new Drawing(element.current);
    const draw = oncePerFrame(() => drawing.draw(text.peek(), done.peek()));
    drawing.draw(text.peek(), done.peek());
    return effect(() => {
      void text.value;
      void done.value;
      draw();
    });
  }, [text, done]);
  return <div class="prose" ref={element} />;
}

/** What of a text is on the page. */
class Drawing {
  private readonly tail = document.createElement("div");
  private markdown = new GrowingMarkdown();
  private drawn = "";
  private settled = false;

  constructor(private readonly element: HTMLElement) {
    this.tail.className = "tail";
    element.replaceChildren(this.tail);
  }

  draw(text: string, done: boolean): void {
    if (this.settled && text === this.drawn) return;
    if (this.settled || !text.startsWith(this.drawn)) this.restart();
    this.drawn = text;
    const { settled, tail } = this.markdown.grow(text);
    if (settled !== "") this.tail.before(fragment(settled));
    this.tail.replaceChildren(fragment(tail));
    if (done) this.settle(text);
  }

  /** Draws the whole text again if it looks different as one, as it does with links defined at its end. */
  private settle(text: string): void {
    this.settled = true;
    const wanted = document.createElement("div");
    wanted.append(fragment(render(text)));
    this.tail.replaceWith(...this.tail.childNodes);
    if (wanted.innerHTML !== this.element.innerHTML) this.element.replaceChildren(...wanted.childNodes);
  }

  private restart(): void {
    this.settled = false;
    this.markdown = new GrowingMarkdown();
    this.element.replaceChildren(this.tail);
  }
}

/** Nodes of HTML that is known to be safe. */
function fragment(html: string): DocumentFragment {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

function oncePerFrame(work: () => void): () => void {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      work();
    });
  };
}

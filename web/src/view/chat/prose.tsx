// SPDX-License-Identifier: MIT

// A text in Markdown that may still grow.
import { effect, type ReadonlySignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { t } from "../../language/language.ts";
import { copyText } from "../clipboard.ts";
import { loadMarkdown, type MarkdownCode, markdownCode } from "./markdowncode.ts";
import { paced } from "./paced.ts";

interface Props {
  text: ReadonlySignal<string>;
  done: ReadonlySignal<boolean>; // it grows no more
}

/**
 * A text in Markdown that grows. However fast the tokens come, only its end is drawn anew, at most
 * once a frame. Until the code for it is there, the text is shown as it is written.
 */
export function Prose({ text, done }: Props) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (element.current === null) return;
    const { current: page } = element;
    const begin = (code: MarkdownCode) => {
      delete page.dataset.plain;
      return new code.MarkdownDrawing(page);
    };
    const code = markdownCode();
    let drawing = code && begin(code);
    let shown = true;
    const work = () => {
      if (!shown) return true;
      if (drawing === undefined) {
        page.dataset.plain = "";
        page.textContent = text.peek();
        return true;
      }
      const whole = drawing.draw(text.peek(), done.peek());
      page.ariaBusy = String(!whole);
      return whole;
    };
    const draw = paced(work);
    if (!work()) draw();
    if (drawing === undefined) {
      loadMarkdown().then(
        (code) => {
          drawing = begin(code);
          draw();
        },
        () => {
          page.ariaBusy = "false"; // it stays as it is written
        },
      );
    }
    const stop = effect(() => {
      void text.value;
      void done.value;
      page.ariaBusy = "true";
      draw();
    });
    return () => {
      shown = false;
      stop();
    };
  }, [text, done]);
  // biome-ignore lint/a11y: the buttons within are those of code and notes; their clicks, of keys too, come up to here
  return <div class="prose" ref={element} onClick={press} />;
}

function press(event: MouseEvent): void {
  const button = event.target instanceof Element ? event.target.closest("button") : null;
  if (button?.matches(".note") === true) showNote(button);
  else if (button?.matches(".copy") === true) void copyCode(button);
}

/** Leads to the text of a footnote. */
function showNote(button: HTMLElement): void {
  const name = CSS.escape(button.dataset.note ?? "");
  const note = button.closest(".prose")?.querySelector<HTMLElement>(`.footnote[data-note="${name}"]`);
  if (note == null) return;
  note.tabIndex = -1;
  note.focus();
}

async function copyCode(button: HTMLElement): Promise<void> {
  const code = button.closest(".code")?.querySelector("code");
  if (code == null) return;
  await copyText(code.textContent ?? "");
  button.textContent = t("Copied");
  setTimeout(() => {
    button.textContent = t("Copy");
  }, 2000);
}

// SPDX-License-Identifier: MIT
import { effect, type ReadonlySignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { copyText } from "../clipboard.ts";
import { Drawing } from "./drawing.ts";
import { paced } from "./pace.ts";

interface Props {
  text: ReadonlySignal<string>;
  done: ReadonlySignal<boolean>; // it grows no more
}

/** A text in Markdown that grows. However fast the tokens come, only its end is drawn anew, at most once a frame. */
export function Prose({ text, done }: Props) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (element.current === null) return;
    const drawing = new Drawing(element.current);
    let shown = true;
    const draw = paced(() => !shown || drawing.draw(text.peek(), done.peek()));
    let first = true;
    const stop = effect(() => {
      const now = [text.value, done.value] as const;
      if (!first || !drawing.draw(...now)) draw();
      first = false;
    });
    return () => {
      shown = false;
      stop();
    };
  }, [text, done]);
  // biome-ignore lint/a11y: the buttons within are those of the code; their clicks, of keys too, come up to here
  return <div class="prose" ref={element} onClick={copyCode} />;
}

async function copyCode(event: MouseEvent): Promise<void> {
  const button = event.target instanceof Element ? event.target.closest("button.copy") : null;
  const code = button?.closest(".code")?.querySelector("code");
  if (button == null || code == null) return;
  await copyText(code.textContent ?? "");
  button.textContent = "Copied";
  setTimeout(() => {
    button.textContent = "Copy";
  }, 2000);
}
